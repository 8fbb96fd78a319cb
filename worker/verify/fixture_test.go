package verify_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/rate"
	"furrow/jobs/report"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/verify"
)

// A fixture is a fleet whose readings real jobs have folded. Storage has accepted each of them before its own time, as
// its clock shows a later hour afterwards: none can be late.
type fixture struct {
	*jobstest.Fleet
	t       *testing.T
	config  verify.Config
	sensors fold.Sensors
	first   tables.Ticks // of the readings: the start of an hour
	ahead   time.Duration
}

// rowsOfDevice is how many readings a device has, a minute apart.
const rowsOfDevice = 130

func newFixture(t *testing.T, sensors fold.Sensors, rows func(d, n int) []tables.Property) *fixture {
	t.Helper()
	w := jobstest.NewWorldSince(t, time.Hour, 2, 0)
	w.Create(t, w.Readings)
	f := &fixture{Fleet: w.NewFleet(t), t: t, sensors: sensors, ahead: 5 * time.Hour}
	f.first = tables.TicksOf(time.Now()).Ceil(tables.Hour)
	if day := f.first.Ceil(tables.Day); day > f.first && day < f.first+4*tables.Hour {
		f.first = day // its hours are of one day
		f.ahead += 4 * time.Hour
	}
	var all []tables.Entity
	for d, id := range w.Devices {
		for n := range rowsOfDevice {
			e := tables.Entity{PartitionKey: string(id), RowKey: f.at(n).String()}
			e.Properties = rows(d, n)
			all = append(all, e)
		}
	}
	jobstest.Insert(t, f.client().Table(f.Readings), all...)
	f.config = f.verification()
	must.Succeed(t, f.Drain(t.Context(), f.pipeline()))
	jobstest.Work(t, f.pipeline(), f.month())
	return f
}

// plain are the readings of most tests.
func plain(d, n int) []tables.Property {
	all := []tables.Property{{Name: "t", Value: tables.Double(20 + float64(d) + float64(n)/7)},
		{Name: "door", Value: tables.String([]string{"open", "shut"}[n/50%2])}}
	if n%3 == 0 {
		all = append(all, tables.Property{Name: "air", Value: tables.String(fmt.Sprintf(`{"co2":%d,"p":[1.5,%d]}`, 400+n, n))})
	}
	if n == 17 {
		all = append(all, tables.Property{Name: "bad", Value: tables.String("nan")})
	}
	return all
}

func (f *fixture) at(n int) tables.Ticks {
	return f.first.Add(time.Duration(n)*time.Minute + 7*time.Second)
}

func (f *fixture) client() *tables.Client { return f.World.Connect(f.t, nil) }

// later returns a client to which storage says a later time.
func (f *fixture) later() *tables.Client { return f.World.Connect(f.t, f.laterBy()) }

func (f *fixture) laterBy() faults.Func {
	return func(r *http.Request) (*http.Response, error) {
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			answer.Header.Set("Date", time.Now().Add(f.ahead).UTC().Format(http.TimeFormat))
		}
		return answer, err
	}
}

// month returns the message of a run.
func (f *fixture) month() jobs.Message {
	return jobs.Message{Kind: jobs.Month, Pipeline: "live", Month: jobstest.Month,
		Run: tables.TicksOf(time.Now().Add(f.ahead))}
}

func reportedBy() []schema.By { return []schema.By{schema.ByTenant} }

func reportedWindows() []schema.Window { return []schema.Window{schema.Hour, schema.Daily} }

func (f *fixture) pipeline() *jobs.Pipeline {
	p := f.Pipeline(f.t, nil)
	p.Client, p.Sensors, p.Settings = f.later(), f.sensors, "one"
	p.Clock = func() time.Time { return time.Now().Add(f.ahead) }
	setup := fold.Setup{Sensors: f.sensors, Reported: reportedWindows()}
	p.Processors = []fold.Configured{
		must.Have(latest.Processor.With(latest.Processor.New(), setup))(f.t),
		must.Have(rollup.Processor.With(rollup.Processor.New(), setup))(f.t),
		must.Have(rate.Processor.With(rate.Processor.New(), setup))(f.t)}
	p.Groups = map[schema.MarkKind]groups.Grouping{schema.ReportMark: &report.Reports{Client: p.Client, Names: f.Names,
		Windows: reportedWindows(), By: reportedBy()}}
	return p
}

func (f *fixture) verification() verify.Config {
	return verify.Config{Client: f.later(), Names: f.Names, Values: true,
		Model: func(schema.Member) *verify.Model { return &verify.Model{} },
		Pipelines: []verify.Pipeline{{Name: "live", Settle: 10 * time.Second,
			Settings: func(schema.Member) string { return "one" }, Outputs: []verify.Output{verify.Latest{},
				verify.Rollup{Windows: []schema.Window{schema.Minute, schema.Hour, schema.Daily},
					Reported: reportedWindows(), By: reportedBy()}, verify.Rates{Over: time.Hour}}}},
		From: f.first.Floor(tables.Day) - tables.Day, To: f.first.Floor(tables.Day) + 2*tables.Day}
}

// found verifies all devices.
func (f *fixture) found() (all []verify.Difference, sum verify.Totals) {
	f.t.Helper()
	for d, err := range f.config.Run(f.t.Context()) {
		must.Succeed(f.t, err)
		sum.Add(&d)
		all = append(all, d.Differences...)
	}
	return all, sum
}

// edit changes a row of storage behind the jobs' backs.
func (f *fixture) edit(table, partition, row string, change func(*tables.Entity)) {
	f.t.Helper()
	t := f.client().Table(table)
	e := must.Have(t.Get(f.t.Context(), partition, row))(f.t)
	change(&e)
	must.Have(t.Do(f.t.Context(), tables.Replace(e, tables.AnyETag)))(f.t)
}

func (f *fixture) remove(table, partition, row string) {
	f.t.Helper()
	must.Have(f.client().Table(table).Do(f.t.Context(), tables.Delete(partition, row, tables.AnyETag)))(f.t)
}

func (f *fixture) put(table string, e tables.Entity) {
	f.t.Helper()
	must.Have(f.client().Table(table).Do(f.t.Context(), tables.InsertOrReplace(e)))(f.t)
}

// member returns the membership of the first device.
func (f *fixture) member() schema.Member { return f.World.Member(f.World.Devices[0], f.Readings) }

// bucket returns the keys of a bucket of the first device.
func (f *fixture) bucket(w schema.Window, n int) (partition, row string) {
	m, start := f.member(), w.Start(f.at(n))
	return schema.RollupPartition{Tenant: m.Tenant, Window: w, Day: schema.DayOf(start), Month: m.Month}.String(),
		schema.RollupRow{Device: m.Device, Bucket: start}.String()
}

func (f *fixture) latestKey() (partition, row string) {
	m := f.member()
	return schema.LatestPartition{Tenant: m.Tenant, Month: m.Month}.String(), string(m.Device)
}

// track changes the tracking row of the first device.
func (f *fixture) track(change func(*tables.Entity)) {
	f.t.Helper()
	m := f.member()
	f.edit(f.Names.Partitions("live"), m.Month.String(), string(m.Key()), change)
}

// unexplained are the differences that nothing explains.
func unexplained(all []verify.Difference) []verify.Difference {
	return slices.DeleteFunc(slices.Clone(all), verify.Difference.Explained)
}

func text(all []verify.Difference) (s string) {
	slices.SortFunc(all, func(a, b verify.Difference) int { return cmp.Compare(a.Output, b.Output) })
	for _, d := range all {
		s += fmt.Sprintln("\t", d)
	}
	return s
}
