package plan

import (
	"testing"
	"time"

	"furrow/jobs/coverage"
	"furrow/tables"
	"furrow/tables/schema"
)

// TestAMembershipIsLookedAtAgainWhereTokensHaveAdmittedItsTimeSince: nothing was left to do for it, tokens admitted
// older rows for some days while no worker ran, and admit none of its time by now.
func TestAMembershipIsLookedAtAgainWhereTokensHaveAdmittedItsTimeSince(t *testing.T) {
	const days = 24 * time.Hour
	audit := tables.TicksOf(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	m := schema.Member{Spans: schema.Spans{{To: audit.Add(-20 * days)}}}
	var c coverage.Coverage
	c.Seal(coverage.Window{To: m.Spans.End()}, coverage.Known{At: audit, Late: 8 * days})
	track := tables.Entity{}
	track.Set(schema.TrackCoverage, tables.Binary(c.Append(nil)))
	for _, c := range []struct {
		after, late time.Duration
		want        bool
	}{{0, 8 * days, true}, {11 * days, 8 * days, true}, {0, 30 * days, false}, {11 * days, 30 * days, false},
		{0, 19 * days, true}} {
		if got := sealed(m, track, c.late, audit.Add(c.after)); got != c.want {
			t.Errorf("after %v with tokens of %v: %t", c.after, c.late, got)
		}
	}
	for name, change := range map[string]func(*coverage.Coverage, *tables.Entity){
		"a day after its end is to be made again": func(c *coverage.Coverage, _ *tables.Entity) {
			c.Stale(coverage.Window{From: audit.Add(-2 * days), To: audit}, coverage.Move)
		},
		"days are to be made again later": func(c *coverage.Coverage, _ *tables.Entity) {
			c.Again(coverage.Window{From: audit.Add(-2 * days), To: audit}, audit.Add(time.Hour))
		},
		"an attempt may have left outputs above the checkpoint": func(_ *coverage.Coverage, e *tables.Entity) {
			e.Set(schema.TrackUncut, tables.Int64(int64(audit)))
			e.Set(schema.TrackCheckpoint, tables.String(audit.Add(-time.Second).String()))
		},
	} {
		c, track := c, tables.Entity{}
		change(&c, &track)
		track.Set(schema.TrackCoverage, tables.Binary(c.Append(nil)))
		if sealed(m, track, 8*days, audit) {
			t.Errorf("where %s, no run looks", name)
		}
	}
	if !sealed(m, tables.Entity{}, 8*days, audit) || sealed(m, tables.Entity{}, 30*days, audit) {
		t.Error("what an older version has stored counts for nothing")
	}
}
