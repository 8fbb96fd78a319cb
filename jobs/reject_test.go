package jobs_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
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

// badRows returns rows that cannot be folded, with numbers starting at from.
func badRows(from int, at tables.Ticks) func(n int) tables.Entity {
	return func(n int) tables.Entity {
		e := tables.Entity{RowKey: at.Add(time.Duration(from+n) * time.Millisecond).String()}
		e.Set("temperature", tables.String("NaN"))
		e.Set("note", tables.String(fmt.Sprint("row ", from+n)))
		return e
	}
}

// ring returns the rejects of the first device and a pipeline by their numbers.
func ring(t *testing.T, f *jobstest.Fleet, p schema.Pipeline) map[int64]schema.Reject {
	t.Helper()
	found := map[int64]schema.Reject{}
	part := tables.Range{Partitions: tables.Is(string(f.World.Devices[0])), Rows: schema.RejectsOf(p)}
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Rejects()), tables.Query{Range: part}) {
		r := must.Have(schema.RejectOf(e))(t)
		found[r.Number] = r
	}
	return found
}

func rejectCount(t *testing.T, f *jobstest.Fleet) int64 {
	t.Helper()
	track := f.Track(t, f.World.Devices[0])
	return track.Get("Rejects").Int()
}

// mustBeNewest checks that these are the newest hundred of total, and that each names its row.
func mustBeNewest(t *testing.T, found map[int64]schema.Reject, total int64) {
	t.Helper()
	if want := min(total, schema.RejectSlots); int64(len(found)) != want {
		t.Errorf("%d rejects are kept of %d", len(found), total)
	}
	for n := max(0, total-schema.RejectSlots); n < total; n++ {
		if r := found[n]; !strings.Contains(r.Reading, fmt.Sprint("row ", n)) {
			t.Errorf("reject %d is %+v", n, r)
		}
	}
}

// dies returns a pipeline whose worker is killed when it is about to commit.
func dies(t *testing.T, f *jobstest.Fleet) (context.Context, *jobs.Pipeline) {
	ctx, kill := context.WithCancel(t.Context())
	t.Cleanup(kill)
	return ctx, f.Pipeline(t, watcher(func(_ *http.Request, body string) error {
		if strings.Contains(body, `"Committed"`) {
			kill()
		}
		return ctx.Err()
	}))
}

func TestAJobRejectsTenThousandRowsInOneTransaction(t *testing.T) {
	f := seedDevice(t, 10_000, badRows(0, tables.TicksOf(time.Now().Add(-time.Hour))))
	transactions := 0
	p := f.Pipeline(t, watcher(func(r *http.Request, body string) error {
		if strings.Contains(body, f.Names.Rejects()+"(") || strings.Contains(body, f.Names.Rejects()+" ") {
			transactions++
		}
		return nil
	}))
	p.Portion = 10_000
	p.Cadence = 24 * time.Hour // its first portion is live work
	r, err := p.Run(t.Context(), f.Batch)
	if err != nil || r.Rows != 10_000 || r.Refused != 10_000 || len(r.Failed) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if transactions != 1 {
		t.Errorf("%d transactions of rejects", transactions)
	}
	if n := rejectCount(t, f); n != 10_000 {
		t.Errorf("%d rejects are counted", n)
	}
	found := ring(t, f, "live")
	mustBeNewest(t, found, 10_000)
	last := found[9_999]
	if last.Sensor != "temperature" || last.Value != "NaN" || !strings.HasPrefix(last.Reason, "temperature: ") ||
		last.At == 0 || !strings.HasPrefix(last.Reading, last.Row) {
		t.Errorf("the last one is %+v", last)
	}
}

