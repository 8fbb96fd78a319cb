package notify_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"furrow/jobs/notify"
	"furrow/tables/azuretest/effort"
	"furrow/tables/schema"
)

// A tool is something that people use, as far as it takes messages: what it requires, by what its maker publishes, and
// how it answers.
type tool struct {
	source string
	hook   func(f *fixture, url string) notify.Webhook
	// take returns what a message says to people, or why it is refused.
	take     func(r *http.Request, body map[string]any) (text string, err error)
	accepted int // status
	answer   string
	grouped  bool // it takes many incidents in a message
	size     int  // of a body, in bytes
}

const (
	routingKey = "0123456789abcdef0123456789abcdef"
	botToken   = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
)

func tools() map[string]tool {
	byFile := func(name string) func(*fixture, string) notify.Webhook {
		return func(f *fixture, url string) notify.Webhook {
			return notify.Webhook{Preset: name, URLFile: f.secret(url + "/services/T0/B0/x"), Private: true}
		}
	}
	return map[string]tool{
		"slack": {source: "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks and " +
			"https://docs.slack.dev/reference/block-kit/blocks", hook: byFile("slack"), take: takeSlack, accepted: 200,
			answer: "ok", grouped: true, size: 100_000},
		"teams": {source: "https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/" +
			"add-incoming-webhook (28 KB) and https://adaptivecards.io/explorer/RichTextBlock.html", hook: byFile("teams"),
			take: takeTeams, accepted: 202, grouped: true, size: 28 << 10},
		"discord": {source: "https://discord.com/developers/docs/resources/webhook#execute-webhook and " +
			"https://discord.com/developers/docs/resources/message#embed-object-embed-limits", hook: byFile("discord"),
			take: takeDiscord, accepted: 204, grouped: true, size: 8 << 20},
		"ntfy": {source: "https://docs.ntfy.sh/publish/#publish-as-json and https://docs.ntfy.sh/publish/#limitations",
			hook: func(f *fixture, url string) notify.Webhook {
				return notify.Webhook{Preset: "ntfy", URL: url, SecretFile: f.secret("tk_x"), To: "alerts", Private: true}
			}, take: takeNtfy, accepted: 200, answer: `{"id":"x","event":"message"}`, grouped: true, size: 2 * 4096},
		"telegram": {source: "https://core.telegram.org/bots/api#sendmessage",
			hook: func(f *fixture, url string) notify.Webhook {
				return notify.Webhook{Preset: "telegram", URL: url + "/bot{secret}/sendMessage", SecretFile: f.secret(botToken),
					To: "-1001234567890", Private: true}
			}, take: takeTelegram, accepted: 200, answer: `{"ok":true}`, grouped: true, size: 1 << 20},
		"pagerduty": {source: "https://developer.pagerduty.com/docs/events-api-v2/trigger-events/",
			hook: func(f *fixture, url string) notify.Webhook {
				return notify.Webhook{Preset: "pagerduty", URL: url + "/v2/enqueue", SecretFile: f.secret(routingKey),
					Private: true}
			}, take: takePagerDuty, accepted: 202, answer: `{"status":"success","message":"Event processed"}`,
			size: 512 << 10},
	}
}

// limited returns a text member of an object, or an error unless it has 1 to most characters, as UTF-16 counts them.
func limited(of map[string]any, name string, most int) (string, error) {
	s, _ := of[name].(string)
	if n := len(utf16.Encode([]rune(s))); n < 1 || n > most {
		return s, fmt.Errorf("%s has %d characters; want 1 to %d", name, n, most)
	}
	return s, nil
}

// object returns a member that is an object, or an item of one that is a list.
func object(of map[string]any, name string, at int) map[string]any {
	if all, is := of[name].([]any); is && at < len(all) {
		o, _ := all[at].(map[string]any)
		return o
	}
	o, _ := of[name].(map[string]any)
	return o
}

func takeSlack(_ *http.Request, body map[string]any) (string, error) {
	blocks, _ := body["blocks"].([]any)
	head, section := object(object(body, "blocks", 0), "text", 0), object(object(body, "blocks", 1), "text", 0)
	fallback, err := limited(body, "text", 4000)
	title, wrong := limited(head, "text", 150)
	text, bad := limited(section, "text", 3000)
	switch {
	case err != nil || wrong != nil || bad != nil || len(blocks) > 50:
		return "", fmt.Errorf("invalid_blocks: %v, %v, %v", err, wrong, bad)
	case head["type"] != "plain_text" || section["type"] != "plain_text":
		return "", fmt.Errorf("invalid_blocks: a type is %v, %v", head["type"], section["type"])
	case strings.ContainsAny(fallback, "<>"):
		return "", fmt.Errorf("%q may mention somebody", fallback)
	}
	return title + "\n" + text, nil
}

