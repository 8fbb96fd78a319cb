package jobs_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/retain"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// withRecords gives the devices of a fleet records, so that they can move to tenants whose names are at most t9.
func withRecords(t testing.TB, f *jobstest.Fleet) {
	t.Helper()
	f.World.Create(t, f.Names.Devices())
	for _, d := range f.World.Devices {
		m := f.World.Member(d, f.Readings)
		e := must.Have(schema.Device{ID: d, Month: m.Month, Tenant: m.Tenant, Readings: f.Readings,
			Status: schema.Active}.Entity())(t)
		jobstest.Insert(t, f.World.Connect(t, nil).Table(f.Names.Devices()), e)
	}
	last := f.World.Devices[len(f.World.Devices)-1]
	f.Batch.Last = schema.Member{Month: jobstest.Month, Tenant: "t9", Device: last}.Place()
}

// moveAgo moves a device to another tenant, as of so many days ago.
func moveAgo(t testing.TB, f *jobstest.Fleet, d schema.DeviceID, to schema.Tenant, n int) {
	t.Helper()
	at := tables.TicksOf(time.Now().Add(-time.Duration(n) * days))
	must.Have(sas.NewRegistry(f.World.Connect(t, nil), f.Names).Move(t.Context(), sas.Move{Device: d, To: to, At: at}))(t)
}

// membersOf returns all memberships of a fleet.
func membersOf(t testing.TB, f *jobstest.Fleet) (all []schema.Member) {
	t.Helper()
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Fleet()), tables.Query{}) {
		all = append(all, must.Have(schema.MemberOf(e))(t))
	}
	return all
}

// outputsOf returns the outputs of a fleet, without rejects.
func outputsOf(t testing.TB, f *jobstest.Fleet) map[string]string {
	t.Helper()
	all := jobstest.WithoutHistory(f.Ends(t))
	maps.DeleteFunc(all, func(key, _ string) bool {
		return strings.HasPrefix(key, "partitions") || strings.HasPrefix(key, "rejects")
	})
	return all
}

// outputsOfNew returns the outputs of a new fleet that has the same memberships and reads a table of its own.
func outputsOfNew(t testing.TB, f *jobstest.Fleet, readings string) map[string]string {
	t.Helper()
	calm := f.World.NewFleetOf(t, readings)
	calm.Batch = f.Batch
	table := f.World.Connect(t, nil).Table(calm.Names.Fleet())
	for _, m := range membersOf(t, f) {
		m.Readings, m.Watermark = readings, 0
		must.Have(table.Do(t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
	}
	must.Succeed(t, calm.Settle(t.Context(), calm.Pipeline(t, nil)))
	return outputsOf(t, calm)
}

// TestRetentionWaitsForTheRefoldOfAFormerTenant, which finds the outputs that it has to replace by rows which are the
// new tenant's: retention deletes them only afterwards.
func TestRetentionWaitsForTheRefoldOfAFormerTenant(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f, p := fleetOfDays(t, 1, 200)
	withRecords(t, f)
	d := f.World.Devices[0]
	first := f.World.Member(d, f.Readings)
	moveAgo(t, f, d, "t9", 15)
	copied := f.Readings + "copy"
	f.World.Insert(t, copied, func(int) bool { return true })
	want := outputsOfNew(t, f, copied)

	later := *f // the pipeline comes to the new tenant first
	later.Batch.First = schema.Member{Month: jobstest.Month, Tenant: "t9", Device: d}.Place()
	must.Succeed(t, later.Settle(t.Context(), p))
	r := retaining(t, f, nil, p)
	r.Retention.Keep = []retain.Keep{{Match: fold.Match{Tenant: []string{"t9"}}, Readings: 9 * days}}
	all := rowsOf(t, f, d)
	moves := func() (n int) { // memberships whose rows are explained to stay for the move
		for e, err := range r.Retained(t.Context(), f.Batch) {
			must.Succeed(t, err)
			if e.Wait.Cause == retain.CauseMove {
				n++
				if e.Member.Tenant != "t9" || e.Rows > 0 || !strings.Contains(e.Wait.Reason, "tenant "+string(first.Tenant)) {
					t.Errorf("%d rows of tenant %s go, and others stay as %s", e.Rows, e.Member.Tenant, e.Wait.Reason)
				}
			}
		}
		return n
	}
	if n := moves(); n != 1 {
		t.Errorf("%d memberships wait for the move, want 1", n)
	}
	must.Succeed(t, f.Drain(t.Context(), r))
	if got := rowsOf(t, f, d); !slices.Equal(got, all) {
		t.Errorf("%d rows of %d are left that the former tenant's refold needs", len(got), len(all))
	}
	must.Succeed(t, f.Settle(t.Context(), p))
	if n := moves(); n != 0 {
		t.Errorf("%d memberships wait for a move that every pipeline has folded", n)
	}
	must.Succeed(t, f.Drain(t.Context(), r))
	jobstest.SameEnds(t, outputsOf(t, f), want, "after retention")
	moved := tables.TicksOf(time.Now().Add(-15 * days)).String()
	kept := slices.DeleteFunc(all, func(key string) bool { return key >= moved && key < nineDaysAgo() })
	if got := rowsOf(t, f, d); !slices.Equal(got, kept) {
		t.Errorf("afterwards %d rows are left, want %d", len(got), len(kept))
	}
}

// TestADeviceThatMovesAndFallsSilentKeepsNoRows: the new membership never has a row, and is heeded all the same.
func TestADeviceThatMovesAndFallsSilentKeepsNoRows(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f, p := fleetOfDays(t, 1, 200)
	withRecords(t, f)
	d := f.World.Devices[0]
	must.Have(sas.NewRegistry(f.World.Connect(t, nil), f.Names).Move(t.Context(), sas.Move{Device: d, To: "t9"}))(t)
	must.Succeed(t, f.Settle(t.Context(), p))
	r := retaining(t, f, nil, p)
	r.Retention.Keep = []retain.Keep{{Readings: 9 * days}}
	for e, err := range r.Retained(t.Context(), f.Batch) {
		must.Succeed(t, err)
		if e.Wait.Cause == retain.CauseMove {
			t.Errorf("tenant %s keeps rows: %s", e.Member.Tenant, e.Wait.Reason)
		}
	}
	kept := slices.DeleteFunc(rowsOf(t, f, d), func(key string) bool { return key < nineDaysAgo() })
	must.Succeed(t, f.Drain(t.Context(), r))
	if got := rowsOf(t, f, d); len(kept) == 0 || !slices.Equal(got, kept) {
		t.Errorf("%d rows are left, want %d", len(got), len(kept))
	}
}
