package apiclients

import (
	"testing"
	"time"
)

// TestDifferencesAreFound: what generators did wrong before the document was what they understand.
func TestDifferencesAreFound(t *testing.T) {
	for _, c := range []struct {
		sent, read string
		differs    string
	}{
		{`{"n":1.50,"at":"2026-11-28T08:00:00.1234567Z"}`, `{"n":1.5,"at":"2026-11-28T09:00:00.123+01:00","x":null,"y":[]}`, ""},
		{"data: {}\n\n", `"data: {}\n\n"`, ""},
		{`{"count":3000000019}`, `{"count":3000000000}`, "/count is 3000000000, not 3000000019"},
		{`{"battery":{"mean":3.5}}`, `{"battery":{}}`, "/battery/mean is <nil>, not 3.5"},
		{`{"rows":[1,2]}`, `{"rows":[1]}`, "/rows is [1], not a list of 2"},
		{`{"rows":[]}`, `{}`, "/rows is <nil>, not a list of 0"},
		{`{}`, `{"value":0}`, "/value is 0, and was not sent"},
		{`{}`, `null`, " is <nil>, not an object"},
		{`{"at":"2026-11-28T08:00:00Z"}`, `{"at":"2026-11-28T08:00:01Z"}`,
			"/at is 2026-11-28T08:00:01Z, not 2026-11-28T08:00:00Z"},
	} {
		if got := comparer(time.Millisecond).differ(c.sent, c.read); got != c.differs {
			t.Errorf("%s read as %s: %q, want %q", c.sent, c.read, got, c.differs)
		}
	}
}
