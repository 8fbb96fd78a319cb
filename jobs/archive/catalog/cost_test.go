package catalog_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/delta"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// checkpointMemory is what a checkpoint may take, whatever the number of files.
const checkpointMemory = 64 << 20

// TestWhatLargeTablesCost has the rows of tables, and no files, and logs what their logs and checkpoints take. A day of
// a partition of the fleet has a file, and up to three more with its late rows.
func TestWhatLargeTablesCost(t *testing.T) {
	effort.Alone(t)
	for _, of := range []struct {
		what                  string
		days, partitions, per int
	}{
		{"10 devices for three years, late rows", 1095, 1, 4},
		{"1,000 devices for three years, partitions in two files, late rows", 1095, 2, 3},
		{"1,000 devices for three years in 36 partitions, each in a file of its own", 1095, 36, 1},
		{"1,000,000 devices for a year in 36 partitions, each reading a minute", 365, 36, 7},
	} {
		t.Run(of.what, func(t *testing.T) {
			days := of.days
			if !effort.Long() {
				days = max(1, 1000/of.partitions/of.per)
			}
			w := emptyWorld(t, newAccount(t), "large")
			began := time.Now()
			fillFiles(t, w, days, of.partitions, of.per)
			t.Logf("%d days, %v to fill", days, time.Since(began).Round(time.Second))
			costOf(t, w)
		})
	}
}

// fillFiles commits a day's files of each partition in one version, as a maker does.
func fillFiles(t *testing.T, w *world, days, partitions, per int) {
	t.Helper()
	m := w.machine(t, nil)
	var committing sync.Mutex
	var workers sync.WaitGroup
	var next atomic.Int64
	fill := func(d schema.Day) error {
		s, err := m.table.Begin(t.Context(), d)
		if err != nil {
			return err
		}
		for first := 0; first < partitions*per; first += 24 {
			c := &catalog.Change{Why: "day closed"}
			for n := first; n < min(first+24, partitions*per); n++ {
				f, err := syntheticFile(t.Context(), m.table, d, n/per)
				if err != nil {
					return err
				}
				if c.New = append(c.New, f); n%per == 0 || n == first {
					c.Days = append(c.Days, catalog.Day{Date: d, Month: f.Months[0]})
				}
			}
			if per > 1 { // the day was inserted with the first of its files
				if s, err = m.table.Begin(t.Context(), d); err != nil {
					return err
				}
			}
			for i := range c.Days {
				c.Days[i] = s.Day(c.Days[i].Month)
			}
			committing.Lock()
			_, err := m.table.Commit(t.Context(), s, c)
			committing.Unlock()
			if err != nil {
				return err
			}
		}
		return nil
	}
	for range 6 {
		workers.Go(func() {
			for n := next.Add(1); int(n) <= days; n = next.Add(1) {
				if err := fill(day + schema.Day(n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
}

// syntheticFile is one of 27 devices with a reading a minute each.
func syntheticFile(ctx context.Context, t *catalog.Table, d schema.Day, partition int) (catalog.File, error) {
	f, err := t.Pend(ctx, d)
	month := schema.Month{Year: 2024 + partition/12, Month: time.Month(1 + partition%12)}
	f.Months, f.Bytes, f.Hash = []schema.Month{month}, 400_000, strings.Repeat("0123456789abcdef", 4)
	f.Columns = []string{"temperature", "humidity", "pressure", "flow", "voltage", "battery"}
	from, device := d.Start(), fmt.Sprintf("site-%03d:pump-0000", partition)
	f.Stats = delta.Stats{Rows: 27 * 1440, Ranges: map[string]delta.Range{
		"device": {Min: device + "00", Max: device + "27"}, "key": {Min: from.String(), Max: (from + 1).String()},
		"time": delta.Times(from.Time(), from.Time().Add(24*time.Hour-1))}}
	return f, err
}

// costOf logs what a table and its log take, and a checkpoint of it.
func costOf(t *testing.T, w *world) {
	t.Helper()
	m := w.machine(t, nil)
	must.Succeed(t, m.publish(t.Context()))
	var logged int64
	versions := 0
	for name, content := range w.blobs(t) {
		if strings.HasSuffix(name, ".json") {
			versions, logged = versions+1, logged+int64(len(content))
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	began := time.Now()
	peak := peakHeap(func() { must.Succeed(t, m.table.Log(m.objects).Checkpoint(t.Context(), true)) })
	took := time.Since(began)
	state := must.Have(m.table.State(t.Context()))(t)
	size := 0
	for name, content := range w.blobs(t) {
		if strings.HasSuffix(name, ".checkpoint.parquet") {
			size = len(content)
		}
	}
	t.Logf("%d files, %d versions, log of %d bytes (%d a file); checkpoint of %d bytes in %v, with %d MiB of memory at "+
		"most", state.Files, versions, logged, logged/max(1, state.Files), size, took.Round(time.Millisecond), peak>>20)
	if peak > checkpointMemory {
		t.Errorf("a checkpoint of %d files takes %d bytes of memory, more than %d", state.Files, peak, checkpointMemory)
	}
}

// peakHeap returns how much the heap grows at most while something is done. The storage of tests is in the same
// process, and what it takes to answer is counted.
func peakHeap(do func()) (most int64) {
	heap := func() int64 {
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	runtime.GC()
	before, done, sampled := heap(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
				most = max(most, heap()-before)
			}
		}
	}()
	do()
	close(done)
	<-sampled
	return most
}
