package verify

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A bucket is what an output should have of the readings in a window of time.
type bucket interface {
	add(r *reading)
	properties() map[string]string // by sensor
}

// A series is the buckets of a window, in the order of time: one is open, and compared with what is stored when the
// next one begins. So it needs room for one bucket and a page of stored ones.
type series struct {
	output string // rollups 1h
	table  Table  // zero: nothing is deleted from it
	window schema.Window
	fresh  func(start tables.Ticks) bucket
	count  func(map[string]string) int64 // readings that a bucket says it has; nil: it does not count them

	open  bucket
	start tables.Ticks

	next  func() (tables.Entity, error, bool)
	stop  func()
	ahead tables.Entity // the next that is stored
	more  bool
}

// rowsOf yields the stored buckets of a device in a table with the keys of rollups, day after day.
func (k *look) rowsOf(ctx context.Context, name string, w schema.Window) iter.Seq2[tables.Entity, error] {
	table := k.Client.Table(k.Names.Output(name))
	of := schema.RollupPartition{Tenant: k.member.Tenant, Window: w, Month: k.member.Month}
	return func(yield func(tables.Entity, error) bool) {
		for partition, err := range partitionsOf(ctx, table, of, k.from, k.to) {
			if err != nil {
				yield(tables.Entity{}, err)
				return
			}
			q := tables.Query{Range: tables.Range{Partitions: tables.Is(partition.String()),
				Rows: schema.Buckets(k.member.Device, k.member.Device)}}
			for e, err := range schema.Joined(table.Entities(ctx, q), schema.RollupOutput) {
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// begin reads the first of the stored buckets, and adds the series to the checks.
func (s *series) begin(p *pipe, rows iter.Seq2[tables.Entity, error]) error {
	s.next, s.stop = iter.Pull2(rows)
	p.checks, p.stops = append(p.checks, s), append(p.stops, s.stop)
	return s.advance()
}

func (s *series) name() string { return s.output }

func (s *series) advance() (err error) {
	s.ahead, err, s.more = s.next()
	return err
}

// row adds a row to its bucket.
func (s *series) row(p *pipe, r *reading) error {
	start := s.window.Start(r.key.Ticks)
	if s.open != nil && start != s.start {
		if err := s.close(p); err != nil {
			return err
		}
	}
	if s.open == nil {
		s.open, s.start = s.fresh(start), start
	}
	s.open.add(r)
	return nil
}

// close compares the open bucket, and the stored ones before it, which should not be there.
func (s *series) close(p *pipe) error {
	for s.more {
		row, err := schema.ParseRollupRow(s.ahead.RowKey)
		if err != nil {
			return err
		}
		if s.open != nil && row.Bucket > s.start {
			break
		}
		is := stored(s.ahead)
		p.compared(s.output, len(is), s.ahead.Size())
		if err := s.advance(); err != nil {
			return err
		}
		if s.open != nil && row.Bucket == s.start {
			p.compare(s, s.start, is, s.open)
			s.open = nil
			return nil
		}
		p.compare(s, row.Bucket, is, nil)
	}
	if s.open != nil {
		p.compare(s, s.start, nil, s.open)
		s.open = nil
	}
	return nil
}

// finish compares the last bucket, and what is stored after it.
func (s *series) finish(_ context.Context, p *pipe) error {
	defer s.stop()
	if err := s.close(p); err != nil {
		return err
	}
	return s.close(p)
}

// stored returns the properties of an output that say something of its readings.
func stored(e tables.Entity) map[string]string {
	all := map[string]string{}
	for _, p := range e.Properties {
		if !reserved(p.Name) || p.Name == "_readings" {
			all[p.Name] = p.Value.String()
		}
	}
	return all
}

// compare compares a bucket. One that became empty stays as a row without sensors.
func (p *pipe) compare(s *series, start tables.Ticks, is map[string]string, want bucket) {
	if start < p.floor {
		return
	}
	should, n, got := map[string]string{}, int64(0), int64(0)
	if want != nil {
		should = want.properties()
	}
	if s.count != nil {
		n, got = s.count(should), s.count(is)
		p.counted(schema.DayOf(start), s.output, got, n)
	}
	to := start.Add(time.Duration(s.window))
	d := difference{output: s.output, from: start, to: to, rows: n - got, due: p.deleted(s.table, s.window)}
	if got != n {
		d.is, d.want = readings(got), readings(n)
		if len(is) == 0 {
			d.is = "absent"
		}
		if len(should) == 0 {
			d.want = "absent"
		}
		p.differ(d)
	}
	if !p.Values {
		return
	}
	p.differEach(d, is, should)
}

func readings(n int64) string {
	if n == 1 {
		return "1 reading"
	}
	return fmt.Sprintf("%d readings", n)
}

// A sum is what a bucket of rollups has of a sensor.
type sum struct {
	count                      int64
	sum, min, max, first, last float64
	firstAt, lastAt            tables.Ticks
}

func (s *sum) add(n float64, at tables.Ticks) {
	if s.count == 0 {
		s.min, s.max, s.first, s.firstAt = n, n, n, at
	}
	s.count, s.sum = s.count+1, finite(s.sum+n)
	s.min, s.max, s.last, s.lastAt = min(s.min, n), max(s.max, n), n, at
}

// text returns the sum as rollups have it, without brackets.
func (s *sum) text() string {
	b := strconv.AppendInt(nil, s.count, 10)
	for _, f := range []float64{s.sum, s.min, s.max, s.first, s.last} {
		b = strconv.AppendFloat(append(b, ','), f, 'g', -1, 64)
	}
	return string(b)
}

// What the sensors of a bucket take, at most: each takes its name and roomOfSensor.
const (
	roomOfBuckets = 303 << 10 // of all windows
	roomOfSensor  = 62
	mostSensors   = 1000
)

// sums are a bucket of rollups.
type sums struct {
	sensors    map[string]*sum
	left       int // room
	n          int64
	timed      bool // as the table buckets has it
	rows, size int64
}

func (b *sums) add(r *reading) {
	took := false
	b.rows, b.size = b.rows+1, b.size+int64(r.size)
	for i := range r.values {
		v := &r.values[i]
		if v.IsText || v.Doubtful {
			continue
		}
		s := b.sensors[v.Sensor]
		if s == nil {
			room := roomOfSensor + len(v.Sensor)
			if len(b.sensors) == mostSensors || room > b.left {
				r.refused = true
				continue
			}
			s = &sum{}
			b.sensors[v.Sensor], b.left = s, b.left-room
		}
		s.add(v.Number, r.key.Ticks)
		took = true
	}
	if took {
		b.n++
	}
}

func (b *sums) properties() map[string]string {
	all, most := map[string]string{}, int64(0)
	for name, s := range b.sensors {
		most = max(most, s.count)
		if all[name] = "[" + s.text() + "]"; b.timed {
			all[name] = fmt.Sprintf("[%s,%d,%d]", s.text(), int64(s.firstAt), int64(s.lastAt))
		}
	}
	if b.n > most && !b.timed {
		all["_readings"] = strconv.FormatInt(b.n, 10)
	}
	return all
}

// sumsCounted returns the number of readings that a bucket of rollups says it has.
func sumsCounted(is map[string]string) (n int64) {
	for name, text := range is {
		var count int64
		if name == "_readings" {
			count, _ = strconv.ParseInt(text, 10, 64)
		} else {
			_, _ = fmt.Sscanf(text, "[%d,", &count) // other texts differ from what is wanted
		}
		n = max(n, count)
	}
	return n
}