// TestRejectsThatGrowInStorageStillFitOneTransaction: a control character takes six bytes on the wire, so a hundred
// texts of 16 KiB are more than 3 MiB.
func TestRejectsThatGrowInStorageStillFitOneTransaction(t *testing.T) {
	at := tables.TicksOf(time.Now().Add(-time.Hour))
	f := seedDevice(t, 100, func(n int) tables.Entity {
		e := badRows(0, at)(n)
		e.Set("z", tables.String(strings.Repeat("\x01", 15_000)))
		return e
	})
	if r, err := f.Pipeline(t, nil).Run(t.Context(), f.Batch); err != nil || r.Rows != 100 || len(r.Failed) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	found := ring(t, f, "live")
	mustBeNewest(t, found, 100)
	if n := len(found[0].Reading); n < 1000 {
		t.Errorf("of a row %d bytes are kept", n)
	}
}

// TestAJobKilledBeforeItsCommitWritesTheSameSlotsAgain kills a job when its rejects are written, after 150 of earlier
// jobs.
func TestAJobKilledBeforeItsCommitWritesTheSameSlotsAgain(t *testing.T) {
	t.Parallel()
	f := seedDevice(t, 150+30, badRows(0, tables.TicksOf(time.Now().Add(-time.Hour))))
	p := f.Pipeline(t, nil)
	p.Portion, p.Most = 150, 150
	p.Cadence = 24 * time.Hour // its first portion is live work
	r := must.Have(p.Run(t.Context(), f.Batch))(t)
	ctx, dying := dies(t, f)
	batch := f.Batch
	batch.Mark = r.Mark
	if _, err := dying.Run(ctx, batch); err == nil {
		t.Fatal("the job was not killed")
	}
	if n := rejectCount(t, f); n != 150 {
		t.Fatalf("%d are counted by a job that died", n)
	}
	before := ring(t, f, "live")
	mustBeNewest(t, before, 180) // they were written
	must.Succeed(t, f.Drain(t.Context(), p))
	if n := rejectCount(t, f); n != 180 {
		t.Errorf("%d are counted", n)
	}
	mustBeNewest(t, ring(t, f, "live"), 180)
}

// TestAnOvertakenJobPutsNoOldRejectOverANewerOne: a job sleeps before it writes its rejects. When it wakes, others have
// filled the ring.
func TestAnOvertakenJobPutsNoOldRejectOverANewerOne(t *testing.T) {
	f := seedDevice(t, 250, badRows(0, tables.TicksOf(time.Now().Add(-time.Hour))))
	var slept atomic.Bool
	sleeper := f.Pipeline(t, nil)
	sleeper.Client = f.World.Connect(t, watcher(func(_ *http.Request, body string) error {
		if !strings.Contains(body, f.Names.Rejects()) || slept.Swap(true) {
			return nil
		}
		return f.Drain(context.WithoutCancel(t.Context()), f.Pipeline(t, nil))
	}))
	sleeper.Portion, sleeper.Most = 50, 50
	sleeper.Cadence = 24 * time.Hour // its first portion is live work
	r, err := sleeper.Run(t.Context(), f.Batch)
	if err != nil || r.Overtaken != 1 || !slept.Load() {
		t.Errorf("%+v, %v", r, err)
	}
	mustBeNewest(t, ring(t, f, "live"), 250)
	if n := rejectCount(t, f); n != 250 {
		t.Errorf("%d are counted", n)
	}
}

func TestTwoPipelinesOfADeviceHaveRingsOfTheirOwn(t *testing.T) {
	f := seedDevice(t, 130, badRows(0, tables.TicksOf(time.Now().Add(-time.Hour))))
	live, other := f.Pipeline(t, nil), f.Pipeline(t, nil)
	other.Name = "other"
	must.Succeed(t, f.World.Connect(t, nil).Table(f.Names.Partitions("other")).Create(t.Context()))
	other.Portion = 40
	for _, p := range []*jobs.Pipeline{live, other} {
		must.Succeed(t, f.Drain(t.Context(), p))
		mustBeNewest(t, ring(t, f, p.Name), 130)
	}
}

