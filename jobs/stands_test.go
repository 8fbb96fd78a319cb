package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
)

// openClaim writes the claim of a running job into the row of the fleet's first device.
func openClaim(t *testing.T, f *jobstest.Fleet, claim string) {
	t.Helper()
	e := tables.Entity{PartitionKey: jobstest.Month.String(), RowKey: string(f.World.Place(f.World.Devices[0]).Key)}
	e.Set("Claim", tables.String(claim))
	e.Set("ClaimUntil", tables.DateTime(tables.TicksOf(time.Now().Add(time.Minute))))
	_, err := f.World.Connect(t, nil).Table(f.Names.Partitions("live")).Do(t.Context(), tables.Merge(e, tables.AnyETag))
	must.Succeed(t, err)
}

// busily returns a function that inserts a new row of every device, and folds it. It counts the commits.
func busily(t *testing.T, f *jobstest.Fleet, live *jobs.Pipeline) (busy func(int), commits *int) {
	t.Helper()
	table, at := f.World.Connect(t, nil).Table(f.Readings), time.Now().Add(-59*time.Second)
	commits = new(int)
	return func(int) {
		at = at.Add(100 * time.Millisecond)
		for _, d := range f.World.Devices {
			e := temperature(at, 20)
			e.PartitionKey = string(d)
			if _, err := table.Do(t.Context(), tables.Insert(e)); err != nil {
				t.Error(err)
			}
		}
		r, err := live.Run(t.Context(), f.Batch)
		if err != nil || r.Folded+len(r.Claimed) != len(f.World.Devices) {
			t.Errorf("the live job: %+v, %v", r, err)
		}
		*commits += r.Folded
	}, commits
}

// TestExpiredMarkOfABusyDeviceIsPutOnce: the batch that finds it also commits new rows, and writes the longer mark with
// them.
func TestExpiredMarkOfABusyDeviceIsPutOnce(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	rewindAt(t, f, p, jobs.Rewound{To: 1, At: time.Now().Add(-time.Hour), Mark: "lost"})
	l := &jobstest.Line{}
	live := claimsHold(t, f, nil)
	for n := range 4 {
		at := time.Now().Add(time.Duration(n-59) * time.Second)
		send(t, f, 1, func(int) tables.Entity { return temperature(at, 20) })
		r, err := live.Do(t.Context(), f.Message(), l, nil)
		if err != nil || r.Rows != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if len(l.Queue) != 1 || l.Queue[0].Mark != "lost" {
		t.Errorf("four slots put %+v", l.Queue)
	}
}

// TestCursorWithoutAMarkIsWorkedOff: whoever set it has given no ID.
func TestCursorWithoutAMarkIsWorkedOff(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	rewindAt(t, f, p, jobs.Rewound{To: 1, At: time.Now().Add(-time.Hour)})
	jobstest.Work(t, p, f.Message())
	wantRows(t, f, w.Devices[0], 60)
}

// TestChainContinuesAfterARefoldOfItsDevice: a portion of a refold is committed between the reading and the claim of
// the chain's link.
func TestChainContinuesAfterARefoldOfItsDevice(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	f := w.NewFleet(t)
	f.FirstHalf(t)
	p := claimsHold(t, f, nil)
	rewindAt(t, f, p, jobs.Rewound{To: 1, At: time.Now(), Mark: "refold"})
	p.Portion = 10
	l := &jobstest.Line{}
	jobstest.Do(t, p, f.Message(), l)
	if len(l.Queue) != 1 || l.Queue[0].Mark == "" {
		t.Fatalf("it puts %+v", l.Queue)
	}
	faster := func(n int) {
		if n == 1 {
			refold := f.Audit(refold.Refold)
			refold.Mark = "refold"
			r, err := p.Do(t.Context(), refold, l, nil)
			if err != nil || r.Refolds == 0 {
				t.Errorf("the refold: %+v, %v", r, err)
			}
		}
	}
	link := claimsHold(t, f, atReadings(f.Readings, faster))
	link.Portion = 10
	m, _, _ := l.Take()
	jobstest.Do(t, link, m, l)
	l.Work(t, p)
	wantRows(t, f, w.Devices[0], 60)
}

// TestFollowUpOfAChainIsNotDoneByALaterClaim, which may be an audit's.
func TestFollowUpOfAChainIsNotDoneByALaterClaim(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	p.Portion = 20
	l := &jobstest.Line{}
	jobstest.Do(t, p, f.Message(), l)
	for _, claim := range []string{"one", "another"} {
		openClaim(t, f, claim)
		m, _, _ := l.Take()
		jobstest.Do(t, p, m, l)
		if len(l.Queue) != 1 {
			t.Fatalf("under the claim %s a link puts %+v", claim, l.Queue)
		}
	}
	openClaim(t, f, "")
	l.Work(t, p)
	wantRows(t, f, w.Devices[0], 60)
}

// TestFollowUpOfAnAuditIsNotDoneByALaterClaim, which may be a live job's: that counts nothing, and refolds nothing.
func TestFollowUpOfAnAuditIsNotDoneByALaterClaim(t *testing.T) {
	t.Parallel()
	w := newLateWorld(t)
	f := w.fleetWithLateRows(t)
	p := claimsHold(t, f.Fleet, nil)
	openClaim(t, f.Fleet, "one")
	l := &jobstest.Line{}
	audit := f.Audit(refold.Full)
	audit.Last = audit.First
	jobstest.Do(t, p, audit, l)
	if len(l.Queue) != 1 {
		t.Fatalf("the audit puts %+v", l.Queue)
	}
	openClaim(t, f.Fleet, "another")
	m, _, _ := l.Take()
	jobstest.Do(t, p, m, l)
	if len(l.Queue) != 1 {
		t.Fatalf("the follow-up puts %+v", l.Queue)
	}
	openClaim(t, f.Fleet, "")
	if r, err := p.Do(t.Context(), l.Queue[0], &jobstest.Line{}, nil); err != nil || r.Late == 0 {
		t.Errorf("at last: %+v, %v", r, err)
	}
}

// TestFollowUpOfARefoldHasTheMarkOfItsLastPortion: with the first one's it would find another ID on the row, and do
// nothing.
func TestFollowUpOfARefoldHasTheMarkOfItsLastPortion(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorld(t, 1, 60)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	rewindAt(t, f, p, jobs.Rewound{To: 1, At: time.Now(), Mark: "first"})
	m := f.Audit(refold.Refold)
	m.Mark = "first"
	q := claimsHold(t, f, atReadings(f.Readings, func(n int) {
		if n == 2 { // the first portion is committed
			openClaim(t, f, "of a live job")
		}
	}))
	q.Portion = 20
	l := &jobstest.Line{}
	jobstest.Do(t, q, m, l)
	row := f.Track(t, w.Devices[0])
	if mark := row.Get("RefoldMark").Text(); len(l.Queue) != 1 || l.Queue[0].Mark != mark || mark == "first" {
		t.Fatalf("it puts %+v, and the row has the mark %s", l.Queue, mark)
	}
	openClaim(t, f, "")
	l.Work(t, p)
	wantRows(t, f, w.Devices[0], 60)
}

// TestAuditDoesNotOutrankARunningJob if it changes the row alone.
func TestAuditDoesNotOutrankARunningJob(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorldSince(t, 30*24*time.Hour, 1, 60)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	openClaim(t, f, "under way")
	l := &jobstest.Line{}
	jobstest.Do(t, p, f.Audit(refold.Full), l)
	row := f.Track(t, w.Devices[0])
	if row.Get("Claim").Text() != "under way" || len(l.Queue) != 1 {
		t.Errorf("the claim is %q, and the audit puts %+v", row.Get("Claim").Text(), l.Queue)
	}
}

// TestLedgerOfABusyDeviceIsCut although live commits overtake every count of an audit. Otherwise all of its history
// would be counted forever.
func TestLedgerOfABusyDeviceIsCut(t *testing.T) {
	w := jobstest.NewWorldSince(t, 30*24*time.Hour, 1, 60)
	f := w.NewFleet(t)
	live := claimsHold(t, f, nil)
	must.Succeed(t, f.Drain(t.Context(), live))
	busy, _ := busily(t, f, live)
	audit := claimsHold(t, f, atReadings(f.Readings, busy))
	r, err := audit.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil)
	row := f.Track(t, w.Devices[0])
	if err != nil || r.Overtaken != 0 || row.Get("LedgerFrom").Int() == 0 {
		t.Errorf("%+v, %v: the ledger is cut at %d", r, err, row.Get("LedgerFrom").Int())
	}
}

