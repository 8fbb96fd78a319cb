// Package modeltest has a fleet that is small and real, for tests of what shows one:
// its devices have written readings, a pipeline has folded them, and every request
// that reads it is counted.
package modeltest

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/latest"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/schema"
	"furrow/worker"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A Yard is where the fleet is.
type Yard struct {
	Account  tables.Account
	Names    schema.Names
	Client   *tables.Client // writes; its requests are not counted
	Pipeline *jobs.Pipeline // live: latest, and rollups of the minute, the hour and the day
	Devices  []schema.Device
	Held     int64 // devices of each month, as the figures of the next runs say

	requests atomic.Int64
	away     atomic.Bool
	shared   bool // others use the account, too
}

// New is a yard without devices.
func New(t testing.TB, in azuretest.Account) *Yard {
	t.Helper()
	y := &Yard{shared: in.Kind != azuretest.Embedded}
	var err error
	y.Account, err = tables.ParseAccount(in.ConnectionString())
	must(t, err)
	y.Names, err = schema.ParseNames(azuretest.Name("v")[:12])
	must(t, err)
	y.Client, err = tables.Connect(tables.Config{Account: y.Account})
	must(t, err)
	fold, err := rollup.New(rollup.Config{})
	must(t, err)
	y.Pipeline = &jobs.Pipeline{Name: "live", Client: y.Client, Names: y.Names, Settings: "s",
		Processors: []jobs.Processor{{Name: "latest", Fold: latest.Fold{}}, {Name: "rollup", Fold: fold}}}
	for _, name := range y.Names.Tables("live") {
		table := y.Client.Table(name)
		must(t, table.Create(t.Context()))
		if y.shared {
			t.Cleanup(func() { _ = table.Delete(context.WithoutCancel(t.Context())) })
		}
	}
	queue := y.queues(t, nil, nil).Queue(y.Names, "live")
	must(t, queue.Create(t.Context()))
	return y
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Readers are clients whose requests are counted, and fail while the yard is away.
func (y *Yard) Readers(t testing.TB, on func(context.Context, tables.Operation), onQueue func(context.Context, worker.Operation)) (*tables.Client, *worker.Client) {
	t.Helper()
	transport := &faults.Transport{Plan: plan{y}}
	client, err := tables.Connect(tables.Config{Account: y.Account, Transport: counted{y, transport}, OnOperation: on, Retry: policy.RetryOptions{MaxRetries: -1}})
	must(t, err)
	return client, y.queues(t, counted{y, transport}, onQueue)
}

func (y *Yard) queues(t testing.TB, transport policy.Transporter, on func(context.Context, worker.Operation)) *worker.Client {
	t.Helper()
	client, err := worker.Connect(worker.Config{Account: y.Account, Transport: transport, OnOperation: on, Retry: policy.RetryOptions{MaxRetries: -1}})
	must(t, err)
	return client
}

// Away has storage refuse all that readers ask, or answer again.
func (y *Yard) Away(away bool) { y.away.Store(away) }

// Requests are how many there were of readers since it was last called.
func (y *Yard) Requests() int { return int(y.requests.Swap(0)) }

type plan struct{ y *Yard }

func (p plan) Fault(int) faults.Fault {
	if p.y.away.Load() {
		return faults.ServerBusy
	}
	return faults.None
}

type counted struct {
	y    *Yard
	next policy.Transporter
}

func (c counted) Do(r *http.Request) (*http.Response, error) {
	c.y.requests.Add(1)
	return c.next.Do(r)
}

// Add adds devices, of what is zero in d as many different ones as there may be.
func (y *Yard) Add(t testing.TB, devices ...schema.Device) {
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
		d.Readings = y.Names.Readings()
		record, err := d.Entity()
		must(t, err)
		member, err := d.Member().Entity()
		must(t, err)
		y.Write(t, y.Names.Devices(), record)
		y.Write(t, y.Names.Fleet(), member)
		y.Devices = append(y.Devices, d)
	}
}

// Write puts an entity into a table, whatever was there.
func (y *Yard) Write(t testing.TB, table string, e tables.Entity) {
	t.Helper()
	_, err := y.Client.Table(table).Do(t.Context(), tables.InsertOrReplace(e))
	must(t, err)
}

// Send writes a reading of a device.
func (y *Yard) Send(t testing.TB, device schema.DeviceID, at time.Time, values map[string]any) {
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
	y.Write(t, y.Names.Readings(), e)
}

// Fold folds what was written until ten seconds ago, and says so in the figures of a
// run.
func (y *Yard) Fold(t testing.TB) {
	t.Helper()
	byMonth := map[schema.Month][]schema.DeviceID{}
	for _, d := range y.Devices {
		byMonth[d.Month] = append(byMonth[d.Month], d.ID)
	}
	slot := tables.TicksOf(time.Now().Add(-time.Second))
	figures := schema.WorkerFigures{Pipeline: "live", Slot: slot, Worker: "tester", First: slot, Jobs: map[string]int64{"master done": 1, "month done": int64(len(byMonth))},
		Operations: map[string]int64{"tables query": 10, "queues put": 1}, Months: int64(len(byMonth))}
	for month, ids := range byMonth {
		slices.Sort(ids)
		m := schema.MonthFigures{Pipeline: "live", Slot: slot, Month: month, Devices: int64(len(ids)), Held: y.Held}
		for batch := range slices.Chunk(ids, 50) {
			r, err := y.Pipeline.Run(t.Context(), jobs.Batch{Month: month, First: batch[0], Last: batch[len(batch)-1]})
			must(t, err)
			figures.Rows += int64(r.Rows)
			figures.Devices += int64(r.Devices)
			figures.Jobs["device done"]++
			m.Batches++
			m.Rows += int64(r.Rows)
		}
		e, err := m.Entity()
		must(t, err)
		y.Write(t, y.Names.Runs(), e)
	}
	figures.Last = tables.TicksOf(time.Now())
	e, err := figures.Entity()
	must(t, err)
	y.Write(t, y.Names.Runs(), e)
	run, err := schema.Run{Pipeline: "live", Slot: slot, By: "tester", Enqueued: slot}.Entity()
	must(t, err)
	y.Write(t, y.Names.Runs(), run)
}

// Grow adds n devices of two tenants and three months, scattered over the world, that
// have sent a few readings in the last hours and minutes, and folds them.
func (y *Yard) Grow(t testing.TB, n int) {
	t.Helper()
	now := time.Now()
	for i := range n {
		id := schema.DeviceID(fmt.Sprintf("d%04d", i))
		y.Add(t, schema.Device{ID: id, Tenant: schema.Tenant([]string{"contoso", "fabrikam"}[i%2]), Site: schema.Site(fmt.Sprint("hall", i%5)),
			Month: schema.Month{Year: 2026, Month: time.Month(8 + i%3)}, Position: &schema.Position{Lat: 70 * math.Sin(float64(i)), Lon: 179 * math.Sin(7.3*float64(i))}})
		for _, ago := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Minute, time.Minute} {
			y.Send(t, id, now.Add(-ago), map[string]any{"temperature": float64(i%40) + ago.Hours(), "door": []string{"open", "shut"}[i%2]})
		}
	}
	y.Fold(t)
}
