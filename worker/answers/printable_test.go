package answers

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestNothingInATextActsOnATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\r\nç – ☀":             "a\tb\r\nç – ☀",
		"\x1b]0;owned\x07\x1b[2J":   `\x1b]0;owned\x07\x1b[2J`,
		"\u009b31m red \u0085 \x7f": `\u009b31m red \u0085 \x7f`,
		"\x00":                      `\x00`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
		b, err := Marshal(map[string]string{"text": text})
		if err != nil || strings.ContainsFunc(string(b), acts) {
			t.Errorf("%q as JSON is %q, %v", text, b, err)
		}
		var back map[string]string
		if err := json.Unmarshal(b, &back); err != nil || back["text"] != text {
			t.Errorf("%q comes back as %q, %v", text, back, err)
		}
	}
}
