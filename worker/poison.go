package worker

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// A Poisoned is a message that the pipeline could not process, with what is known about the reason. In the poison queue
// it is a JSON object.
type Poisoned struct {
	Text     string    `json:"text"`              // text of the message
	Cut      int       `json:"cut,omitzero"`      // bytes of Text before it was cut; 0 means it is complete
	Cause    string    `json:"cause"`             // why the last attempt failed
	At       time.Time `json:"at"`                // when it became poison
	Attempts int       `json:"attempts,omitzero"` // failed attempts; 0 if it was not even tried
	Worker   string    `json:"worker,omitempty"`  // worker that gave it up
}

// Bounds of what is kept of a message and its cause. A message has 64 KiB, and JSON may write a character in six bytes.
const (
	keptText  = 8 << 10
	keptCause = 1 << 10
)

// encode returns p as a text that a queue accepts.
func (p Poisoned) encode() (string, error) {
	if len(p.Text) > keptText {
		p.Cut = len(p.Text)
	}
	p.Text, p.Cause = writable(p.Text, keptText), writable(p.Cause, keptCause)
	p.At = p.At.UTC().Truncate(time.Millisecond)
	text, err := json.Marshal(p)
	return string(text), err
}

// poisonedOf reads what encode has written. Anything else in the poison queue is a message with an unknown cause.
func poisonedOf(text string) Poisoned {
	var p Poisoned
	if err := json.Unmarshal([]byte(text), &p); err != nil || p.At.IsZero() {
		return Poisoned{Text: text, Cause: "unknown: a worker did not put it here"}
	}
	return p
}

// writable returns at most the first bytes of s, and replaces characters that XML does not allow: the text of a message
// travels in XML, and a cause may quote anything. www.w3.org/TR/xml, section 2.2.
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
