package refold

import (
	"math/rand/v2"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// TestEveryHourIsCountedOnceAtEachAge, whatever the runs are and however long nobody scheduled any, and never before
// the hour has reached the age.
func TestEveryHourIsCountedOnceAtEachAge(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	start := tables.TicksOf(time.Date(2026, 11, 1, 3, 7, 0, 0, time.UTC))
	const want = 4 // ages, besides the last
	for range 200 {
		turn := Turn{seed: random.Uint64(), since: start, run: start}
		counted := map[tables.Ticks]int{}
		for turn.run < start+20*tables.Day {
			turn.since, turn.run = turn.run, turn.run+tables.Ticks(random.Int64N(int64(tables.Hour)/2))+1
			if random.IntN(50) == 0 {
				turn.run += 30 * tables.Hour
			}
			for _, w := range turn.spans() {
				for h := w.From; h < w.To; h += tables.Hour {
					if counted[h]++; turn.run-h-tables.Hour < tables.Hour {
						t.Fatalf("hour %v is counted at %v", h.Time(), turn.run.Time())
					}
				}
			}
		}
		for h := (start + 2*tables.Day).Floor(tables.Hour); h < start+15*tables.Day; h += tables.Hour {
			if n := counted[h]; n != want {
				t.Fatalf("hour %v is counted %d times", h.Time(), n)
			}
		}
	}
}

// TestAuditsAreSpreadOverThePartitions: no hour of the day has many more last counts than another.
func TestAuditsAreSpreadOverThePartitions(t *testing.T) {
	byHour := make([]int, 24)
	start := tables.TicksOf(time.Now()).Floor(tables.Day)
	for n := range 1200 {
		month := schema.Month{Year: 2020 + n/1200, Month: time.Month(1 + n%12), Shard: n / 12}
		for h := range byHour {
			at := start + tables.Ticks(h)*tables.Hour
			if TurnOf("live", month, at, at+tables.Hour).last() {
				byHour[h]++
			}
		}
	}
	for h, n := range byHour {
		if n < 20 || n > 90 {
			t.Errorf("hour %d has %d of 1200: %v", h, n, byHour)
		}
	}
}

// TestAnAuditCountsEveryRow goes through the runs that put audits, one in five minutes, until one of them counts the
// row.
func TestAnAuditCountsEveryRow(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const admits = 4 * 24 * time.Hour
	late := tables.Ticks((admits + TokenGrace) / 100)
	const pace = tables.Ticks(5 * time.Minute / 100) // of the runs that put audits
	for range 300 {
		month := schema.Month{Year: 2026, Month: 11, Shard: random.IntN(50)}
		now := tables.TicksOf(time.Date(2026, 11, 22, 1, 0, 0, 0,
			time.UTC)).Add(time.Duration(random.Int64N(int64(24 * time.Hour))))
		now = now.Floor(pace)
		row := now.Add(-time.Duration(random.Int64N(int64(6 * 24 * time.Hour))))
		for run := now + pace; ; run += pace {
			turn := TurnOf("live", month, run-pace, run)
			counted := turn.last() && row < (run-late).Floor(tables.Day)
			for _, w := range turn.spans() {
				counted = counted || row >= w.From && row < w.To
			}
			if counted {
				break
			}
			if run > now+20*tables.Day {
				t.Fatalf("row %s is never counted", row.Time())
			}
		}
	}
}