// TestLateRowsOfOneDayAreBounded: a day that the ledger knows little about may get more late rows than a job folds.
// They are folded in portions, even for a busy device.
func TestLateRowsOfOneDayAreBounded(t *testing.T) {
	const rows, most = 400, 100
	start := floorDay(time.Now()).Add(-3 * 24 * time.Hour)
	f := seedDevice(t, 1, func(int) tables.Entity { return temperature(time.Now().Add(-time.Hour), 1) })
	live := claimsHold(t, f, nil)
	must.Succeed(t, f.Drain(t.Context(), live))
	send(t, f, rows, func(n int) tables.Entity { return temperature(start.Add(time.Duration(n)*time.Minute), float64(n)) })
	busy, _ := busily(t, f, live)
	audit := claimsHold(t, f, atReadings(f.Readings, busy))
	audit.Portion, audit.Most = 50, most
	l := &jobstest.Line{}
	r, err := audit.Do(t.Context(), f.Audit(refold.Full), l, nil)
	if err != nil || r.Overtaken != 0 || r.Late > most+50 || len(l.Queue) != 1 {
		t.Fatalf("the audit: %+v, %v, and puts %+v", r, err, l.Queue)
	}
	audit = claimsHold(t, f, nil)
	audit.Portion, audit.Most = 50, most
	if jobs := l.Work(t, audit); jobs < rows/(most+50) {
		t.Errorf("%d rows took %d jobs", rows, jobs)
	}
	calm := f.World.NewFleetOf(t, f.Readings)
	must.Succeed(t, f.Drain(t.Context(), live))
	must.Succeed(t, calm.Drain(t.Context(), calm.Pipeline(t, nil)))
	jobstest.SameEnds(t, settings()[0].outputs(f.Ends(t)), settings()[0].outputs(calm.Ends(t)))
}

func floorDay(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }

// TestFollowUpIsNotDoneByALaterClaimOfAnAudit: an audit reads no row above the checkpoint, so a fleet with a run an
// hour would wait for it.
func TestFollowUpIsNotDoneByALaterClaimOfAnAudit(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 20)
	f := w.NewFleet(t)
	f.FirstHalf(t)
	p := claimsHold(t, f, nil)
	l := &jobstest.Line{Queue: []jobs.Message{f.Message()}, Delays: []time.Duration{0}}
	for _, claim := range []string{"one", "audit-another"} {
		openClaim(t, f, claim)
		m, _, _ := l.Take()
		jobstest.Do(t, p, m, l)
		if len(l.Queue) != 1 {
			t.Fatalf("under the claim %s the job puts %+v", claim, l.Queue)
		}
	}
	openClaim(t, f, "")
	l.Work(t, p)
	wantRows(t, f, w.Devices[0], 20)
}