func takeTeams(_ *http.Request, body map[string]any) (string, error) {
	attachment := object(body, "attachments", 0)
	card := object(attachment, "content", 0)
	if body["type"] != "message" || attachment["contentType"] != "application/vnd.microsoft.card.adaptive" ||
		card["type"] != "AdaptiveCard" || card["version"] == nil {
		return "", fmt.Errorf("no card: %v", body)
	}
	var lines []string
	elements, _ := card["body"].([]any)
	for i := range elements {
		element := object(card, "body", i)
		run := object(element, "inlines", 0)
		color, colored := run["color"].(string)
		if element["type"] != "RichTextBlock" || run["type"] != "TextRun" || colored &&
			!slices.Contains([]string{"Default", "Dark", "Light", "Accent", "Good", "Warning", "Attention"}, color) {
			return "", fmt.Errorf("element %v", element)
		}
		text, is := run["text"].(string)
		if !is {
			return "", fmt.Errorf("no text: %v", run)
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n"), nil
}

func takeDiscord(_ *http.Request, body map[string]any) (string, error) {
	embed := object(body, "embeds", 0)
	title, err := limited(embed, "title", 256)
	text, wrong := limited(embed, "description", 4096)
	color, is := embed["color"].(float64)
	mentions := object(body, "allowed_mentions", 0)
	if err != nil || wrong != nil || !is || color != float64(int(color)) || color > 0xFFFFFF {
		return "", fmt.Errorf(`{"code":50035,"message":"Invalid Form Body"}: %v, %v, %v`, err, wrong, embed["color"])
	}
	if parse, is := mentions["parse"].([]any); !is || len(parse) > 0 {
		return "", fmt.Errorf("everybody may be mentioned: %v", mentions)
	}
	return title + "\n" + text, nil
}

func takeNtfy(r *http.Request, body map[string]any) (string, error) {
	topic, _ := body["topic"].(string)
	text, _ := body["message"].(string)
	title, err := limited(body, "title", 250)
	priority, is := body["priority"].(float64)
	switch {
	case r.URL.Path != "/":
		return "", fmt.Errorf("JSON at %s is taken as a text", r.URL.Path)
	case r.Header.Get("Authorization") != "Bearer tk_x":
		return "", fmt.Errorf("unauthorized: %v", r.Header)
	case !regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`).MatchString(topic):
		return "", fmt.Errorf("topic %q", topic)
	case err != nil || len(text) > 4096 || !is || priority < 1 || priority > 5 || priority != float64(int(priority)):
		return "", fmt.Errorf("%v, %d bytes, priority %v", err, len(text), body["priority"])
	}
	return title + "\n" + text, nil
}

func takeTelegram(r *http.Request, body map[string]any) (string, error) {
	if r.URL.Path != "/bot"+botToken+"/sendMessage" {
		return "", fmt.Errorf(`{"ok":false,"error_code":404,"description":"Not Found"}: %s`, r.URL.Path)
	}
	if body["chat_id"] != "-1001234567890" || body["parse_mode"] != nil {
		return "", fmt.Errorf("chat %v, mode %v", body["chat_id"], body["parse_mode"])
	}
	return limited(body, "text", 4096)
}

func takePagerDuty(r *http.Request, body map[string]any) (string, error) {
	payload := object(body, "payload", 0)
	summary, err := limited(payload, "summary", 1024)
	_, wrong := limited(body, "dedup_key", 255)
	_, bad := limited(payload, "source", 1024)
	severity, _ := payload["severity"].(string)
	action, _ := body["event_action"].(string)
	at, _ := payload["timestamp"].(string)
	_, untimed := time.Parse(time.RFC3339, at)
	switch {
	case r.URL.Path != "/v2/enqueue" || body["routing_key"] != routingKey:
		return "", fmt.Errorf("%s with the key %v", r.URL.Path, body["routing_key"])
	case err != nil || wrong != nil || bad != nil || untimed != nil:
		return "", fmt.Errorf("%v, %v, %v, %v", err, wrong, bad, untimed)
	case !slices.Contains([]string{"critical", "error", "warning", "info"}, severity):
		return "", fmt.Errorf("severity %q", severity)
	case !slices.Contains([]string{"trigger", "resolve"}, action):
		return "", fmt.Errorf("action %q", action)
	}
	return action + " " + body["dedup_key"].(string) + "\n" + summary, nil
}

// serve returns a tool's server, and the texts that it was told.
func (a tool) serve(t *testing.T, form form) (url string, texts func() []string) {
	var mu sync.Mutex
	var all []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var body map[string]any
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		said := ""
		if err == nil && len(text) > a.size {
			err = fmt.Errorf("a body of %d bytes", len(text))
		}
		if err == nil {
			err = conforms(any(body), form)
		}
		if err == nil {
			said, err = a.take(r, body)
		}
		if err != nil || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			t.Errorf("refused, by %s: %v\n%.2000s", a.source, err, text)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, said)
		w.WriteHeader(a.accepted)
		_, _ = io.WriteString(w, a.answer)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string { mu.Lock(); defer mu.Unlock(); return all }
}

// TestToolsTakeWhatTheirPresetsSend: an opening and its closing, with characters that mean something to JSON, HTML and
// chats, and a thousand long ones at once.
func TestToolsTakeWhatTheirPresetsSend(t *testing.T) {
	effort.Alone(t)
	const awkward = `"oil" is 191 \ </script> <@here> {{.}} é 🌡` + "\x01"
	for name, a := range tools() {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			url, texts := a.serve(t, published()[name])
			hook := a.hook(f, url)
			n := f.notifier(f.client, notify.Target{Name: "team", Kind: &hook, GroupBy: []string{"rule"},
				GroupWait: time.Second})
			tell := func(all ...schema.Transition) {
				t.Helper()
				f.happen(n, "team", all...)
				f.advance(time.Minute)
				if r := deliver(t, n, "team"); r.Sent != len(all) {
					t.Errorf("%+v: %s", r, f.state("team").Error)
				}
			}
			opened := f.transition("pump-1", 1)
			opened.Text = awkward
			tell(opened)
			tell(f.transition("pump-1", 2))
			got := texts()
			if len(got) != 2 || !strings.Contains(got[0], strings.ReplaceAll(awkward, "\x01", "")[:40]) ||
				!strings.Contains(got[0], "[critical] hot opened on pump-1") && name != "pagerduty" ||
				!strings.Contains(got[1], "closed after 5m") {
				t.Errorf("it was told %q", got)
			}
			if name == "pagerduty" {
				id := opened.ID.String()
				if !strings.HasPrefix(got[0], "trigger "+id+"\n") || !strings.HasPrefix(got[1], "resolve "+id+"\n") {
					t.Errorf("%q do not resolve what they trigger", got)
				}
			}
			many := 1000
			if !a.grouped {
				many = 3
			}
			var all []schema.Transition
			for i := range many {
				tr := f.transition(fmt.Sprint("other-", i), 1)
				tr.Text = strings.Repeat(`"`+"é\n", 130)
				all = append(all, tr)
			}
			tell(all...)
			if n := len(texts()); n != 3 && a.grouped || n != 5 && !a.grouped {
				t.Errorf("%d messages", n)
			}
		})
	}
}

