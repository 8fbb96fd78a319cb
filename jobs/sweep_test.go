package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/jobs/report"
	"furrow/jobs/retain"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

const days = 24 * time.Hour

// ago returns the start of the day so many days ago.
func ago(n int) tables.Ticks {
	return schema.DayOf(tables.TicksOf(time.Now().Add(-time.Duration(n) * days))).Start()
}

// TestBucketsThatAWrongClockMadeAgainAreSwept: a rewind reaches days that retention has swept, while storage's clock is
// a year behind, so that they look as if they were kept.
func TestBucketsThatAWrongClockMadeAgainAreSwept(t *testing.T) {
	t.Parallel()
	f, p := fleetOfDays(t, 1, 200)
	keep := []retain.Keep{{Rollups: map[schema.Window]time.Duration{schema.Minute: 9 * days, schema.Hour: 9 * days,
		schema.Daily: 9 * days}}}
	r := retaining(t, f, nil, p)
	r.Retention.Keep, p.Keep = keep, keep
	old := func() (n int) {
		for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Output("rollups")), tables.Query{}) {
			part, err := schema.ParseRollupPartition(e.PartitionKey)
			if err == nil && part.Day.Start() < ago(10) {
				n++
			}
		}
		return n
	}
	must.Succeed(t, f.Drain(t.Context(), r))
	if n := old(); n > 0 {
		t.Fatalf("retention has left %d buckets that are older than ten days", n)
	}
	m := f.World.Member(f.World.Devices[0], f.Readings)
	must.Have(p.Rewind(t.Context(), m, jobs.Rewound{To: ago(19), Mark: "m", At: time.Now(), By: "t"}))(t)
	behind := f.Pipeline(t, later(-365*days))
	behind.Keep = keep
	a := f.Audit(refold.Refold)
	a.Mark = "m"
	jobstest.Work(t, behind, a)
	if old() == 0 {
		t.Fatal("the rewind has made no old buckets")
	}
	next := f.Message()
	next.Pipeline, next.Run = r.Name, next.Run.Add(29*days)
	must.Have(hence(t, f, r, 29*days).Do(t.Context(), next, jobstest.NoPut{}, nil))(t)
	if n := old(); n > 0 {
		t.Errorf("%d buckets are left that are older than ten days", n)
	}
}

// A shelf has rows of a tenant by the table and a name.
type shelf struct {
	f    *jobstest.Fleet
	rows map[string]tables.Entity // by table and name
}

// add stores rows. Those whose names begin with "old" are to go.
func (s *shelf) add(t testing.TB, table, name string, rows ...tables.Entity) {
	t.Helper()
	for i, e := range rows {
		if s.rows[fmt.Sprint(table, "/", name, i)] = e; len(e.Properties) == 0 {
			e.Set("x", tables.Int64(1))
		}
		must.Have(s.f.World.Connect(t, nil).Table(s.f.Names.Output(table)).Do(t.Context(), tables.InsertOrReplace(e)))(t)
	}
}

// left returns the names of the rows that are there.
func (s *shelf) left(t testing.TB) (names []string) {
	t.Helper()
	for name, e := range s.rows {
		table, _, _ := strings.Cut(name, "/")
		_, err := s.f.World.Connect(t, nil).Table(s.f.Names.Output(table)).Get(t.Context(), e.PartitionKey, e.RowKey)
		if err == nil {
			names = append(names, name)
		} else if !errors.Is(err, tables.ErrNotFound) {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	return names
}

// kept returns the names of the rows that are not to go.
func (s *shelf) kept() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.rows)), func(name string) bool {
		return strings.Contains(name, "/old")
	})
}

