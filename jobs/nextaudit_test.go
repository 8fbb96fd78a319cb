package jobs

import (
	"math/rand/v2"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// TestNextAuditIsTheFirstThatCountsTheRow goes through the runs that put audits, one in five minutes, until one of them
// counts the row.
func TestNextAuditIsTheFirstThatCountsTheRow(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const admits = 4 * 24 * time.Hour
	late := tables.Ticks((admits + tokenGrace) / 100)
	for range 300 {
		p := &Pipeline{Name: "live", Late: admits + tokenGrace}
		month := schema.Month{Year: 2026, Month: 11, Shard: random.IntN(50)}
		now := tables.TicksOf(time.Date(2026, 11, 22, 1, 0, 0, 0,
			time.UTC)).Add(time.Duration(random.Int64N(int64(24 * time.Hour))))
		now = floorTo(now, auditPace)
		row := now.Add(-time.Duration(random.Int64N(int64(6 * 24 * time.Hour))))
		got := p.NextAudit(month, row, now, admits)
		for run := now + auditPace; ; run += auditPace {
			turn := p.auditTurn(Message{Since: run - auditPace, Run: run}, month)
			counted := turn.last() && row < floorTo(run-late, day)
			for _, w := range turn.spans() {
				counted = counted || row >= w.from && row < w.to
			}
			if counted {
				if got > run || got <= run-auditPace {
					t.Errorf("month %s, now %s, row %s: the next audit is said to be at %s, and is at %s", month, now.Time(),
						row.Time(), got.Time(), run.Time())
				}
				break
			}
			if run > now+20*day {
				t.Fatalf("row %s is never counted", row.Time())
			}
		}
	}
}