// TestTestOfAPresetShowsNoSecret: neither a URL that is one, nor a token or a key.
func TestTestOfAPresetShowsNoSecret(t *testing.T) {
	for name, a := range tools() {
		f := newFixture(t)
		url, texts := a.serve(t, published()[name])
		hook := a.hook(f, url)
		seen, err := f.notifier(f.client, notify.Target{Name: "team", Kind: &hook}).Test(t.Context(), "team", "")
		if err != nil || len(texts()) != 1 {
			t.Errorf("%s: %v", name, err)
		}
		for _, secret := range []string{"/services/", "tk_x", botToken, routingKey} {
			if strings.Contains(seen.Request+hook.String(), secret) {
				t.Errorf("%s: the request is shown as\n%s", name, seen.Request)
			}
		}
		if !strings.HasPrefix(seen.Request, "POST ") || !strings.Contains(seen.Request, "a test of notifications") ||
			!strings.HasPrefix(seen.Answer, fmt.Sprint(a.accepted)) || !strings.Contains(seen.Answer, a.answer) {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}

// TestOwnBodies: of JSON, where insertions are quoted by their place, and of plain text.
func TestOwnBodies(t *testing.T) {
	for body, want := range map[string]string{
		`{"msg": "{{.Title}} ({{len .Incidents}})", "labels": {{(index .Incidents 0).Labels}}, "open": {{.Open}}}`: `` +
			`{"msg":"[critical] hot opened on pump-1 (1)","labels":{"a\"b":"</script>"},"open":true}`,
		"{{range .Incidents}}{{.Rule}} on {{.Device}}: {{index .Labels `a\"b`}}\n{{end}}": "hot on pump-1: </script>\n",
		`{{/* of one incident */}}[{{.Severity}}]`:                                        `["critical"]`,
	} {
		f := newFixture(t)
		var got string
		var signed bool
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			got, signed = string(text), r.Header.Get("webhook-signature") != ""
			if json := strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"); err != nil ||
				json != (text[0] == '{' || text[0] == '[') {
				t.Errorf("%v, %v", err, r.Header)
			}
		}))
		target := f.hook(server.URL)
		target.Kind.(*notify.Webhook).Body = body
		n := f.notifier(f.client, target)
		tr := f.transition("pump-1", 1)
		tr.Labels = map[string]string{`a"b`: "</script>"}
		f.happen(n, "ops", tr)
		deliver(t, n, "ops")
		server.Close()
		if got != want || !signed {
			t.Errorf("%s makes\n%s, signed: %v; want\n%s", body, got, signed, want)
		}
	}
}