// incidentOf returns transitions of an incident, from days ago, and the other rows beside it.
func incidentOf(home schema.LatestPartition, rule string, opened int, closed ...int) (rows []tables.Entity) {
	t := schema.Transition{Home: home, ID: schema.IncidentID{Rule: schema.Rule(rule), Device: "d", First: ago(opened)},
		Number: 1, What: schema.Opened, At: ago(opened), Found: ago(opened)}
	rows = append(rows, t.Entity(), schema.DeliveryRecord{Delivery: schema.Delivery{Target: "ops", Transition: t},
		Outcome: schema.Delivered, At: ago(opened)}.Entity())
	for i, n := range closed {
		t.Number, t.What, t.At, t.Found = i+2, schema.Closed, ago(n), ago(n)
		rows = append(rows, t.Entity())
	}
	return rows
}

// fullShelf has something old and something new in each table of tenants.
func fullShelf(t *testing.T, f *jobstest.Fleet) *shelf {
	s := &shelf{f, map[string]tables.Entity{}}
	f.World.Create(t, f.Names.Output(rollup.BucketsTable), f.Names.Reports(), f.Names.Activity(),
		f.Names.Output("incidents"), f.Names.Deliveries())
	home := func(tenant schema.Tenant) schema.LatestPartition {
		return schema.LatestPartition{Tenant: tenant, Month: jobstest.Month}
	}
	for tenant, old := range map[schema.Tenant]string{"t0": "old", "gone": "old", "forever": "kept"} {
		name := func(name string) string { return fmt.Sprint(name, " of ", tenant, " ") }
		for _, n := range []int{10, 11, 12, 40, 400} {
			was := old
			if n <= 11 {
				was = "new"
			}
			at := ago(n)
			s.add(t, "buckets", name(fmt.Sprint(was, n)), tables.Entity{
				PartitionKey: schema.RollupPartition{Tenant: tenant, Window: schema.Hour, Day: schema.DayOf(at),
					Month: jobstest.Month}.String(), RowKey: schema.BucketRow{Bucket: at, Device: "d"}.String()})
			for _, w := range []schema.Window{schema.Minute, schema.Hour, schema.Daily} {
				p := schema.ReportPartition{Tenant: tenant, Window: w, Period: w.PeriodOf(at), Month: jobstest.Month}
				row := schema.ReportRow{By: schema.BySite, Group: "a!b", Bucket: at}
				head := schema.ReportHead{Partition: p, Bucket: at}
				head.Rows = []string{head.Name(row.String())}
				s.add(t, "reports", name(fmt.Sprint(was, n, w)), tables.Entity{PartitionKey: p.String(), RowKey: row.String()},
					must.Have(head.Entity())(t))
			}
			act := schema.Act{ID: "a", At: at + 1, What: "x", Tenant: tenant}
			s.add(t, "activity", name(fmt.Sprint(was, n)), must.Have(act.Entity())(t))
			given := schema.Delivery{Target: "ops", Transition: schema.Transition{Home: home(tenant), Number: 1, Found: at,
				ID: schema.IncidentID{Rule: "r", Device: "d", First: at}}}
			s.add(t, "deliveries", name(fmt.Sprint(was, n)), given.GivenUpEntity())
			s.add(t, "deliveries", name(fmt.Sprint("pending", n)), given.Entity())
		}
		s.add(t, "incidents", name(old+"closed"), incidentOf(home(tenant), "closed", 40, 39)...)
		s.add(t, "incidents", name(old+"orphan"), incidentOf(home(tenant), "orphan", 38)[1])
		s.add(t, "incidents", name("open"), incidentOf(home(tenant), "open", 40)...)
		s.add(t, "incidents", name("reopened"), incidentOf(home(tenant), "reopened", 40, 39, 38)...)
		s.add(t, "incidents", name("closed late"), incidentOf(home(tenant), "late", 40, 10)...)
		s.add(t, "incidents", name("told later"), incidentOf(home(tenant), "told", 40, 39)...)
		closing := schema.Transition{Home: home(tenant), Number: 2, Found: ago(39),
			ID: schema.IncidentID{Rule: "told", Device: "d", First: ago(40)}}
		s.add(t, "deliveries", name("closing"), schema.Delivery{Target: "ops", Transition: closing}.Entity())
		index := closing
		index.Number = 1
		s.add(t, "incidents", name("index"), index.IndexEntity())
	}
	return s
}

