package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// An admittingFleet has rows of twenty days, but for those of some days, which come late: tokens of 13 days admit them.
// All days above are in its ledger.
type admittingFleet struct {
	*jobstest.Fleet
	t        *testing.T
	pipeline *jobs.Pipeline
	late     func(n int) bool
	want     map[string]string // ends of a fleet that had all rows from the beginning
}

const admittingRows = 200 // of each device in twenty days

// untold is what tokens admit so that ledgers begin on the day on which they do where nothing is known.
const untold = 8*days - time.Hour

// newAdmittingFleet has rows come late that are between two ages.
func newAdmittingFleet(t *testing.T, oldest, youngest time.Duration) *admittingFleet {
	t.Helper()
	w := jobstest.NewWorldSince(t, 20*days, 2, admittingRows)
	calm := w.NewFleet(t)
	must.Succeed(t, calm.Settle(t.Context(), calm.Pipeline(t, nil)))
	f := &admittingFleet{t: t, want: jobstest.WithoutHistory(calm.Ends(t)), late: func(n int) bool {
		age := 20 * days * time.Duration(admittingRows-n) / admittingRows
		return age < oldest && age > youngest
	}}
	w.Insert(t, "admitted", func(n int) bool { return !f.late(n) })
	f.Fleet = w.NewFleetOf(t, "admitted")
	f.pipeline = f.Pipeline(t, nil)
	f.admits(13 * days)
	must.Succeed(t, f.Settle(t.Context(), f.pipeline))
	return f
}

func (f *admittingFleet) admits(age time.Duration) {
	f.pipeline.Admits = func(schema.EnrollmentID) time.Duration { return age }
}

// arrive has the late rows come.
func (f *admittingFleet) arrive() {
	f.t.Helper()
	f.World.Insert(f.t, f.Readings, f.late)
}

// settle has tokens admit no rows of these days any more, and audits once more.
func (f *admittingFleet) settle() {
	f.t.Helper()
	f.admits(untold)
	must.Succeed(f.t, f.Settle(f.t.Context(), f.pipeline))
}

// end settles and compares the ends.
func (f *admittingFleet) end() {
	f.t.Helper()
	f.settle()
	jobstest.SameEnds(f.t, jobstest.WithoutHistory(f.Ends(f.t)), f.want)
}

// TestRetentionKeepsLateRowsThatNoAuditHasFound, of days on which the devices were silent, so that the ledger has
// nothing of them.
func TestRetentionKeepsLateRowsThatNoAuditHasFound(t *testing.T) {
	t.Parallel()
	begins := tables.TicksOf(time.Now().Add(-13*days - time.Hour)).Floor(tables.Day) // of the ledger
	f := newAdmittingFleet(t, time.Since(begins.Time())-time.Minute, 9*days+time.Hour)
	f.arrive()
	r := retaining(t, f.Fleet, nil, f.pipeline)
	must.Succeed(t, f.Drain(t.Context(), r))
	f.settle()
	sameOutputs(t, f.Fleet, f.want, "the late rows are folded")
	must.Succeed(t, f.Drain(t.Context(), r))
	if first := rowsOf(t, f.Fleet, f.World.Devices[0])[0]; first < nineDaysAgo() {
		t.Errorf("after their audit, rows from %s on are left", first)
	}
}

// TestAuditKeepsDaysThatItDidNotCount, because the membership has an import that the pipeline does not know yet.
func TestAuditKeepsDaysThatItDidNotCount(t *testing.T) {
	t.Parallel()
	f := newAdmittingFleet(t, 12*days, 11*days)
	f.arrive()
	f.note(schema.Import{ID: tables.TicksOf(time.Now()), From: ago(3), To: ago(2)})
	f.admits(untold)
	jobstest.Do(t, f.pipeline, f.Audit(refold.Full), &jobstest.Line{})
	f.end()
}

// note notes an import on all memberships.
func (f *admittingFleet) note(i schema.Import) {
	f.t.Helper()
	fleet := f.World.Connect(f.t, nil).Table(f.Names.Fleet())
	for _, d := range f.World.Devices {
		e := tables.Entity{PartitionKey: jobstest.Month.String(), RowKey: string(f.World.Place(d).Key)}
		must.Succeed(f.t, schema.Imports{i}.Set(&e))
		must.Have(fleet.Do(f.t.Context(), tables.Merge(e, tables.AnyETag)))(f.t)
	}
}

// TestAuditKeepsDaysThatACursorHasPassed: rows come late where the cursor of an import has been, which is not done yet.
func TestAuditKeepsDaysThatACursorHasPassed(t *testing.T) {
	t.Parallel()
	f := newAdmittingFleet(t, 12*days, 11*days)
	f.note(schema.Import{ID: tables.TicksOf(time.Now()), From: ago(12), To: ago(1)})
	f.pipeline.Portion, f.pipeline.Most = 10, 10
	line := &jobstest.Line{}
	must.Succeed(t, line.Put(t.Context(), f.Message(), 0))
	passed := func() bool {
		for _, d := range f.World.Devices {
			track := f.Track(t, d)
			cursor := track.Get(schema.TrackRefold).Text()
			if cursor == "" {
				t.Fatal("the cursor has passed everything")
			}
			if cursor < ago(8).String() {
				return false
			}
		}
		return true
	}
	for n := 0; n < 3 || !passed(); n++ {
		m, _, ok := line.Take()
		if !ok {
			m = f.Audit(refold.Refold)
		}
		jobstest.Do(t, f.pipeline, m, line)
	}
	f.arrive()
	f.admits(untold)
	jobstest.Do(t, f.pipeline, f.Audit(refold.Full), line)
	f.pipeline.Portion, f.pipeline.Most = 0, 0
	f.end()
}
