package jobs_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
)

// TestNothingStandsStill: whatever two workers do at a time, with chains and refolds in small portions under claims
// that hold, no device waits for a mark to expire. They are killed at any operation, rows arrive at any, the service's
// clocks differ, the settings change, and tokens come to admit older rows.
func TestNothingStandsStill(t *testing.T) {
	t.Parallel()
	w := newLateWorld(t)
	eachSeed(t, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		readings := fmt.Sprintf("still%d", seed)
		rows := &arriving{world: w.World, table: readings, random: rand.New(rand.NewPCG(seed, 3)), there: map[int]bool{},
			admits: 8 * 24 * time.Hour}
		raised := random.IntN(2) == 0
		if raised {
			rows.admits = 3 * 24 * time.Hour
		}
		rows.some(t, .5)
		f := w.NewFleetOf(t, readings)
		c := newPair(t, f, seed, func() { rows.some(t, 0) })
		for _, p := range c.workers {
			p.Admits = rows.span
		}
		archiver, read := archiving(t, f, readings)
		archives := func(p *jobs.Pipeline) {
			p.Processors = append(p.Processors, archiver.Processors...)
			p.Objects, p.Settings = archiver.Objects, p.Settings+",archive:1"
		}
		put := func(m jobs.Message) { jobstest.Must(t, c.Put(t.Context(), m, 0)) }
		var s setting
		archived := false
		for round := range 3 + random.IntN(4) {
			if round == 0 || random.IntN(3) == 0 {
				s, archived = settings()[random.IntN(len(settings()))], random.IntN(2) == 0
			}
			for i, p := range c.workers {
				if s.apply(t, p); archived {
					archives(p)
				}
				p.Portion, p.Most = 2+random.IntN(8*(i+1)), 4+random.IntN(30)
			}
			put(f.Message())
			switch random.IntN(3) {
			case 0:
				put(f.Audit(jobs.Full))
			case 1:
				to := tables.TicksOf(time.Now().Add(-time.Duration(random.IntN(7*24)) * time.Hour))
				m := f.Audit(jobs.Refold)
				d := w.Devices[random.IntN(len(w.Devices))]
				m.First = w.Place(d)
				m.Last, m.Mark = m.First, fmt.Sprint("rewind", round)
				_, err := f.Pipeline(t, nil).Rewind(t.Context(), w.Member(d, readings),
					jobs.Rewound{To: to, At: time.Now(), By: "a test", Mark: m.Mark})
				jobstest.Must(t, err)
				put(m)
			}
			if random.IntN(2) == 0 {
				rows.some(t, .3)
			}
			if random.IntN(2) == 0 {
				rows.raise(time.Duration(random.IntN(8*24)) * time.Hour)
			}
			c.work(t, 1+random.IntN(30))
		}
		rows.raise(8 * 24 * time.Hour)
		rows.some(t, 1)
		for range 2 { // the last two slots
			put(f.Message())
			put(f.Audit(jobs.Full))
			if !c.work(t, 2000) {
				t.Fatalf("there is no end of %d messages: %+v", len(c.Queue), c.Queue[0])
			}
		}
		for _, d := range w.Devices {
			row := f.Track(t, d)
			counted := row.Get("Rows").Int() == int64(len(w.Rows[0])) || raised // not counted again
			if row.Get("Refold").Text() != "" || row.Get("ChainMark").Text() != "" || !counted {
				t.Errorf("%s stands still: cursor %q, chain %q, %d rows of %d", d, row.Get("Refold").Text(),
					row.Get("ChainMark").Text(), row.Get("Rows").Int(), len(w.Rows[0]))
			}
		}
		t.Logf("%d workers died; raised: %v", c.died.Load(), raised)
		calm := s.sameAsNew(t, f)
		if !archived {
			return
		}
		alone, readCalm := archiving(t, calm, readings+"calm")
		alone.Names = w.NewFleetOf(t, readings).Names
		jobstest.Must(t, calm.Drain(t.Context(), alone))
		jobstest.SameEnds(t, read(), readCalm(), "the archive")
	})
}
