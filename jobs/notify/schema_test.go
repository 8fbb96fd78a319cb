package notify_test

import (
	"fmt"
	"slices"
)

// A form is what a tool's maker publishes about a value in a body: of an object its members and their forms, of a list
// the form of its items, or a kind. Members that the presets do not use are left out.
type form any

// members has the forms of an object's members. Those that begin with ! are required.
type members map[string]form

// items has the form of a list's items.
type items struct{ form }

// A kind is text, whole, truth, or anything; oneOf is the texts that are known.
type kind string

type oneOf []string

// published has the form of each tool's body, as of November 2026.
func published() map[string]form {
	plain := members{"!type": oneOf{"plain_text"}, "!text": kind("text"), "emoji": kind("truth")}
	return map[string]form{
		// docs.slack.dev/reference/block-kit: composition objects/text, blocks/header, blocks/section.
		"slack": members{"!text": kind("text"), "blocks": items{members{"!type": oneOf{"header", "section"},
			"!text": plain}}},
		// learn.microsoft.com, "Create and send actionable messages"; github.com/microsoft/AdaptiveCards: schemas/1.4.0.
		"teams": members{"!type": oneOf{"message"}, "!attachments": items{members{
			"!contentType": oneOf{"application/vnd.microsoft.card.adaptive"},
			"!content": members{"$schema": kind("text"), "!type": oneOf{"AdaptiveCard"}, "!version": oneOf{"1.4"},
				"body": items{members{"!type": oneOf{"RichTextBlock"},
					"spacing": oneOf{"Default", "None", "Small", "Medium", "Large", "ExtraLarge", "Padding"},
					"!inlines": items{members{"!type": oneOf{"TextRun"}, "!text": kind("text"),
						"weight": oneOf{"Default", "Lighter", "Bolder"},
						"color":  oneOf{"Default", "Dark", "Light", "Accent", "Good", "Warning", "Attention"}}}}}}}}},
		// github.com/discord/discord-api-spec: specs/openapi.json, IncomingWebhookRequestPartial.
		"discord": members{"embeds": items{members{"title": kind("text"), "description": kind("text"),
			"color": kind("whole")}}, "allowed_mentions": members{"parse": items{oneOf{"users", "roles", "everyone"}}}},
		// docs.ntfy.sh/publish/#publish-as-json
		"ntfy": members{"!topic": kind("text"), "title": kind("text"), "message": kind("text"), "priority": kind("whole"),
			"tags": items{kind("text")}},
		// core.telegram.org/bots/api: sendMessage, LinkPreviewOptions.
		"telegram": members{"!chat_id": kind("text"), "!text": kind("text"),
			"link_preview_options": members{"is_disabled": kind("truth")}},
		// developer.pagerduty.com/docs/send-alert-event, and trigger-events: the payload of a resolve is optional.
		"pagerduty": members{"!routing_key": kind("text"), "!event_action": oneOf{"trigger", "acknowledge", "resolve"},
			"dedup_key": kind("text"), "client": kind("text"), "payload": members{"!summary": kind("text"),
				"!source": kind("text"), "!severity": oneOf{"critical", "error", "warning", "info"},
				"timestamp": kind("text"), "component": kind("text"), "group": kind("text"), "class": kind("text"),
				"custom_details": kind("anything")}},
	}
}

// conforms returns why a value of a body does not have a form.
func conforms(v any, to form) error {
	switch to := to.(type) {
	case members:
		return conformsObject(v, to)
	case items:
		all, is := v.([]any)
		if !is {
			return fmt.Errorf("%v is no list", v)
		}
		for i, one := range all {
			if err := conforms(one, to.form); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	case oneOf:
		if s, is := v.(string); !is || !slices.Contains(to, s) {
			return fmt.Errorf("%v is none of %q", v, []string(to))
		}
		return nil
	}
	number, isNumber := v.(float64)
	_, isText := v.(string)
	_, isTruth := v.(bool)
	if is := map[form]bool{kind("text"): isText, kind("truth"): isTruth,
		kind("whole"): isNumber && number == float64(int64(number)), kind("anything"): true}; !is[to] {
		return fmt.Errorf("%v is no %v", v, to)
	}
	return nil
}

func conformsObject(v any, to members) error {
	object, is := v.(map[string]any)
	if !is {
		return fmt.Errorf("%v is no object", v)
	}
	for name, one := range object {
		of, known := to[name]
		if !known {
			of, known = to["!"+name]
		}
		if !known {
			return fmt.Errorf("%s is not known", name)
		}
		if err := conforms(one, of); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for name := range to {
		if name[0] != '!' {
			continue
		}
		if _, has := object[name[1:]]; !has {
			return fmt.Errorf("%s is missing", name[1:])
		}
	}
	return nil
}
