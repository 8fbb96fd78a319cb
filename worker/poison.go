package worker

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// A Poisoned is a message that the pipeline could not work off, with what is
// known of why. As a message of the poison queue it is a JSON object.
type Poisoned struct {
	Text     string    `json:"text"`              // of the message
	Cut      int       `json:"cut,omitzero"`      // bytes that Text had before it was cut; 0 means it is whole
	Cause    string    `json:"cause"`             // of the last attempt's end
	At       time.Time `json:"at"`                // when it was given up
	Attempts int       `json:"attempts,omitzero"` // that had failed; 0 where it was not even tried
	Worker   string    `json:"worker,omitempty"`  // that gave it up
}

// How much of a message and of its cause is kept: a message has 64 KiB, and
// JSON may write a character in six.
const (
	keptText  = 8 << 10
	keptCause = 1 << 10
)

// encode is p as a text that a queue accepts.
func (p Poisoned) encode() (string, error) {
	if len(p.Text) > keptText {
		p.Cut = len(p.Text)
	}
	p.Text, p.Cause = writable(p.Text, keptText), writable(p.Cause, keptCause)
	p.At = p.At.UTC().Truncate(time.Millisecond)
	text, err := json.Marshal(p)
	return string(text), err
}

// poisonedOf reads what encode has written. What somebody else has put into the
// poison queue is a message with an unknown cause.
func poisonedOf(text string) Poisoned {
	var p Poisoned
	if err := json.Unmarshal([]byte(text), &p); err != nil || p.At.IsZero() {
		return Poisoned{Text: text, Cause: "unknown: a worker did not put it here"}
	}
	return p
}

// writable is at most the first bytes of s, without what XML has no characters
// for: the text of a message travels in XML, and a cause may quote anything.
// www.w3.org/TR/xml, section 2.2.
func writable(s string, most int) string {
	if len(s) > most {
		for s = s[:most]; len(s) > most-utf8.UTFMax && !utf8.ValidString(s); {
			s = s[:len(s)-1]
		}
	}
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}
