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
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/processors"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
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
	account := must.Have(tables.ParseAccount(azuretest.Local(b).ConnectionString()))(b)
	f := &benchFleet{counter: &tables.Counter{}}
	f.client = must.Have(tables.Connect(tables.Config{Account: account, OnOperation: f.counter.Count,
		Retry: policy.RetryOptions{MaxRetries: -1}}))(b)
	for _, name := range processors.Tables(f.names, "live") {
		must.Succeed(b, f.client.Table(name).Create(b.Context()))
	}
	var members []tables.Entity
	for i := range devices {
		d := schema.DeviceID(fmt.Sprintf("d%06d", i))
		f.devices = append(f.devices, d)
		m := schema.Member{Month: schema.Month{Year: 2017 + i%months/12, Month: time.Month(1 + i%months%12)}, Device: d,
			Tenant: schema.Tenant(fmt.Sprint("t", i%tenants)), Readings: f.names.Readings()}
		f.places = append(f.places, m.Place())
		e := must.Have(m.Entity())(b)
		members = append(members, e)
	}
	slices.SortFunc(f.places, schema.Place.Compare)
	jobstest.Insert(b, f.client.Table(f.names.Fleet()), members...)
	f.pipeline = &jobs.Pipeline{Name: "live", Client: f.client, Names: f.names,
		Processors: []fold.Configured{latest.Processor.Default(), rollup.Processor.Default()}}
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
		must.Succeed(b, f.client.Table(f.names.Partitions("live")).Delete(b.Context()))
		must.Succeed(b, f.client.Table(f.names.Partitions("live")).Create(b.Context()))
		b.StartTimer()
		total += f.run(b, 5).Rows
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkRun does all jobs of a run and counts operations: those on tables, and three on the queue for each message
// (put, get and delete).
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct{ devices, tenants, months int }{{1000, 1, 1}, {2500, 50, 1}, {1000, 1, 120}} {
		f := newBenchFleet(b, c.devices, c.tenants, c.months)
		left := 4 * time.Hour
		row := func() { // of every device, a minute after its last one
			if left -= time.Minute; left < time.Minute {
				b.Fatal("there is no minute left: ask for fewer iterations with -benchtime")
			}
			f.add(b, 1, left)
		}
		row()
		f.whole(b)
		name := fmt.Sprintf("devices=%d/tenants=%d/months=%d/", c.devices, c.tenants, c.months)
		b.Run(name+"idle", func(b *testing.B) {
			start, looked, messages := f.operations(0), 0, 0
			for b.Loop() {
				n, m := f.whole(b)
				looked, messages = looked+n, messages+m
			}
			b.ReportMetric(float64(f.operations(start)+3*int64(messages))/float64(looked), "ops/device")
		})
		b.Run(name+"active", func(b *testing.B) {
			var counted int64
			looked, messages := 0, 0
			for b.Loop() {
				b.StopTimer()
				row()
				start := f.operations(0)
				b.StartTimer()
				n, m := f.whole(b)
				looked, messages = looked+n, messages+m
				counted += f.operations(start)
			}
			b.ReportMetric(float64(counted+3*int64(messages))/float64(looked), "ops/device")
		})
	}
}

// whole does all jobs of a run one after the other, and returns how many devices they looked at and how many messages
// there were. It skips audits, which are spread over the hours.
func (f *benchFleet) whole(b *testing.B) (devices, messages int) {
	b.Helper()
	queue := &jobstest.Line{Queue: []jobs.Message{{Kind: jobs.Master, Pipeline: "live", Run: tables.TicksOf(time.Now())}}}
	queue.Delays = []time.Duration{0}
	for len(queue.Queue) > 0 {
		m, _, _ := queue.Take()
		if m.Kind == jobs.Audit {
			continue
		}
		messages++
		r := must.Have(f.pipeline.Do(b.Context(), m, queue, saveInto(&m)))(b)
		if len(r.Failed) > 0 {
			b.Fatal(r.Failed)
		}
		devices += r.Devices
	}
	return devices, messages
}
