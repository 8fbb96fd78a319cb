// Package modeltest provides a small fleet in storage for tests of the dashboard: its devices have written
// readings, a pipeline has folded them, and every request that reads them is counted.
package modeltest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/jobs/latest"
	"furrow/jobs/processors"
	"furrow/jobs/report"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A Fixture is a fleet.
type Fixture struct {
	Account  tables.Account
	Names    schema.Names
	Client   *tables.Client // writes; its requests are not counted
	Pipeline *jobs.Pipeline // live: latest, rollups of minutes, hours and days, and reports of the latter two
	Devices  []schema.Device
	Held     int64 // held devices of each month in the figures of the next runs

	// Refuses says which requests of readers fail; nil: none. It is set before there are any.
	Refuses func(*http.Request) bool

	requests atomic.Int64
	failing  atomic.Bool
}

func New(t testing.TB, in azuretest.Account) *Fixture {
	t.Helper()
	f := &Fixture{}
	var err error
	f.Account, err = tables.ParseAccount(in.ConnectionString())
	must.Succeed(t, err)
	f.Names, err = schema.ParseNames(azuretest.Name("v")[:12])
	must.Succeed(t, err)
	f.Client, err = tables.Connect(tables.Config{Account: f.Account})
	must.Succeed(t, err)
	reported := []schema.Window{schema.Hour, schema.Daily}
	rollups := must.Have(rollup.Processor.With(rollup.Processor.New(), fold.Setup{Reported: reported}))(t)
	f.Pipeline = &jobs.Pipeline{Name: "live", Client: f.Client, Names: f.Names, Settings: "s",
		Processors: []fold.Configured{latest.Processor.Default(), rollups},
		Groups: map[schema.MarkKind]groups.Grouping{schema.ReportMark: &report.Reports{Client: f.Client, Names: f.Names,
			Windows: reported, By: []schema.By{schema.ByTenant, schema.BySite, schema.ByLabel("floor")}}}}
	for _, name := range processors.Tables(f.Names, "live") {
		table := f.Client.Table(name)
		must.Succeed(t, table.Create(t.Context()))
		if in.Kind != azuretest.Embedded {
			t.Cleanup(func() { _ = table.Delete(context.WithoutCancel(t.Context())) })
		}
	}
	must.Succeed(t, f.queues(t, nil, nil).Queue(f.Names, "live").Create(t.Context()))
	return f
}

// Readers returns clients whose requests are counted, and which fail after Fail(true).
func (f *Fixture) Readers(
	t testing.TB, on func(context.Context, tables.Operation), onQueue func(context.Context, worker.Operation),
) (*tables.Client, *worker.Client) {
	t.Helper()
	transport := counter{f, &faults.Transport{Plan: outage{f}}}
	client, err := tables.Connect(tables.Config{Account: f.Account, Transport: transport, OnOperation: on,
		Retry: policy.RetryOptions{MaxRetries: -1}})
	must.Succeed(t, err)
	return client, f.queues(t, transport, onQueue)
}

func (f *Fixture) queues(
	t testing.TB, transport policy.Transporter, on func(context.Context, worker.Operation),
) *worker.Client {
	t.Helper()
	client, err := worker.Connect(worker.Config{Account: f.Account, Transport: transport, OnOperation: on,
		Retry: policy.RetryOptions{MaxRetries: -1}})
	must.Succeed(t, err)
	return client
}

// Fail makes storage refuse all requests of readers, or serve them again.
func (f *Fixture) Fail(failing bool) { f.failing.Store(failing) }

// Requests returns the number of requests of readers since the last call.
func (f *Fixture) Requests() int { return int(f.requests.Swap(0)) }

type outage struct{ f *Fixture }

func (o outage) Fault(int) faults.Fault {
	if o.f.failing.Load() {
		return faults.ServerBusy
	}
	return faults.None
}

type counter struct {
	f    *Fixture
	next policy.Transporter
}

func (c counter) Do(r *http.Request) (*http.Response, error) {
	c.f.requests.Add(1)
	if c.f.Refuses != nil && c.f.Refuses(r) {
		return nil, errors.New("the request is refused")
	}
	return c.next.Do(r)
}

// Add adds devices. A tenant, month or status that is not given has a default.
func (f *Fixture) Add(t testing.TB, devices ...schema.Device) {
	t.Helper()
	for _, d := range devices {
		if d.Tenant == "" {
			d.Tenant = "contoso"
		}
		if d.Month.Year == 0 {
			d.Month = schema.Month{Year: 2026, Month: 10}
		}
		if d.Status == "" {
			d.Status = schema.Active
		}
		d.Readings = f.Names.Readings()
		record, err := d.Entity()
		must.Succeed(t, err)
		member, err := d.Member().Entity()
		must.Succeed(t, err)
		f.Write(t, f.Names.Devices(), record)
		f.Write(t, f.Names.Fleet(), member)
		f.Devices = append(f.Devices, d)
	}
}