// sweeping returns the pipeline that deletes what is on a shelf, for a transport, and its message.
func sweeping(t testing.TB, f *jobstest.Fleet, through policy.Transporter) (*jobs.Pipeline, jobs.Message) {
	t.Helper()
	r := retaining(t, f, through)
	of := map[schema.Window]time.Duration{schema.Minute: 10 * days, schema.Hour: 10 * days, schema.Daily: 10 * days}
	r.Retention.Keep = []retain.Keep{
		{Match: fold.Match{Site: []string{"x"}}, Readings: 9 * days}, // says nothing about tenants
		{Match: fold.Match{Tenant: []string{"forever"}}},
		{Buckets: of, Reports: of, Incidents: 10 * days, Activity: 10 * days}}
	return r, jobs.Message{Kind: jobs.Master, Pipeline: r.Name, Run: tables.TicksOf(time.Now())}
}

// TestRetentionSweepsTenants: whole days go of what is old, also of tenants without devices, and nothing that is open
// or still to be sent.
func TestRetentionSweepsTenants(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := jobstest.NewWorld(t, 2, 1).NewFleet(t)
	s := fullShelf(t, f)
	for n := 0; ; n++ { // killed at each operation
		ctx, kill := context.WithCancel(t.Context())
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			kill()
			return nil, context.Canceled
		}}
		r, m := sweeping(t, f, gate)
		_, err := r.Do(ctx, m, jobstest.NoPut{}, func(context.Context, jobs.Message) error { return nil })
		kill()
		if int(gate.N.Load()) <= n {
			must.Succeed(t, err)
			t.Logf("%d operations", n)
			break
		}
		n += n / 8
	}
	if got, want := s.left(t), s.kept(); !slices.Equal(got, want) {
		t.Errorf("left are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	r, _ := sweeping(t, f, nil)
	for old, err := range r.Retainer().Outdated(t.Context(), tables.TicksOf(time.Now())) {
		if err != nil || old.Rows != 0 || old.Table != "incidents" || old.Stay == 0 || old.Wait.Cause != retain.CauseOpen {
			t.Errorf("afterwards there is %+v %v", old, err)
		}
	}
}

// TestRetentionDeletesReportsOfAJobThatDied: the head names a report that the job has not come to. The others go.
func TestRetentionDeletesReportsOfAJobThatDied(t *testing.T) {
	t.Parallel()
	f := jobstest.NewWorld(t, 1, 1).NewFleet(t)
	s := &shelf{f, map[string]tables.Entity{}}
	f.World.Create(t, f.Names.Output(rollup.BucketsTable), f.Names.Reports(), f.Names.Activity(),
		f.Names.Output("incidents"), f.Names.Deliveries())
	now := tables.TicksOf(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	old := now.Add(-20 * days).Floor(tables.Day) // in the period of the first bucket that is kept
	p := schema.ReportPartition{Tenant: "t0", Window: schema.Hour, Period: schema.Hour.PeriodOf(old),
		Month: jobstest.Month}
	head := schema.ReportHead{Partition: p, Bucket: old}
	for _, group := range []string{"a", "b"} {
		row := schema.ReportRow{By: schema.BySite, Group: group, Bucket: old}
		if head.Rows = append(head.Rows, head.Name(row.String())); group == "a" {
			s.add(t, "reports", "old", tables.Entity{PartitionKey: p.String(), RowKey: row.String()})
		}
	}
	s.add(t, "reports", "old head", must.Have(head.Entity())(t))
	r, _ := sweeping(t, f, nil)
	must.Have(r.Retainer().SweepTenants(t.Context(), now))(t)
	if left := s.left(t); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// TestNoReportIsMadeOfBucketsThatMayBeGone: it stays as it was, whatever is folded again.
func TestNoReportIsMadeOfBucketsThatMayBeGone(t *testing.T) {
	t.Parallel()
	f := jobstest.NewWorld(t, 1, 1).NewFleet(t)
	f.World.Create(t, f.Names.Output(rollup.BucketsTable), f.Names.Reports())
	client := f.World.Connect(t, nil)
	for _, kept := range []retain.Keep{
		{Buckets: map[schema.Window]time.Duration{schema.Hour: 10 * days}},
		{Reports: map[schema.Window]time.Duration{schema.Hour: 10 * days}}} {
		reports := &report.Reports{Client: client, Names: f.Names, Windows: []schema.Window{schema.Hour},
			By: []schema.By{schema.ByTenant}, Keep: []retain.Keep{kept}}
		for n, made := range map[int]bool{9: true, 11: false} {
			at := ago(n)
			row := tables.Entity{PartitionKey: schema.RollupPartition{Tenant: "t0", Window: schema.Hour,
				Day: schema.DayOf(at), Month: jobstest.Month}.String(),
				RowKey: schema.BucketRow{Bucket: at, Device: "d"}.String()}
			row.Set("n", tables.String(rollup.Timed{Aggregate: rollup.Aggregate{Count: 1}, FirstAt: at, LastAt: at}.String()))
			must.Have(client.Table(f.Names.Output(rollup.BucketsTable)).Do(t.Context(), tables.InsertOrReplace(row)))(t)
			must.Succeed(t, reports.Make(t.Context(), []schema.Mark{{Month: jobstest.Month, Kind: schema.ReportMark,
				Tenant: "t0", Name: schema.ReportedBucket{Window: schema.Hour, Start: at}.String(),
				Read: tables.TicksOf(time.Now())}}))
			_, err := client.Table(f.Names.Reports()).Get(t.Context(), schema.ReportPartition{Tenant: "t0",
				Window: schema.Hour, Period: schema.Hour.PeriodOf(at), Month: jobstest.Month}.String(), schema.ReportHeadKey(at))
			if (err == nil) != made {
				t.Errorf("%d days ago: %v", n, err)
			}
		}
		for _, e := range jobstest.Rows(t, client.Table(f.Names.Reports()), tables.Query{}) {
			must.Have(client.Table(f.Names.Reports()).Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey,
				tables.AnyETag)))(t)
		}
	}
}

// TestRetentionDeletesOldRejectsAndFinishedCommands, and keeps what is young, and what a device is to be like.
func TestRetentionDeletesOldRejectsAndFinishedCommands(t *testing.T) {
	t.Parallel()
	f := jobstest.NewWorld(t, 2, 1).NewFleet(t)
	f.World.Create(t, f.Names.Commands(), f.Names.Rejects())
	s := &shelf{f, map[string]tables.Entity{}}
	for _, device := range f.World.Devices {
		for i, n := range []int{40, 11, 9, 1} {
			name := fmt.Sprint([]string{"old", "old", "new", "new"}[i], n, " of ", device, " ")
			s.add(t, "rejects", name, must.Have(schema.Reject{Device: device, Pipeline: "live", Number: int64(i),
				At: ago(n) + 1}.Entity())(t))
			id := schema.NewCommandID(ago(n)+1, "a")
			c := schema.Command{Device: device, ID: id, Body: "1", Expires: ago(n).Add(time.Hour)}
			ack := schema.Ack{Device: device, ID: id, Row: schema.RowKey{Ticks: ago(n)}, State: schema.CommandSucceeded}
			s.add(t, "commands", name, must.Have(c.Entity())(t), ack.Entity())
		}
		desired := schema.Command{Device: device, ID: schema.NewCommandID(ago(50), "b"), Body: "1", Desired: true,
			Expires: tables.MaxTicks}
		ack := schema.Ack{Device: device, ID: desired.ID, Row: schema.RowKey{Ticks: ago(49)}, State: schema.CommandSucceeded}
		s.add(t, "commands", fmt.Sprint("desired of ", device, " "), must.Have(desired.Entity())(t), ack.Entity())
	}
	r := retaining(t, f, nil)
	r.Retention.Keep = []retain.Keep{{Rejects: 10 * days, Commands: 10 * days}}
	for range 2 {
		must.Succeed(t, f.Drain(t.Context(), r))
		if got, want := s.left(t), s.kept(); !slices.Equal(got, want) {
			t.Errorf("left are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
