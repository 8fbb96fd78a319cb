package jobs_test

import (
	"fmt"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
)

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
		r, err := f.pipeline.Do(b.Context(), m, queue, saveInto(&m))
		jobstest.Must(b, err)
		if len(r.Failed) > 0 {
			b.Fatal(r.Failed)
		}
		devices += r.Devices
	}
	return devices, messages
}
