package jobs_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// An archivedFleet has 20 days of rows of two tenants with two devices each, and retention that asks for archived days.
type archivedFleet struct {
	*jobstest.Fleet
	t        *testing.T
	pipeline *jobs.Pipeline
	has      map[schema.Tenant][]schema.Day // complete days
	asked    int
}

func newArchivedFleet(t *testing.T) *archivedFleet {
	t.Helper()
	f := &archivedFleet{t: t, has: map[schema.Tenant][]schema.Day{}}
	f.Fleet, f.pipeline = fleetOfDays(t, 4, 150)
	f.pipeline.Groups = filing(t, f.Fleet, nil).Groups
	for n := 0; n <= 20; n++ {
		for _, tenant := range []schema.Tenant{"t0", "t1"} {
			f.has[tenant] = append(f.has[tenant], dayAgo(n))
		}
	}
	return f
}

func dayAgo(n int) schema.Day { return schema.DayOf(ago(n)) }

// lacks removes a day of a tenant from the archive.
func (f *archivedFleet) lacks(tenant schema.Tenant, day schema.Day) {
	f.has[tenant] = slices.DeleteFunc(f.has[tenant], func(d schema.Day) bool { return d == day })
}

// retain deletes what is older than 9 days, and returns the first days that are left of a device
// of each tenant.
func (f *archivedFleet) retain(archive time.Duration) (first [2]schema.Day) {
	f.t.Helper()
	r := retaining(f.t, f.Fleet, nil, f.pipeline)
	r.Retention.Keep[0].Archive = archive
	r.Retention.Archived = func(_ context.Context, m schema.Month, of schema.Tenant, day schema.Day) (bool, error) {
		f.asked++
		return m == jobstest.Month && slices.Contains(f.has[of], day), nil
	}
	must.Succeed(f.t, f.Drain(f.t.Context(), r))
	for i := range first {
		d := f.World.Devices[3*i]
		first[i] = schema.DayOf(tables.TicksBefore(rowsOf(f.t, f.Fleet, d)[0]))
	}
	return first
}

// mark leaves a mark of the archive, or removes it.
func (f *archivedFleet) mark(m schema.Mark, is bool) {
	f.t.Helper()
	m.Kind = schema.ArchiveMark
	e := m.Entity()
	op := tables.InsertOrReplace(e)
	if !is {
		op = tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag)
	}
	must.Have(f.World.Connect(f.t, nil).Table(f.Names.Partitions("live")).Do(f.t.Context(), op))(f.t)
}

// TestRowsWaitForTheirDayInTheArchive of their own tenant, and those of later days with them.
func TestRowsWaitForTheirDayInTheArchive(t *testing.T) {
	t.Parallel()
	f := newArchivedFleet(t)
	f.lacks("t0", dayAgo(15))
	f.lacks("t1", dayAgo(12))
	f.lacks("t1", dayAgo(11))
	if got, want := f.retain(0), [2]schema.Day{dayAgo(15), dayAgo(12)}; got != want {
		t.Errorf("rows are left from %v on, want %v", got, want)
	}
	f.has["t0"] = append(f.has["t0"], dayAgo(15))
	f.has["t1"] = append(f.has["t1"], dayAgo(12))
	if got, want := f.retain(0), [2]schema.Day{dayAgo(9), dayAgo(11)}; got != want {
		t.Errorf("then rows are left from %v on, want %v", got, want)
	}
}

// TestRowsWaitForMarksOfTheirTenantAndDay, and for no others: the archive has to make the day again.
func TestRowsWaitForMarksOfTheirTenantAndDay(t *testing.T) {
	t.Parallel()
	f := newArchivedFleet(t)
	for _, elsewhere := range []schema.Mark{
		{Month: schema.Month{Year: 2026, Month: 11, Shard: 3}, Tenant: "t0", Name: dayAgo(19).String()},
		{Month: jobstest.Month, Tenant: "t", Name: dayAgo(19).String()},
		{Month: jobstest.Month, Tenant: "t1", Name: dayAgo(8).String()}} {
		f.mark(elsewhere, true)
	}
	whole := schema.Mark{Month: jobstest.Month, Tenant: "t0", Name: dayAgo(16).String()}
	// The file of a device has others, too.
	ofDevice := schema.Mark{Month: jobstest.Month, Tenant: "t0", Name: dayAgo(13).String() + "!contoso:d77"}
	f.mark(whole, true)
	f.mark(ofDevice, true)
	if got, want := f.retain(0), [2]schema.Day{dayAgo(16), dayAgo(9)}; got != want {
		t.Errorf("with two marks, rows are left from %v on, want %v", got, want)
	}
	f.mark(whole, false)
	if got, want := f.retain(0), [2]schema.Day{dayAgo(13), dayAgo(9)}; got != want {
		t.Errorf("with one mark, rows are left from %v on, want %v", got, want)
	}
	f.mark(ofDevice, false)
	if got, want := f.retain(0), [2]schema.Day{dayAgo(9), dayAgo(9)}; got != want {
		t.Errorf("without marks, rows are left from %v on, want %v", got, want)
	}
}

// TestRowsGoWhoseDayTheArchiveKeepsNoLonger: nothing makes such a day again.
func TestRowsGoWhoseDayTheArchiveKeepsNoLonger(t *testing.T) {
	t.Parallel()
	f := newArchivedFleet(t)
	for n := 9; n <= 20; n++ {
		f.lacks("t0", dayAgo(n))
	}
	first := f.retain(14 * days)
	if first[0] < dayAgo(15) || first[0] > dayAgo(13) || first[1] != dayAgo(9) {
		t.Errorf("rows are left from %v on", first)
	}
}

// TestUnreadableRowsDoNotWaitForTheArchive, which never has them: no file is made of a day that has nothing else.
func TestUnreadableRowsDoNotWaitForTheArchive(t *testing.T) {
	t.Parallel()
	f := newArchivedFleet(t)
	table := f.World.Connect(t, nil).Table(f.Readings)
	day := dayAgo(14)
	for _, key := range rowsOf(t, f.Fleet, f.World.Devices[0]) {
		if schema.DayOf(tables.TicksBefore(key)) == day {
			must.Have(table.Do(t.Context(), tables.Delete(string(f.World.Devices[0]), key, tables.AnyETag)))(t)
		}
	}
	for n := range 5 {
		e := tables.Entity{PartitionKey: string(f.World.Devices[0]), RowKey: (day.Start() + tables.Ticks(n)).String() + "x"}
		e.Set("temperature", tables.Double(1))
		jobstest.Insert(t, table, e)
	}
	must.Succeed(t, f.Settle(t.Context(), f.pipeline))
	f.lacks("t0", day)
	if got, want := f.retain(0), [2]schema.Day{dayAgo(9), dayAgo(9)}; got != want {
		t.Errorf("rows are left from %v on, want %v", got, want)
	}
}

// TestADayIsAskedForOnce however many devices have rows of it, and not at all where nothing goes.
func TestADayIsAskedForOnce(t *testing.T) {
	t.Parallel()
	f := newArchivedFleet(t)
	f.retain(0)
	if f.asked > 12*2 || f.asked < 11*2 {
		t.Errorf("the archive was asked %d times for 11 or 12 days of two tenants", f.asked)
	}
	f.asked = 0
	f.retain(0)
	if f.asked > 0 {
		t.Errorf("afterwards it was asked %d times", f.asked)
	}
}