func (f *Fixture) Write(t testing.TB, table string, e tables.Entity) {
	t.Helper()
	_, err := f.Client.Table(table).Do(t.Context(), tables.InsertOrReplace(e))
	must.Succeed(t, err)
}

// Send writes a reading of a device: numbers and texts by sensor.
func (f *Fixture) Send(t testing.TB, device schema.DeviceID, at time.Time, values map[string]any) {
	t.Helper()
	e := tables.Entity{PartitionKey: string(device), RowKey: tables.TicksOf(at).String()}
	for name, v := range values {
		switch v := v.(type) {
		case float64:
			e.Set(name, tables.Double(v))
		case string:
			e.Set(name, tables.String(v))
		default:
			t.Fatalf("%s is a %T", name, v)
		}
	}
	f.Write(t, f.Names.Readings(), e)
}

// Fold folds what was written until ten seconds ago, and writes the figures of a run.
func (f *Fixture) Fold(t testing.TB) {
	t.Helper()
	byMonth := map[schema.Month][]schema.Place{}
	for _, d := range f.Devices {
		byMonth[d.Month] = append(byMonth[d.Month], d.Member().Place())
	}
	slot := tables.TicksOf(time.Now().Add(-time.Second))
	figures := schema.WorkerFigures{Pipeline: "live", Slot: slot, Worker: "tester", First: slot,
		Months:     int64(len(byMonth)),
		Jobs:       map[string]int64{"master done": 1, "month done": int64(len(byMonth))},
		Operations: map[string]int64{"tables query": 10, "queues put": 1}}
	for month, ids := range byMonth {
		slices.SortFunc(ids, schema.Place.Compare)
		m := schema.MonthFigures{Pipeline: "live", Slot: slot, Month: month, Devices: int64(len(ids)), Held: f.Held}
		for batch := range slices.Chunk(ids, 50) {
			r, err := f.Pipeline.Run(t.Context(), jobs.Batch{First: batch[0], Last: batch[len(batch)-1]})
			must.Succeed(t, err)
			figures.Rows += int64(r.Rows)
			figures.Devices += int64(r.Devices)
			figures.Jobs["device done"]++
			m.Batches++
			m.Rows += int64(r.Rows)
		}
		e, err := m.Entity()
		must.Succeed(t, err)
		f.Write(t, f.Names.Runs(), e)
	}
	figures.Last = tables.TicksOf(time.Now())
	e, err := figures.Entity()
	must.Succeed(t, err)
	f.Write(t, f.Names.Runs(), e)
	run, err := schema.Run{Pipeline: "live", Slot: slot, By: "tester", Enqueued: slot}.Entity()
	must.Succeed(t, err)
	f.Write(t, f.Names.Runs(), run)
}

// A line has messages that are not done yet.
type line []jobs.Message

// Put adds a message.
func (l *line) Put(_ context.Context, m jobs.Message, _ time.Duration) error {
	*l = append(*l, m)
	return nil
}

// Report makes the reports of what was folded.
func (f *Fixture) Report(t testing.TB) {
	t.Helper()
	months := map[schema.Month]bool{}
	var l line
	for _, d := range f.Devices {
		if !months[d.Month] {
			months[d.Month] = true
			must.Succeed(t, l.Put(t.Context(), jobs.Message{Kind: jobs.Month, Pipeline: "live", Run: 1, Month: d.Month}, 0))
		}
	}
	for ; len(l) > 0; l = l[1:] {
		if l[0].Kind != jobs.Device {
			must.Have(f.Pipeline.Do(t.Context(), l[0], &l, func(context.Context, jobs.Message) error { return nil }))(t)
		}
	}
}

// Grow adds n devices of two tenants and three months, all over the world, with readings of the last hours
// and minutes, and folds these.
func (f *Fixture) Grow(t testing.TB, n int) {
	t.Helper()
	now := time.Now()
	for i := range n {
		id := schema.DeviceID(fmt.Sprintf("d%04d", i))
		f.Add(t, schema.Device{ID: id, Tenant: schema.Tenant([]string{"contoso", "fabrikam"}[i%2]),
			Site:     schema.Site(fmt.Sprint("hall", i%5)),
			Month:    schema.Month{Year: 2026, Month: time.Month(8 + i%3)},
			Position: &schema.Position{Lat: 70 * math.Sin(float64(i)), Lon: 179 * math.Sin(7.3*float64(i))}})
		for _, ago := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Minute, time.Minute} {
			f.Send(t, id, now.Add(-ago), map[string]any{"temperature": float64(i%40) + ago.Hours(),
				"door": []string{"open", "shut"}[i%2]})
		}
	}
	f.Fold(t)
	f.Report(t)
}
