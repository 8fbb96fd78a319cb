package answers

import (
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// TestARestSaysWhyAndUntilWhen, and a device that got a token since, or just before, does not rest.
func TestARestSaysWhyAndUntilWhen(t *testing.T) {
	at := func(minute int) tables.Ticks {
		return tables.TicksOf(time.Date(2026, 11, 20, 18, minute, 0, 0, time.UTC))
	}
	asleep := schema.Rest{Claim: "c", Of: 1, Until: at(5), Next: tables.MaxTicks}
	silent := asleep
	silent.Next = at(45)
	for _, c := range []struct {
		rest  schema.Rest
		awake tables.Ticks
		want  string
	}{
		{schema.Rest{}, at(5), ""},
		{asleep, at(5), "rests until it gets a token"},
		{silent, at(5), "rests until it gets a token, or something is due at 2026-11-20T18:45:00Z"},
		{asleep, at(7), ""},
		{schema.Rest{Claim: "c", Of: 1, Next: tables.MaxTicks, Expected: at(30)}, at(59),
			"rests until its next reading, expected at 2026-11-20T18:30:00Z"},
		{schema.Rest{Claim: "c", Of: 1, Next: at(10), Expected: at(30)}, at(59), "2026-11-20T18:10:00Z"},
		{schema.Rest{Claim: "c", Next: at(10), Expected: at(30)}, at(59), ""},
	} {
		got := ""
		if r := RestOf(schema.Track{Rest: c.rest}, schema.Member{Awake: c.awake}); r != nil {
			got = r.String()
		}
		if !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%+v, awake until %v: %q, not %q", c.rest, c.awake.Time(), got, c.want)
		}
	}
}
