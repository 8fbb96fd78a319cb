package jobs_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/processors"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A benchFleet is a fleet on storage in this process, with a pipeline of latest and three rollup windows.
type benchFleet struct {
	pipeline *jobs.Pipeline
	client   *tables.Client
	counter  *tables.Counter
	names    schema.Names
	devices  []schema.DeviceID
	places   []schema.Place // of the devices, in the order of storage
}

// newBenchFleet gives the devices to so many tenants and months in turn.
func newBenchFleet(b *testing.B, devices, tenants, months int) *benchFleet {
	b.Helper()
	account, err := tables.ParseAccount(azuretest.Local(b).ConnectionString())
	jobstest.Must(b, err)
	f := &benchFleet{counter: &tables.Counter{}}
	f.client, err = tables.Connect(tables.Config{Account: account, OnOperation: f.counter.Count,
		Retry: policy.RetryOptions{MaxRetries: -1}})
	jobstest.Must(b, err)
	for _, name := range processors.Tables(f.names, "live") {
		jobstest.Must(b, f.client.Table(name).Create(b.Context()))
	}
	var members []tables.Entity
	for i := range devices {
		d := schema.DeviceID(fmt.Sprintf("d%06d", i))
		f.devices = append(f.devices, d)
		m := schema.Member{Month: schema.Month{Year: 2017 + i%months/12, Month: time.Month(1 + i%months%12)}, Device: d,
			Tenant: schema.Tenant(fmt.Sprint("t", i%tenants)), Readings: f.names.Readings()}
		f.places = append(f.places, m.Place())
		e, err := m.Entity()
		jobstest.Must(b, err)
		members = append(members, e)
	}
	slices.SortFunc(f.places, schema.Place.Compare)
	jobstest.Insert(b, f.client.Table(f.names.Fleet()), members...)
	f.pipeline = &jobs.Pipeline{Name: "live", Client: f.client, Names: f.names,
		Processors: []jobs.Configured{latest.Processor.Default(), rollup.Processor.Default()}}
	return f
}

// add gives every device rows a second apart, the last one so long ago.
func (f *benchFleet) add(b *testing.B, rows int, before time.Duration) {
	b.Helper()
	last := time.Now().Add(-before)
	var all []tables.Entity
	for _, d := range f.devices {
		for n := range rows {
			at := tables.TicksOf(last.Add(time.Duration(n-rows) * time.Second))
			e := tables.Entity{PartitionKey: string(d), RowKey: at.String()}
			e.Set("temperature", tables.Double(20+float64(n%50)/10))
			e.Set("humidity", tables.Double(40+float64(n%30)))
			e.Set("battery", tables.Double(3.3))
			all = append(all, e)
		}
	}
	jobstest.Insert(b, f.client.Table(f.names.Readings()), all...)
}

// run does one device job for each batch of the fleet, two at a time for each processor, and returns the sums.
func (f *benchFleet) run(b *testing.B, batch int) (total jobs.Result) {
	b.Helper()
	f.pipeline.Batch = batch
	var next atomic.Int64
	var mu sync.Mutex
	var running sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for {
				first := int(next.Add(int64(batch))) - batch
				if first >= len(f.devices) {
					return
				}
				last := min(first+batch, len(f.devices)) - 1
				todo := []jobs.Batch{{First: f.places[first], Last: f.places[last]}}
				for len(todo) > 0 {
					one := todo[0]
					r, err := f.pipeline.Run(b.Context(), one)
					if err != nil || len(r.Failed) > 0 {
						b.Errorf("%v %v", r.Failed, err)
						return
					}
					mu.Lock()
					total.Devices += r.Devices
					total.Rows += r.Rows
					mu.Unlock()
					todo = todo[1:]
					for _, d := range r.Behind {
						todo = append(todo, jobs.Batch{First: d, Last: d, Mark: r.Mark})
					}
					if r.Rest != (schema.Place{}) {
						todo = append(todo, jobs.Batch{First: r.Rest, Last: one.Last, Mark: one.Mark})
					}
				}
			}
		})
	}
	running.Wait()
	return total
}

// operations returns how many operations there were since the counter had a value.
func (f *benchFleet) operations(before int64) int64 {
	var sum int64
	for _, n := range f.counter.Counts() {
		sum += n
	}
	return sum - before
}

// BenchmarkFoldRows folds rows one second apart through latest and three rollup sizes, from storage to storage.
func BenchmarkFoldRows(b *testing.B) {
	const devices, rows = 20, 3600
	f := newBenchFleet(b, devices, 1, 1)
	f.add(b, rows, time.Minute)
	total := 0
	for b.Loop() {
		b.StopTimer()
		jobstest.Must(b, f.client.Table(f.names.Partitions("live")).Delete(b.Context()))
		jobstest.Must(b, f.client.Table(f.names.Partitions("live")).Create(b.Context()))
		b.StartTimer()
		total += f.run(b, 5).Rows
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "rows/s")
}
