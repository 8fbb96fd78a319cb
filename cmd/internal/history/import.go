package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/cmd/internal/readings"
	"furrow/cmd/internal/tabular"
	"furrow/jobs/fold"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

// An Import writes a file of readings into the partitions of devices of one enrollment, and registers those devices.
type Import struct {
	Registry   sas.Registry
	Readings   *tables.Table // of the enrollment
	Enrollment schema.Enrollment
	Device     schema.DeviceID // of all rows if no column names it
	Now        time.Time       // later rows are refused
	DryRun     bool            // change nothing
	Workers    int             // devices that are written at the same time; zero: 16
	Wrong      func(Problem)   // called for what is skipped, one at a time
	Conflict   func(Conflict)  // called for rows that are stored with other values, one at a time; may be nil
	Registered func(schema.DeviceID)
	Progress   func(read, written int64)
	// Meant returns what the rows of a device mean, to compare what Furrow has written of them; may be nil.
	Meant func(schema.Member) *fold.Sensors

	memory int // bytes of rows that are sorted at once; zero: maxMemory
}

// A Problem is a line of the file that is skipped, or all lines of a device.
type Problem struct {
	Line   int             `json:"line"` // the first of them
	Device schema.DeviceID `json:"device,omitempty"`
	Error  string          `json:"error"`
}

// A Conflict is a row whose key is stored with other values. What is stored stays.
type Conflict struct {
	Line   int             `json:"line"`
	Device schema.DeviceID `json:"device"`
	Row    string          `json:"row"`
	Stored map[string]any  `json:"stored"`
	File   map[string]any  `json:"file"`
}

// A Summary is what an import did, or what it would do if it is a dry run.
type Summary struct {
	Lines   int      `json:"lines"`     // or rows of a Parquet file
	Wrong   int      `json:"wrong"`     // lines that were skipped
	Empty   int      `json:"empty"`     // lines without a value
	Equal   int      `json:"repeated"`  // readings that another line of the file has too
	Clashes int      `json:"conflicts"` // readings whose key is stored with other values
	Devices int      `json:"devices"`   // whose readings are in the file
	Added   int      `json:"added"`     // devices that were registered
	Rows    int      `json:"rows"`      // readings in the file, but for those that are refused
	Written int      `json:"written"`   // readings that were not stored yet
	Sensors []string `json:"sensors,omitempty"`
	// Times of the oldest and of the newest reading.
	Oldest time.Time `json:"oldest,omitzero"`
	Newest time.Time `json:"newest,omitzero"`
}

// running is an import that runs.
type running struct {
	Import
	in      *readings.Reader
	sum     Summary
	sensors []string
	tally   *tally
}

// Run imports all rows of a file. An error of storage or of the file, or the end of ctx, stops it; the same import can
// then be repeated.
func (i Import) Run(ctx context.Context, in *readings.Reader) (Summary, error) {
	i.Workers = cmp.Or(i.Workers, 16)
	r := &running{Import: i, in: in, tally: &tally{Import: i}}
	s, err := newSorter(cmp.Or(i.memory, maxMemory))
	if err != nil {
		return Summary{}, err
	}
	defer s.close()
	if err := r.read(ctx, s); err != nil {
		return r.summary(), err
	}
	m, err := s.merge()
	if err != nil {
		return r.summary(), err
	}
	r.sensors = in.Sensors()
	err = r.write(ctx, m)
	return r.summary(), cmp.Or(context.Cause(ctx), err)
}

func (r *running) summary() Summary {
	sum := r.sum
	r.tally.addTo(&sum)
	sum.Sensors = slices.Sorted(slices.Values(r.in.Sensors()))
	return sum
}

// read reads the whole file into the sorter.
func (r *running) read(ctx context.Context, s *sorter) error {
	future := tables.TicksOf(r.Now)
	for n := 1; ; n++ {
		line, err := r.in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		r.sum.Lines++
		var id schema.DeviceID
		if err == nil {
			id, err = r.check(line, future)
		}
		if errors.Is(err, readings.ErrEmpty) {
			r.sum.Empty++
			continue
		}
		if wrong, is := errors.AsType[*tabular.LineError](err); is {
			r.tally.skip(Problem{line.Line, id, wrong.Error()}, 1)
			continue
		}
		if err == nil {
			where := place{site: schema.Site(line.Site), position: line.Position}
			err = s.add(id, row{line.Time, line.Line, line.Key, line.Values, line.About}, where)
		}
		if err != nil {
			return err
		}
		if n%1000 == 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r.progress(int64(r.sum.Lines))
		}
	}
}

// check returns the device of a line, or a LineError.
func (r *running) check(line readings.Row, future tables.Ticks) (schema.DeviceID, error) {
	if !r.in.NamesDevices() && r.Device == "" {
		return "",
			&tabular.UnclearError{What: "no column names the device; name the only device with --device ID, or its column",
				Flag: "device-column"}
	}
	id, err := schema.ParseDeviceID(cmp.Or(line.Device, string(r.Device)))
	if err != nil {
		return "", tabular.NewLineError(err)
	}
	if line.Site != "" {
		if _, err := schema.ParseSite(line.Site); err != nil {
			return id, tabular.NewLineError(err)
		}
	}
	if line.Time > future {
		return id, tabular.NewLineError(fmt.Errorf("%s is in the future", line.Time.Time().Format(time.RFC3339)))
	}
	return id, nil
}

