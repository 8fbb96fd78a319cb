package notify

import "embed"

// A preset is how a tool wants to be told: where, by which secret, and in which form, that of presets/NAME.json.tmpl.
type preset struct {
	name string
	// url is where it is, with {secret} for the secret. Empty: each user has an own URL, which is a secret itself.
	url    string
	secret string // what the file of the secret has; empty: there is none
	bearer bool   // the secret is a bearer token, and there may be none
	inBody bool   // the secret is in the body
	to     string // what Webhook.To is; empty: nothing
	alone  bool   // a message is about one incident
}

// presets returns all of them. Their formats are those that the tools publish; presets_test.go has the sources.
func presets() []preset {
	return []preset{
		{name: "slack"},
		{name: "teams"},
		{name: "ntfy", url: "https://ntfy.sh", secret: "an access token", bearer: true, to: "the topic"},
		{name: "discord"},
		{name: "telegram", url: "https://api.telegram.org/bot{secret}/sendMessage", secret: "the token of the bot",
			to: "the chat, such as \"-1001234567890\""},
		{name: "pagerduty", url: "https://events.pagerduty.com/v2/enqueue", secret: "the integration key", inBody: true,
			alone: true},
	}
}

// presetOf returns the preset of a name, or one without a name.
func presetOf(name string) preset {
	for _, p := range presets() {
		if p.name == name {
			return p
		}
	}
	return preset{}
}

//go:embed presets
var presetBodies embed.FS

// template returns the text of the preset's body.
func (p preset) template() (string, error) {
	text, err := presetBodies.ReadFile("presets/" + p.name + ".json.tmpl")
	return string(text), err
}