// TestAnAuditCountsOnlyTheRejectsThatItFinds: some late rows are bad, and the day that is folded again has bad rows
// that were counted long ago. The audit is done twice, the first time until it commits.
func TestAnAuditCountsOnlyTheRejectsThatItFinds(t *testing.T) {
	t.Parallel()
	at := tables.TicksOf(time.Now().Add(-48 * time.Hour))
	for _, early := range []int{20, 300} {
		f := seedDevice(t, early, badRows(1000, at))
		p := f.Pipeline(t, nil)
		must.Succeed(t, f.Drain(t.Context(), p))
		send(t, f, 5, badRows(0, at))
		ctx, dying := dies(t, f)
		if _, err := dying.Do(ctx, f.Audit(refold.Full), jobstest.NoPut{}, nil); err == nil {
			t.Fatal("the audit was not killed")
		}
		for range 2 {
			jobstest.Do(t, p, f.Audit(refold.Full), jobstest.NoPut{})
		}
		if n := rejectCount(t, f); n != int64(early)+5 {
			t.Errorf("%d rejects are counted of %d and 5 late ones", n, early)
		}
		late := 0
		for _, r := range ring(t, f, "live") {
			for n := range 5 {
				if strings.HasSuffix(r.Reading, fmt.Sprint("row ", n)) {
					late++
				}
			}
		}
		if late != 5 && early < schema.RejectSlots {
			t.Errorf("%d of the 5 late rejects are kept", late)
		}
	}
}

// TestADayWhoseSealWasBrokenLosesNoReject: a day was sealed, so that nothing says how many rows it had. Then tokens
// admit rows of it once more, and bad ones come.
func TestADayWhoseSealWasBrokenLosesNoReject(t *testing.T) {
	t.Parallel()
	at := tables.TicksOf(time.Now().Add(-5 * days))
	f := seedDevice(t, 20, badRows(1000, at))
	p, admits := f.Pipeline(t, nil), time.Hour
	p.Admits = func(schema.EnrollmentID) time.Duration { return admits }
	must.Succeed(t, f.Settle(t.Context(), p))
	jobstest.Do(t, p, f.Audit(refold.Full), jobstest.NoPut{})
	if n := must.Have(tracking.RowOf(f.Track(t, f.World.Devices[0])))(t).Ledger.Count(0, tables.MaxTicks); n != 0 {
		t.Fatalf("the day is not sealed: %d rows are counted", n)
	}
	admits = 12 * days
	send(t, f, 5, badRows(0, at))
	must.Succeed(t, f.Settle(t.Context(), p))
	jobstest.Do(t, p, f.Audit(refold.Full), jobstest.NoPut{})
	if n, kept := rejectCount(t, f), ring(t, f, "live"); n != 25 || len(kept) != 25 {
		t.Errorf("%d rejects are counted and %d kept, of 20 and 5 late ones", n, len(kept))
	}
}

// TestRejectsOfChangedSettingsAreKept: rows were folded, and are refused under the settings that follow.
func TestRejectsOfChangedSettingsAreKept(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(-time.Hour)
	f := seedDevice(t, 20, func(n int) tables.Entity { return temperature(at.Add(time.Duration(n)*time.Second), 20) })
	p := f.Pipeline(t, nil)
	p.Settings = "latest:1,rollup:1,rate:1"
	must.Succeed(t, f.Settle(t.Context(), p))
	p.Sensors.Long = fold.Long{Name: "tag", Value: "temperature"} // which no row has
	p.Settings = "latest:2,rollup:2,rate:2"
	for range 2 {
		must.Succeed(t, f.Settle(t.Context(), p))
		jobstest.Do(t, p, f.Audit(refold.Full), jobstest.NoPut{})
	}
	if n, kept := rejectCount(t, f), ring(t, f, "live"); n != 20 || len(kept) != 20 {
		t.Errorf("%d rejects are counted and %d kept, of 20", n, len(kept))
	}
}
