package refold

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"furrow/jobs/coverage"
	"furrow/jobs/tracking"
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

// TestLooksAndAuditsCountEveryHour of a device that sends rarely: no hour up to its last reading is counted at neither
// the first nor the second age, however late looks are, whenever the device falls silent and however long nobody
// schedules an audit, or does anything.
func TestLooksAndAuditsCountEveryHour(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const hour = tables.Hour
	some := func(most tables.Ticks) tables.Ticks { return tables.Ticks(random.Int64N(int64(most)) + 1) }
	start := tables.TicksOf(time.Date(2026, 11, 1, 3, 7, 0, 0, time.UTC))
	audits, alone := 0, 0
	for range 500 {
		every := time.Duration(1+random.IntN(48)) * 15 * time.Minute
		step := tables.Ticks(every / 100)
		row := tracking.New() // without counts: few rows lie anywhere
		turn := Turn{seed: random.Uint64(), since: start, run: start}
		longest := tables.Ticks(0) // without audits
		next, silent := start+some(step), start+2*tables.Day+some(5*tables.Day)
		var first, second []tables.Ticks // when the hours from start on were counted: by their number
		first, second = make([]tables.Ticks, 24*12), make([]tables.Ticks, 24*12)
		count := func(w coverage.Window, at tables.Ticks) {
			for h := max(w.From, start.Floor(hour)); h+hour <= min(w.To, at-hour, silent); h += hour {
				n := int((h - start.Floor(hour)) / hour)
				first[n] = cmp.Or(first[n], at)
				if h+hour <= at-3*hour {
					second[n] = cmp.Or(second[n], at)
				}
			}
		}
		for turn.run < start+9*tables.Day {
			turn.since, turn.run = turn.run, turn.run+5*hour/60+some(hour/60)
			if random.IntN(500) == 0 {
				away := some(30 * hour)
				if turn.run, longest = turn.run+away, max(longest, away); random.IntN(2) == 0 {
					next = max(next, turn.run) // nor does anybody look
				}
			}
			for ; next <= min(turn.run, silent); next += step + some(step/2) - step/4 {
				row.Last = next.String()
				if from := row.RecountFrom(next, every); from != 0 {
					row.Recounted = next
					count(coverage.Window{From: from, To: next}, next)
				}
			}
			if !turn.Due() {
				continue
			}
			spans := joined(turn.beside(row.Recounted, every), row.Ledger)
			for _, w := range spans {
				count(w, turn.run)
			}
			if turn.run < silent {
				audits, alone = audits+len(spans), alone+len(joined(turn.spans(), row.Ledger))
			}
		}
		for n := 24; start.Floor(hour)+tables.Ticks(n+1)*hour <= silent; n++ {
			end := start.Floor(hour) + tables.Ticks(n+1)*hour
			late := longest + step*5/4 + hour // a look is awaited for so long
			if first[n] == 0 || first[n] > end+late+2*hour+hour/6 ||
				second[n] == 0 || second[n] > end+late+6*hour+hour/6 {
				t.Fatalf("every %v, silent after %d h: hour %d is counted at the ages of %d and %d minutes", every,
					(silent-start)/hour, n, (first[n]-end)*60/hour, (second[n]-end)*60/hour)
			}
		}
	}
	if audits > alone/4 {
		t.Errorf("%d spans are audited of %d", audits, alone)
	}
}

// TestLookAfterAPauseKeepsNoAuditAway: nothing ran for hours, and the first run looks at the device before the audit
// does. Rows that came meanwhile are older than what the look counts.
func TestLookAfterAPauseKeepsNoAuditAway(t *testing.T) {
	const hour = tables.Hour
	run := tables.TicksOf(time.Date(2026, 11, 1, 3, 7, 0, 0, time.UTC))
	for _, every := range []time.Duration{10 * time.Minute, 30 * time.Minute, 6 * time.Hour} {
		turn := Turn{since: run - 9*hour, run: run}
		before := turn.since.Add(-every) // the last look
		spans := turn.beside(run, every)
		for h := (before - 4*hour).Ceil(hour); h < (run.Add(-every) - 5*hour).Floor(hour); h += hour {
			if !slices.ContainsFunc(spans, func(w coverage.Window) bool { return w.From <= h && h+hour <= w.To }) {
				t.Errorf("looks come every %v, and nobody counts the rows of %v once more", every, h.Time())
			}
		}
	}
}

// TestLookOfTheFutureKeepsNoAuditAway: a clock was ahead when a job counted the rows again.
func TestLookOfTheFutureKeepsNoAuditAway(t *testing.T) {
	run := tables.TicksOf(time.Date(2026, 11, 1, 3, 7, 0, 0, time.UTC))
	turn := Turn{since: run - 24*tables.Hour, run: run}
	for _, look := range []tables.Ticks{0, run + 2*tables.Hour, tables.MaxTicks} {
		if got := turn.beside(look, time.Hour); !slices.Equal(got, turn.spans()) {
			t.Errorf("a look at %v leaves %v", look.Time(), got)
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
