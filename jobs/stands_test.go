package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
)

// openClaim writes the claim of a job that is under way into the row of the fleet's
// first device.
func openClaim(t *testing.T, f *jobstest.Fleet, claim string) {
	t.Helper()
	e := tables.Entity{PartitionKey: jobstest.Month.String(), RowKey: string(f.World.Place(f.World.Devices[0]).Key)}
	e.Set("Claim", tables.String(claim))
	e.Set("ClaimUntil", tables.DateTime(tables.TicksOf(time.Now().Add(time.Minute))))
	_, err := f.World.Connect(t, nil).Table(f.Names.Partitions("live")).Do(t.Context(), tables.Merge(e, tables.AnyETag))
	jobstest.Must(t, err)
}

// busily inserts a new row of every device, and folds it, whenever it is called.
func busily(t *testing.T, f *jobstest.Fleet, live *jobs.Pipeline) func(int) {
	t.Helper()
	table, at := f.World.Connect(t, nil).Table(f.Readings), time.Now().Add(-59*time.Second)
	return func(int) {
		at = at.Add(100 * time.Millisecond)
		for _, d := range f.World.Devices {
			e := tables.Entity{PartitionKey: string(d), RowKey: tables.TicksOf(at).String()}
			e.Set("temperature", tables.Double(20))
			if _, err := table.Do(t.Context(), tables.Insert(e)); err != nil {
				t.Error(err)
			}
		}
		if _, err := live.Run(t.Context(), f.Batch); err != nil {
			t.Error(err)
		}
	}
}