func (r *running) progress(read int64) {
	if r.Progress != nil {
		r.Progress(read, r.tally.written.Load())
	}
}

// write writes the devices, several at a time. Each gets its rows through a short channel, so that few are in memory.
func (r *running) write(ctx context.Context, m *merger) error {
	workers, writing := errgroup.WithContext(ctx)
	workers.SetLimit(r.Workers)
	var failed error
	for writing.Err() == nil {
		d, ok, err := m.next()
		if failed = err; err != nil || !ok {
			break
		}
		r.sum.Devices++
		if oldest := d.from.Time(); r.sum.Oldest.IsZero() || oldest.Before(r.sum.Oldest) {
			r.sum.Oldest = oldest
		}
		if newest := d.to.Time(); newest.After(r.sum.Newest) {
			r.sum.Newest = newest
		}
		batches := make(chan []reading, 4)
		workers.Go(func() error {
			if err := r.device(writing, d, batches); err != nil {
				return fmt.Errorf("device %s: %w", d.id, err)
			}
			return nil
		})
		failed = r.feed(writing, d, m, batches)
		close(batches)
		if failed != nil {
			break
		}
	}
	return cmp.Or(failed, workers.Wait())
}

// feed sends the readings of a device in batches that fit a transaction.
func (r *running) feed(ctx context.Context, d device, m *merger, batches chan<- []reading) error {
	f := &feeder{running: r, ctx: ctx, device: d, batches: batches}
	var tick []row
	for row, err := range m.rows() {
		if err != nil {
			return err
		}
		if len(tick) > 0 && tick[0].at != row.at {
			if err := f.tick(tick); err != nil {
				return err
			}
			tick = tick[:0]
		}
		if len(tick) == mostOfATick {
			r.tally.skip(Problem{row.line, d.id, fmt.Sprintf("the device has more than %d lines of this time",
				mostOfATick)}, 1)
			continue
		}
		tick = append(tick, row)
	}
	return errors.Join(f.tick(tick), f.flush())
}

// A feeder makes batches of readings.
type feeder struct {
	*running
	ctx     context.Context
	device  device
	batches chan<- []reading
	batch   []reading
	size    int
}

// maxBatch bounds a batch in bytes, as storage counts them.
const maxBatch = 1 << 20

func (f *feeder) tick(rows []row) error {
	all, repeated := readingsOf(f.device.id, rows, f.in.Long, f.sensors)
	f.sum.Equal += repeated
	for n, one := range all {
		e := one.Entity()
		if n > 0 && all[n-1].Key == one.Key { // the file has two readings with a key of Furrow's
			f.sum.Rows++
			f.tally.clash(f.device.id, one.line, all[n-1].Entity(), one.Properties)
			continue
		}
		if err := e.Check(); err != nil {
			f.tally.skip(Problem{one.line, f.device.id, err.Error()}, 1)
			continue
		}
		size := e.Size()
		if len(f.batch) == tables.MaxOps || len(f.batch) > 0 && f.size+size > maxBatch {
			if err := f.flush(); err != nil {
				return err
			}
		}
		f.batch, f.size = append(f.batch, one), f.size+size
	}
	return nil
}

func (f *feeder) flush() error {
	if len(f.batch) == 0 {
		return nil
	}
	f.sum.Rows += len(f.batch)
	select {
	case f.batches <- f.batch:
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
	f.batch, f.size = nil, 0
	f.progress(int64(f.sum.Lines))
	return nil
}

// A tally counts what all workers do.
type tally struct {
	Import
	mu      sync.Mutex // of what is reported
	wrong   atomic.Int64
	refused atomic.Int64 // readings of devices whose rows are refused
	clashes atomic.Int64
	added   atomic.Int64
	written atomic.Int64
}

// skip reports a problem, and counts the lines that are skipped.
func (t *tally) skip(p Problem, lines int) {
	t.wrong.Add(int64(lines))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Wrong(p)
}

// clash reports a row that is stored with other values.
func (t *tally) clash(device schema.DeviceID, line int, stored tables.Entity, file []tables.Property) {
	t.clashes.Add(1)
	if t.Conflict == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Conflict(Conflict{line, device, stored.RowKey, texts(stored.Properties), texts(file)})
}

// register reports a device that was registered.
func (t *tally) register(device schema.DeviceID) {
	t.added.Add(1)
	if t.Registered == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Registered(device)
}

// texts returns values for people.
func texts(all []tables.Property) map[string]any {
	values := map[string]any{}
	for _, p := range all {
		values[p.Name] = p.Value.String()
	}
	return values
}

func (t *tally) addTo(s *Summary) {
	s.Wrong, s.Added, s.Written = int(t.wrong.Load()), int(t.added.Load()), int(t.written.Load())
	s.Clashes, s.Rows = int(t.clashes.Load()), s.Rows-int(t.refused.Load())
}
