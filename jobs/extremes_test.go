package jobs_test

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
)

var far = flag.Int("jobs.far", 20_000, "how many rows the device of TestDeviceFarBehindTakesLittleMemory is behind")

// seedDevice gives the first device of a world of one rows of its own making.
func seedDevice(t *testing.T, rows int, row func(n int) tables.Entity) *jobstest.Fleet {
	t.Helper()
	w := jobstest.NewWorld(t, 1, 1)
	table := w.Connect(t, nil).Table("own")
	jobstest.Must(t, table.Create(t.Context()))
	for n := 0; n < rows; {
		var ops []tables.Op
		for ; n < rows && len(ops) < 1000; n++ {
			e := row(n)
			e.PartitionKey = string(w.Devices[0])
			ops = append(ops, tables.Insert(e))
		}
		groups, err := tables.Cut(ops)
		jobstest.Must(t, err)
		for _, g := range groups {
			_, err := table.Submit(t.Context(), g)
			jobstest.Must(t, err)
		}
	}
	return w.NewFleetOf(t, "own")
}

func TestDeviceFarBehindTakesLittleMemory(t *testing.T) {
	start := tables.TicksOf(time.Now().Add(-time.Duration(*far+60) * time.Second))
	f := seedDevice(t, *far, func(n int) tables.Entity {
		e := tables.Entity{RowKey: start.Add(time.Duration(n) * time.Second).String()}
		e.Set("temperature", tables.Double(float64(n%40)))
		e.Set("battery", tables.Double(3.3))
		return e
	})
	var peak atomic.Uint64
	stop := watchHeap(&peak)
	p := f.Pipeline(t, nil)
	began := time.Now()
	l := &jobstest.Line{Queue: []jobs.Message{f.Message()}, Delays: []time.Duration{0}}
	n := l.Work(t, p)
	took := time.Since(began)
	close(stop)
	track := f.Track(t, f.World.Devices[0])
	if got := track.Get("Rows").Int(); got != int64(*far) {
		t.Errorf("%d rows of %d", got, *far)
	}
	t.Logf("%d rows in %d jobs and %v (%.0f a second), at most %d MiB of heap, storage included", *far, n, took,
		float64(*far)/took.Seconds(), peak.Load()>>20)
	if peak.Load() > 300<<20 {
		t.Errorf("%d MiB of heap", peak.Load()>>20)
	}
}

// watchHeap keeps the largest heap that it sees until stop is closed.
func watchHeap(peak *atomic.Uint64) (stop chan struct{}) {
	stop = make(chan struct{})
	go func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return stop
}

func TestDeviceWhoseEveryRowIsMalformedGoesOn(t *testing.T) {
	at := tables.TicksOf(time.Now().Add(-time.Hour))
	f := seedDevice(t, 3000, func(n int) tables.Entity {
		e := tables.Entity{RowKey: at.Add(time.Duration(n)*time.Millisecond).String() + "x"}
		e.Set("temperature", tables.Double(1))
		return e
	})
	r, err := f.Pipeline(t, nil).Run(t.Context(), f.Batch)
	if err != nil || r.Rows != 3000 || len(r.Failed) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	track := f.Track(t, f.World.Devices[0])
	if track.Get("Rejects").Int() != 3000 {
		t.Errorf("%d rejects are counted", track.Get("Rejects").Int())
	}
	kept := 0
	for key := range f.Ends(t) {
		if strings.HasPrefix(key, "rejects/") {
			kept++
		}
	}
	if kept == 0 || kept > 100 {
		t.Errorf("%d rejects of one job are kept", kept)
	}
}

// sensors are the members of a JSON object: storage takes no more than 252
// properties of a row, but a nested object may have any number.
func sensors(n int) (members []string) {
	for i := range n {
		members = append(members, fmt.Sprintf(`"s%d":%d`, i, i))
	}
	return members
}

func TestRowOfAMebibyteAndOneOf300Sensors(t *testing.T) {
	at := tables.TicksOf(time.Now().Add(-time.Hour))
	f := seedDevice(t, 5, func(n int) tables.Entity {
		e := tables.Entity{RowKey: at.Add(time.Duration(n) * time.Second).String()}
		switch n {
		case 1, 3:
			for i := range 16 {
				e.Set(fmt.Sprint("blob", i), tables.String(strings.Repeat("x", 31<<10)))
			}
		case 2:
			e.Set("many", tables.String("{"+strings.Join(sensors(300), ",")+"}"))
		}
		e.Set("temperature", tables.Double(float64(n)))
		return e
	})
	r, err := f.Pipeline(t, nil).Run(t.Context(), f.Batch)
	if err != nil || r.Rows != 5 || len(r.Failed) != 0 || r.Refused == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	day := ""
	for key, row := range f.Ends(t) {
		if strings.HasPrefix(key, "rollups/t0!1d") {
			day += row
		}
	}
	if !strings.Contains(day, " temperature=[5,10,") || !strings.Contains(day, " many_s0=[1,0,") ||
		!strings.Contains(day, " many_s299=[1,299,") {
		t.Errorf("the day does not have the values of all rows: %.200s", day)
	}
}

// TestJobReadsFewBytesOfADevice: the neighbours of a device whose rows are as large as
// storage takes them must not wait for 5,000 of these.
func TestJobReadsFewBytesOfADevice(t *testing.T) {
	const rows = 30
	at := tables.TicksOf(time.Now().Add(-time.Hour))
	text := strings.Repeat("x", 32<<10)
	f := seedDevice(t, rows, func(n int) tables.Entity {
		e := tables.Entity{RowKey: at.Add(time.Duration(n) * time.Second).String()}
		for i := range 15 {
			e.Set(fmt.Sprint("p", i), tables.String(text))
		}
		return e
	})
	l := &jobstest.Line{Queue: []jobs.Message{f.Message()}, Delays: []time.Duration{0}}
	if n := l.Work(t, f.Pipeline(t, nil)); n < 3 {
		t.Errorf("%d rows of almost 1 MiB were folded in %d jobs", rows, n)
	}
	track := f.Track(t, f.World.Devices[0])
	if got := track.Get("Rows").Int(); got != rows {
		t.Errorf("%d rows of %d are folded", got, rows)
	}
}
