package jobs_test

import (
	"slices"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// minutely is a fleet of one device with a row at some minutes of a day, counted from its start.
func minutely(t *testing.T, start time.Time, minutes ...int) (f *jobstest.Fleet, insert func(minutes ...int)) {
	t.Helper()
	f = seedDevice(t, 0, nil)
	insert = func(minutes ...int) {
		send(t, f, len(minutes), func(n int) tables.Entity {
			return temperature(start.Add(time.Duration(minutes[n])*time.Minute), float64(minutes[n]))
		})
	}
	insert(minutes...)
	return f, insert
}

func upTo(n, step int) (all []int) {
	for i := 0; i < n; i += step {
		all = append(all, i)
	}
	return all
}

// sameAsNew compares the outputs with those of a new fleet.
func sameAsNew(t *testing.T, f *jobstest.Fleet) {
	t.Helper()
	setting{latest: true, windows: []schema.Window{schema.Minute, schema.Hour, schema.Daily}}.sameAsNew(t, f)
}

// rewind rewinds the fleet's first device, and returns the message for it.
func rewind(t *testing.T, f *jobstest.Fleet, p *jobs.Pipeline, to time.Time) jobs.Message {
	t.Helper()
	return rewindAt(t, f, p, jobs.Rewound{To: tables.TicksOf(to), At: time.Now(), Mark: "rewound"})
}

func rewindAt(t *testing.T, f *jobstest.Fleet, p *jobs.Pipeline, r jobs.Rewound) jobs.Message {
	t.Helper()
	r.By = "a test"
	must.Have(p.Rewind(t.Context(), f.World.Member(f.World.Devices[0], f.Readings), r))(t)
	m := f.Audit(refold.Refold)
	m.Mark = r.Mark
	return m
}

// TestRefoldWithinADayDoesNotUndoAnAudit: a late row lies below the refold's position in its day. An audit folds it,
// and the refold continues.
func TestRefoldWithinADayDoesNotUndoAnAudit(t *testing.T) {
	start := floorDay(time.Now()).Add(-3 * 24 * time.Hour)
	for name, last := range map[string]int{"closed": 3 * 24 * 60, "open": 20 * 60} {
		t.Run(name, func(t *testing.T) {
			f, insert := minutely(t, start, append(upTo(20*60, 10), last)...)
			p := f.Pipeline(t, nil)
			must.Succeed(t, f.Drain(t.Context(), p))
			m := rewind(t, f, p, start)
			p.Portion, p.Most = 30, 30 // three hundred minutes
			l := &jobstest.Line{}
			jobstest.Do(t, p, m, l)
			if len(l.Queue) != 1 {
				t.Fatalf("it puts %+v", l.Queue)
			}
			insert(7) // late
			p.Most = 1000
			r, err := p.Do(t.Context(), f.Audit(refold.Late), &jobstest.Line{}, nil)
			if err != nil || r.Late != 1 {
				t.Fatalf("the audit: %+v, %v", r, err)
			}
			l.Work(t, p)
			sameAsNew(t, f)
		})
	}
}

// TestRewindDuringAPortionIsNotLost: the portion's commit must not say that the day was already begun.
func TestRewindDuringAPortionIsNotLost(t *testing.T) {
	t.Parallel()
	start := floorDay(time.Now()).Add(-3 * 24 * time.Hour)
	f, _ := minutely(t, start, append(upTo(20*60, 10), 24*60)...)
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	m := rewind(t, f, p, start)
	p.Portion, p.Most = 30, 30
	l := &jobstest.Line{}
	jobstest.Do(t, p, m, l)
	during := f.Pipeline(t, atFirstOutput(func() error {
		spoil(t, f)
		rewind(t, f, p, start)
		return nil
	}))
	during.Portion, during.Most = 30, 30
	m, _, _ = l.Take()
	jobstest.Do(t, during, m, l)
	m.Mark = "rewound"
	l.Queue, l.Delays = append(l.Queue, m), append(l.Delays, 0)
	l.Work(t, p)
	sameAsNew(t, f)
}

// TestRewindOfALaterDayCountsNoRowAgain: a refold had got to the middle of a day, and begins that day again.
func TestRewindOfALaterDayCountsNoRowAgain(t *testing.T) {
	start := floorDay(time.Now()).Add(-3 * 24 * time.Hour)
	f, _ := minutely(t, start, upTo(40*60, 20)...)
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	m := rewind(t, f, p, start)
	p.Portion, p.Most = 30, 30
	l := &jobstest.Line{}
	jobstest.Do(t, p, m, l)
	m = rewind(t, f, p, start.Add(24*time.Hour))
	l.Queue, l.Delays = append(l.Queue, m), append(l.Delays, 0)
	l.Work(t, p)
	track := f.Track(t, f.World.Devices[0])
	if rows := track.Get("Rows").Int(); rows != 120 {
		t.Errorf("%d rows of 120 are counted", rows)
	}
	sameAsNew(t, f)
}

// spoil overwrites all rollups.
func spoil(t *testing.T, f *jobstest.Fleet) {
	t.Helper()
	table := f.World.Connect(t, nil).Table(f.Names.Output("rollups"))
	for _, e := range jobstest.Rows(t, table, tables.Query{}) {
		e.Set("temperature", tables.String("[1,1,1,1,1,1]"))
		e.Set("spoilt", tables.Boolean(true))
		e.Set(fold.FenceProperty, tables.Int64(1))
		must.Have(table.Do(t.Context(), tables.InsertOrReplace(e)))(t)
	}
}

// TestLateRowsAreInTheLedgerOfAnyPortion: a device's row of rates depends on the day before, too, so open windows begin
// before the cursor.
func TestLateRowsAreInTheLedgerOfAnyPortion(t *testing.T) {
	start := floorDay(time.Now()).Add(-3 * 24 * time.Hour)
	f, insert := minutely(t, start, append(upTo(23*60, 10), upTo(36*60, 30)[46:]...)...)
	f.World.Rates = true
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	insert(7, 13*60+3)
	m := rewind(t, f, p, start.Add(24*time.Hour))
	p.Portion, p.Most = 30, 30
	jobstest.Work(t, p, m)
	row := f.Track(t, f.World.Devices[0])
	counted := must.Have(tracking.ParseLedger(row.Get("Ledger").Binary()))(t)
	if all := int(counted.Count(0, tables.MaxTicks)); all != len(slices.Concat(upTo(23*60, 10), upTo(36*60, 30)[46:]))+2 {
		t.Errorf("the ledger has %d rows, and %d were folded", all, row.Get("Rows").Int())
	}
}

// TestRowsBelowAllTicksAreCountedAlike by jobs, audits and refolds.
func TestRowsBelowAllTicksAreCountedAlike(t *testing.T) {
	f, _ := minutely(t, time.Now().Add(-5*time.Hour), upTo(120, 10)...)
	send(t, f, 1, func(int) tables.Entity { return tables.Entity{RowKey: "!odd"} })
	p := f.Pipeline(t, nil)
	p.Settings = "one:1"
	must.Succeed(t, f.Drain(t.Context(), p))
	p.Settings = "two:2"
	must.Succeed(t, f.Drain(t.Context(), p))
	wantRows(t, f, f.World.Devices[0], 13)
}

// TestLateRejectsOfADayInPortionsReachTheRing: only when a day has been folded to the end, many portions later, is it
// known whether a rejected row was late.
func TestLateRejectsOfADayInPortionsReachTheRing(t *testing.T) {
	start := floorDay(time.Now()).Add(-3 * 24 * time.Hour)
	for name, early := range map[string]int{"none before": 0, "a full ring": schema.RejectSlots + 40} {
		t.Run(name, func(t *testing.T) {
			f, insert := minutely(t, start, append(upTo(20*60, 10), 24*60)...)
			reject := func(at time.Time) tables.Entity {
				e := temperature(at, 1)
				e.RowKey += "x"
				return e
			}
			send(t, f, early, func(n int) tables.Entity { // the day before
				return reject(start.Add(time.Duration(n-early) * time.Second))
			})
			p := f.Pipeline(t, nil)
			must.Succeed(t, f.Drain(t.Context(), p))
			late := []time.Time{start.Add(7 * time.Minute), start.Add(9*time.Hour + time.Minute), start.Add(19 * time.Hour)}
			send(t, f, len(late), func(n int) tables.Entity { return reject(late[n]) })
			insert(8, 9*60+3) // late, and well
			p.Portion, p.Most = 30, 30
			work := func(m jobs.Message) {
				if jobs := jobstest.Work(t, p, m); jobs < 5 {
					t.Errorf("%d jobs folded the day", jobs)
				}
				if n := rejectCount(t, f); n != int64(early+len(late)) {
					t.Errorf("%d rejects are counted of %d and %d late ones", n, early, len(late))
				}
				found := ring(t, f, "live")
				for i, at := range late {
					if r := found[int64(early+i)]; r.Row != tables.TicksOf(at).String()+"x" || r.Reason == "" || r.Reading == "" {
						t.Errorf("late reject %d is %+v", i, r)
					}
				}
			}
			work(f.Audit(refold.Full))
			work(rewind(t, f, p, start)) // again
			if row := f.Track(t, f.World.Devices[0]); row.Get("Late").Int() != 5 || len(row.Get("RefoldRejects").Binary()) > 2 {
				t.Errorf("%d late rows, and %d bytes of rejects on the tracking row", row.Get("Late").Int(),
					len(row.Get("RefoldRejects").Binary()))
			}
		})
	}
}
