package jobs_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/commit"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestASettledMembershipIsFoldedAgain: a device has moved, nothing is left to do for the former tenant. Then settings
// change, and then a raised backfill admits rows of the time when the device was its own.
func TestASettledMembershipIsFoldedAgain(t *testing.T) {
	t.Parallel()
	f := newMovingFleet(t, rand.New(rand.NewPCG(1, 0)))
	admits := time.Hour
	p := f.Pipeline(t, nil)
	p.Admits = func(schema.EnrollmentID) time.Duration { return admits }
	device, rows := f.World.Devices[0], f.World.Rows[0]
	former := must.Have(f.registry(nil).Get(t.Context(), device))(t).Member()
	end := tables.TicksBefore(rows[len(rows)/2].RowKey)
	must.Have(f.registry(nil).Move(t.Context(), sas.Move{Device: device, To: "t1", At: end}))(t)
	must.Succeed(t, f.Settle(t.Context(), p))
	must.Have(p.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil))(t) // the ledger is empty then
	must.Succeed(t, f.Drain(t.Context(), p))

	planned := func() bool {
		t.Helper()
		line := &jobstest.Line{}
		m := jobs.Message{Kind: jobs.Month, Pipeline: p.Name, Run: f.Message().Run, Month: former.Month}
		one := *p
		one.Batch = 1
		jobstest.Do(t, &one, m, line)
		for _, m := range line.Queue {
			if m.First.Compare(former.Place()) <= 0 && m.Last.Compare(former.Place()) >= 0 {
				return true
			}
		}
		return false
	}
	if planned() {
		t.Fatal("the former membership is not settled")
	}
	p.Settings = "latest:2,rollup:2,rate:2"
	if !planned() {
		t.Error("no run folds the membership with other settings")
	}
	must.Succeed(t, f.Settle(t.Context(), p))
	must.Have(p.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil))(t)
	must.Succeed(t, f.Drain(t.Context(), p))
	if planned() {
		t.Fatal("the former membership is not settled again")
	}
	row := must.Have(former.Entity())(t) // as an attempt leaves it that died half a minute above the checkpoint
	row = tables.Entity{PartitionKey: row.PartitionKey, RowKey: row.RowKey}
	row.Set(schema.TrackUncut, tables.Int64(int64(tables.TicksBefore(rows[len(rows)-1].RowKey).Add(30*time.Second))))
	track := f.World.Connect(t, nil).Table(f.Names.Partitions(p.Name))
	must.Have(track.Do(t.Context(), tables.Merge(row, tables.AnyETag)))(t)
	if !planned() {
		t.Error("no run looks for what an attempt may have left")
	}
	q := *p
	hence(t, f.Fleet, &q, 2*commit.Landed)
	if must.Succeed(t, f.Drain(t.Context(), &q)); planned() {
		t.Error("runs look for it for ever")
	}
	for _, claim := range []string{"of an audit that died", ""} { // or that gave the device back, as it had failed
		row = tables.Entity{PartitionKey: row.PartitionKey, RowKey: row.RowKey}
		row.Set(schema.TrackFence, tables.Int64(int64(tables.TicksOf(time.Now()))))
		row.Set(schema.TrackClaim, tables.String(claim))
		must.Have(track.Do(t.Context(), tables.Merge(row, tables.AnyETag)))(t)
		if !planned() {
			t.Errorf("no run looks for what an attempt with claim %q has left, and retention waits for it", claim)
		}
		q := *p
		hence(t, f.Fleet, &q, 2*commit.Landed)
		if must.Succeed(t, f.Drain(t.Context(), &q)); planned() {
			t.Errorf("runs look for it for ever with claim %q", claim)
		}
	}
	admits = 10 * 24 * time.Hour
	if !planned() {
		t.Error("no run looks at the membership, whose time a token admits again")
	}
	jobstest.Insert(t, f.World.Connect(t, nil).Table(f.Readings), f.hidden...)
	must.Succeed(t, f.Settle(t.Context(), p))
	f.mustHaveOutputsOfNew() // what was late where the ledger had nothing any more is not counted as such
}
