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
	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var far = flag.Int("jobs.far", 20_000, "how many rows the device of TestDeviceFarBehindTakesLittleMemory is behind")

// seedDevice returns a fleet of one device with rows of its own.
func seedDevice(t *testing.T, rows int, row func(n int) tables.Entity) *jobstest.Fleet {
	t.Helper()
	w := jobstest.NewWorld(t, 1, 1)
	w.Create(t, "own")
	f := w.NewFleetOf(t, "own")
	send(t, f, rows, row)
	return f
}

// send inserts rows of a fleet's first device.
func send(t *testing.T, f *jobstest.Fleet, rows int, row func(n int) tables.Entity) {
	t.Helper()
	var all []tables.Entity
	for n := range rows {
		e := row(n)
		e.PartitionKey = string(f.World.Devices[0])
		all = append(all, e)
	}
	jobstest.Insert(t, f.World.Connect(t, nil).Table(f.Readings), all...)
}

// temperature is a row with one value.
func temperature(at time.Time, value float64) tables.Entity {
	e := tables.Entity{RowKey: tables.TicksOf(at).String()}
	e.Set("temperature", tables.Double(value))
	return e
}

func TestDeviceFarBehindTakesLittleMemory(t *testing.T) {
	effort.Alone(t)
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
	n := jobstest.Work(t, p, f.Message())
	took := time.Since(began)
	close(stop)
	wantRows(t, f, f.World.Devices[0], int64(*far))
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

// sensors returns members of a JSON object: storage takes at most 252 properties of a row, but a nested object may have
// any number.
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

// TestJobReadsFewBytesOfADevice: other devices must not wait for 5,000 rows of the maximum size.
func TestJobReadsFewBytesOfADevice(t *testing.T) {
	effort.Alone(t)
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
	wantRows(t, f, f.World.Devices[0], rows)
}

// widest returns a row with as many values as fit, whose names no other row has. Every third value is a text.
func widest(n, nameLength int) (e tables.Entity) {
	for p := range 8 {
		var all []string
		size := 0
		for i := range 240 {
			name := fmt.Sprintf("%d_%d_%d_", n, p, i)
			name += strings.Repeat("n", max(0, nameLength-len(name)-3))
			value := fmt.Sprint(i)
			if i%3 == 0 && n%2 == 0 {
				value = `"` + strings.Repeat("t", min(256, 30+nameLength)) + `"`
			}
			if size += len(name) + len(value) + 4; size > 31<<10 {
				break
			}
			all = append(all, fmt.Sprintf("%q:%s", name, value))
		}
		e.Set(fmt.Sprint("p", p), tables.String("{"+strings.Join(all, ",")+"}"))
	}
	return e
}

// TestNoConfigurationHoldsADevice: eight windows, and rows with the most sensors and the longest names and texts.
func TestNoConfigurationHoldsADevice(t *testing.T) {
	const rows = 6
	for _, nameLength := range []int{14, 60, 198} {
		start := tables.TicksOf(time.Now().Add(-30 * time.Minute))
		f := seedDevice(t, rows, func(n int) tables.Entity {
			e := widest(n, nameLength)
			e.RowKey = start.Add(time.Duration(n)*time.Second).String() + "-" + strings.Repeat("s", 64)
			return e
		})
		p := f.Pipeline(t, nil)
		windows := []schema.Window{schema.Daily, schema.Hour, schema.Minute}
		for _, d := range []time.Duration{12, 6, 4, 3, 2} {
			windows = append(windows, schema.Window(d*time.Hour))
		}
		p.Processors = []fold.Configured{latest.Processor.Default(),
			jobstest.With(t, rollup.Processor, &rollup.Config{Windows: windows}), archive.Processor.Default()}
		p.Portion = 3
		must.Succeed(t, f.Drain(t.Context(), p))
		track := f.Track(t, f.World.Devices[0])
		states := 0
		for _, p := range track.Properties {
			if strings.HasPrefix(p.Name, "State_") {
				states += len(p.Value.Binary())
			}
		}
		if states > fold.MaxStates || track.Get("Rows").Int() != rows || track.Get("Attempts").Int() != 0 ||
			track.Size() > tables.MaxEntity {
			t.Errorf("names of %d letters: states of %d bytes, a row of %d, %d rows folded", nameLength, states, track.Size(),
				track.Get("Rows").Int())
		}
		t.Logf("names of %d letters: states of %d bytes, a tracking row of %d, %d rejects", nameLength, states, track.Size(),
			track.Get("Rejects").Int())
	}
}