// TestExpiredMarkOfABusyDeviceIsPutOnce: the batch that finds it commits new rows as
// well, and writes the longer mark with them.
func TestExpiredMarkOfABusyDeviceIsPutOnce(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	jobstest.Must(t, f.Drain(t.Context(), p))
	member := w.Member(w.Devices[0], f.Readings)
	_, err := p.Rewind(t.Context(), member, jobs.Rewound{To: 1, At: time.Now().Add(-time.Hour), By: "a test",
		Mark: "lost"})
	jobstest.Must(t, err)
	l := &jobstest.Line{}
	live := claimsHold(t, f, nil)
	table, at := w.Connect(t, nil).Table(f.Readings), time.Now().Add(-59*time.Second)
	for n := range 4 {
		e := tables.Entity{PartitionKey: string(w.Devices[0]),
			RowKey: tables.TicksOf(at.Add(time.Duration(n) * time.Second)).String()}
		e.Set("temperature", tables.Double(20))
		_, err := table.Do(t.Context(), tables.Insert(e))
		jobstest.Must(t, err)
		r, err := live.Do(t.Context(), f.Message(), l, nil)
		if err != nil || r.Rows != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if len(l.Queue) != 1 || l.Queue[0].Mark != "lost" {
		t.Errorf("four slots put %+v", l.Queue)
	}
}

// TestCursorWithoutAMarkIsWorkedOff: whoever set it has given no id.
func TestCursorWithoutAMarkIsWorkedOff(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	jobstest.Must(t, f.Drain(t.Context(), p))
	member := w.Member(w.Devices[0], f.Readings)
	_, err := p.Rewind(t.Context(), member, jobs.Rewound{To: 1, At: time.Now().Add(-time.Hour), By: "a test"})
	jobstest.Must(t, err)
	l := &jobstest.Line{Queue: []jobs.Message{f.Message()}, Delays: []time.Duration{0}}
	l.Work(t, p)
	if row := f.Track(t, w.Devices[0]); row.Get("Refold").Text() != "" {
		t.Errorf("the cursor is %s", row.Get("Refold").Text())
	}
}

// TestChainGoesOnWhereARefoldOfItsDeviceWasFaster: a portion of a refold is committed
// between the reading and the claim of the chain's link.
func TestChainGoesOnWhereARefoldOfItsDeviceWasFaster(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	f := w.NewFleet(t)
	f.FirstHalf(t)
	p := claimsHold(t, f, nil)
	member := w.Member(w.Devices[0], f.Readings)
	_, err := p.Rewind(t.Context(), member, jobs.Rewound{To: 1, At: time.Now(), By: "a test", Mark: "refold"})
	jobstest.Must(t, err)
	p.Portion = 10
	l := &jobstest.Line{}
	_, err = p.Do(t.Context(), f.Message(), l, nil)
	jobstest.Must(t, err)
	if len(l.Queue) != 1 || l.Queue[0].Mark == "" {
		t.Fatalf("it puts %+v", l.Queue)
	}
	faster := func(n int) {
		if n == 1 {
			refold := f.Audit(jobs.Refold)
			refold.Mark = "refold"
			r, err := p.Do(t.Context(), refold, l, nil)
			if err != nil || r.Refolds == 0 {
				t.Errorf("the refold: %+v, %v", r, err)
			}
		}
	}
	link := claimsHold(t, f, atReadings(f.Readings, faster))
	link.Portion = 10
	m := l.Queue[0]
	l.Queue, l.Delays = l.Queue[1:], l.Delays[1:]
	_, err = link.Do(t.Context(), m, l, nil)
	jobstest.Must(t, err)
	l.Work(t, p)
	if row := f.Track(t, w.Devices[0]); row.Get("Rows").Int() != 60 {
		t.Errorf("%d rows are folded", row.Get("Rows").Int())
	}
}

// TestFollowUpOfAChainIsNotDoneByALaterClaim, which may be of an audit.
func TestFollowUpOfAChainIsNotDoneByALaterClaim(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	p.Portion = 20
	l := &jobstest.Line{}
	_, err := p.Do(t.Context(), f.Message(), l, nil)
	jobstest.Must(t, err)
	for _, claim := range []string{"one", "another"} {
		openClaim(t, f, claim)
		m, _, _ := l.Take()
		_, err = p.Do(t.Context(), m, l, nil)
		jobstest.Must(t, err)
		if len(l.Queue) != 1 {
			t.Fatalf("under the claim %s a link puts %+v", claim, l.Queue)
		}
	}
	openClaim(t, f, "")
	l.Work(t, p)
	if row := f.Track(t, w.Devices[0]); row.Get("Rows").Int() != 60 {
		t.Errorf("%d rows are folded", row.Get("Rows").Int())
	}
}

// TestFollowUpOfAnAuditIsNotDoneByALaterClaim, which may be of a live job: that
// counts nothing, and refolds nothing.
func TestFollowUpOfAnAuditIsNotDoneByALaterClaim(t *testing.T) {
	w := newLateWorld(t)
	f := w.fleetWithLateRows(t)
	p := claimsHold(t, f.Fleet, nil)
	openClaim(t, f.Fleet, "one")
	l := &jobstest.Line{}
	audit := f.Audit(jobs.Full)
	audit.Last = audit.First
	_, err := p.Do(t.Context(), audit, l, nil)
	jobstest.Must(t, err)
	if len(l.Queue) != 1 {
		t.Fatalf("the audit puts %+v", l.Queue)
	}
	openClaim(t, f.Fleet, "another")
	m := l.Queue[0]
	l.Queue, l.Delays = nil, nil
	_, err = p.Do(t.Context(), m, l, nil)
	jobstest.Must(t, err)
	if len(l.Queue) != 1 {
		t.Fatalf("the follow-up puts %+v", l.Queue)
	}
	openClaim(t, f.Fleet, "")
	if r, err := p.Do(t.Context(), l.Queue[0], &jobstest.Line{}, nil); err != nil || r.Late == 0 {
		t.Errorf("at last: %+v, %v", r, err)
	}
}

// TestFollowUpOfARefoldHasTheMarkOfItsLastPortion: with that of the first it would
// find another id on the row, and do nothing.
func TestFollowUpOfARefoldHasTheMarkOfItsLastPortion(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	jobstest.Must(t, f.Drain(t.Context(), p))
	member := w.Member(w.Devices[0], f.Readings)
	_, err := p.Rewind(t.Context(), member, jobs.Rewound{To: 1, At: time.Now(), By: "a test", Mark: "first"})
	jobstest.Must(t, err)
	m := f.Audit(jobs.Refold)
	m.Mark = "first"
	q := claimsHold(t, f, atReadings(f.Readings, func(n int) {
		if n == 2 { // the first portion is committed
			openClaim(t, f, "of a live job")
		}
	}))
	q.Portion = 20
	l := &jobstest.Line{}
	_, err = q.Do(t.Context(), m, l, nil)
	jobstest.Must(t, err)
	row := f.Track(t, w.Devices[0])
	if mark := row.Get("RefoldMark").Text(); len(l.Queue) != 1 || l.Queue[0].Mark != mark || mark == "first" {
		t.Fatalf("it puts %+v, and the row has the mark %s", l.Queue, mark)
	}
	openClaim(t, f, "")
	l.Work(t, p)
	if row := f.Track(t, w.Devices[0]); row.Get("Refold").Text() != "" {
		t.Errorf("the cursor is %s", row.Get("Refold").Text())
	}
}

// TestAuditDoesNotOutrankAJobUnderWay where it changes the row alone.
func TestAuditDoesNotOutrankAJobUnderWay(t *testing.T) {
	w := jobstest.NewWorldSince(t, 30*24*time.Hour, 1, 60)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	jobstest.Must(t, f.Drain(t.Context(), p))
	openClaim(t, f, "under way")
	l := &jobstest.Line{}
	_, err := p.Do(t.Context(), f.Audit(jobs.Full), l, nil)
	jobstest.Must(t, err)
	row := f.Track(t, w.Devices[0])
	if row.Get("Claim").Text() != "under way" || len(l.Queue) != 1 {
		t.Errorf("the claim is %q, and the audit puts %+v", row.Get("Claim").Text(), l.Queue)
	}
}

// TestLedgerOfABusyDeviceIsCut although every count of an audit is overtaken by a
// live commit: or all of its history would be counted for ever.
func TestLedgerOfABusyDeviceIsCut(t *testing.T) {
	w := jobstest.NewWorldSince(t, 30*24*time.Hour, 1, 60)
	f := w.NewFleet(t)
	live := claimsHold(t, f, nil)
	jobstest.Must(t, f.Drain(t.Context(), live))
	audit := claimsHold(t, f, atReadings(f.Readings, busily(t, f, live)))
	r, err := audit.Do(t.Context(), f.Audit(jobs.Full), jobstest.NoPut{}, nil)
	row := f.Track(t, w.Devices[0])
	if err != nil || r.Overtaken != 0 || row.Get("LedgerFrom").Int() == 0 {
		t.Errorf("%+v, %v: the ledger is cut at %d", r, err, row.Get("LedgerFrom").Int())
	}
}

// TestLateRowsOfOneDayAreBounded: a day of which the ledger knows little may have got
// more late rows than a job folds. They are folded in portions, also of a busy device.
func TestLateRowsOfOneDayAreBounded(t *testing.T) {
	const rows, most = 400, 100
	start := floorDay(time.Now()).Add(-3 * 24 * time.Hour)
	f := seedDevice(t, 1, func(int) tables.Entity {
		e := tables.Entity{RowKey: tables.TicksOf(time.Now().Add(-time.Hour)).String()}
		e.Set("temperature", tables.Double(1))
		return e
	})
	live := claimsHold(t, f, nil)
	jobstest.Must(t, f.Drain(t.Context(), live))
	table := f.World.Connect(t, nil).Table("own")
	for n := range rows {
		e := tables.Entity{PartitionKey: string(f.World.Devices[0]),
			RowKey: tables.TicksOf(start.Add(time.Duration(n) * time.Minute)).String()}
		e.Set("temperature", tables.Double(float64(n)))
		_, err := table.Do(t.Context(), tables.Insert(e))
		jobstest.Must(t, err)
	}
	audit := claimsHold(t, f, atReadings(f.Readings, busily(t, f, live)))
	audit.Portion, audit.Most = 50, most
	l := &jobstest.Line{}
	r, err := audit.Do(t.Context(), f.Audit(jobs.Full), l, nil)
	if err != nil || r.Overtaken != 0 || r.Late > most+50 || len(l.Queue) != 1 {
		t.Fatalf("the audit: %+v, %v, and puts %+v", r, err, l.Queue)
	}
	audit = claimsHold(t, f, nil)
	audit.Portion, audit.Most = 50, most
	if jobs := l.Work(t, audit); jobs < rows/(most+50) {
		t.Errorf("%d rows took %d jobs", rows, jobs)
	}
	calm := f.World.NewFleetOf(t, f.Readings)
	jobstest.Must(t, f.Drain(t.Context(), live))
	jobstest.Must(t, calm.Drain(t.Context(), calm.Pipeline(t, nil)))
	if d := jobstest.Differ(settings()[0].outputs(f.Ends(t)), settings()[0].outputs(calm.Ends(t))); d != "" {
		t.Error(d)
	}
}

func floorDay(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }

// TestFollowUpIsNotDoneByALaterClaimOfAnAudit: an audit reads no row above the
// checkpoint, which a fleet with a run an hour would wait for.
func TestFollowUpIsNotDoneByALaterClaimOfAnAudit(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 20)
	f := w.NewFleet(t)
	f.FirstHalf(t)
	p := claimsHold(t, f, nil)
	l := &jobstest.Line{Queue: []jobs.Message{f.Message()}, Delays: []time.Duration{0}}
	for _, claim := range []string{"one", "audit-another"} {
		openClaim(t, f, claim)
		m, _, _ := l.Take()
		_, err := p.Do(t.Context(), m, l, nil)
		jobstest.Must(t, err)
		if len(l.Queue) != 1 {
			t.Fatalf("under the claim %s the job puts %+v", claim, l.Queue)
		}
	}
	openClaim(t, f, "")
	l.Work(t, p)
	if row := f.Track(t, w.Devices[0]); row.Get("Rows").Int() != 20 {
		t.Errorf("%d rows are folded", row.Get("Rows").Int())
	}
}
