package check

import (
	"context"
	"errors"
	"math"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// A bucket is a window of a device.
type bucket struct {
	window string // 1m, 1h, 1d
	start  tables.Ticks
}

func (b bucket) String() string {
	return b.window + " " + b.start.Time().Format("2006-01-02T15:04:05Z")
}

// Sums are what a rollup says of a sensor.
type sums struct {
	count                      int
	sum, min, max, first, last float64
	size                       float64 // of what was summed, without signs: sums are equal to a part of this
}

func (s *sums) add(n float64) {
	if s.count == 0 {
		s.min, s.max, s.first = n, n, n
	}
	s.count++
	s.sum += n
	s.size += math.Abs(n)
	s.min, s.max, s.last = math.Min(s.min, n), math.Max(s.max, n), n
}

// A newest value is the one that latest has to have.
type newest struct {
	at string // 19 digits
	value
}

// An expectation is what the outputs have to say of a device.
type expectation struct {
	member   schema.Member
	buckets  map[bucket]map[string]*sums
	newest   map[string]newest
	rejected map[string]bool // row keys
}

// expect reads all rows of a device, and compares them with its receipts.
func (c *checker) expect(ctx context.Context, m schema.Member) (*expectation, error) {
	x := &expectation{member: m, buckets: map[bucket]map[string]*sums{}, newest: map[string]newest{},
		rejected: map[string]bool{}}
	folded := max(c.Until.String(), c.tracks[m.Device].Checkpoint)
	found := map[string]bool{}
	var bytes int64
	waiting := 0
	for page, err := range c.Client.Table(m.Readings).Rows(ctx, tables.Query{Range: tables.Partition(string(m.Device))}) {
		if errors.Is(err, tables.ErrNoTable) {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, e := range page.Rows {
			found[e.RowKey] = true
			bytes += int64(e.Size())
			c.compareReceipt(m, e)
			if e.RowKey > folded && !strings.HasPrefix(e.RowKey, folded) {
				waiting++
				continue
			}
			x.take(e)
		}
	}
	x.leave()
	c.compareTold(m, found)
	c.found.count(func(r *Result) {
		r.Devices++
		r.Readings += len(found)
		r.Waiting += waiting
		r.Bytes += bytes
	})
	return x, nil
}

// windows are those of the rollups.
func windows() []schema.Window { return []schema.Window{schema.Minute, schema.Hour, schema.Daily} }

// take takes in a row, in the order of keys.
func (x *expectation) take(e tables.Entity) {
	values, rejected := meaning(e)
	if rejected {
		x.rejected[e.RowKey] = true
	}
	if len(values) == 0 {
		return
	}
	at := e.RowKey[:ticksOfAKey]
	ticks, err := tables.ParseTicks(at)
	if err != nil {
		return // 19 digits after the year 9999: no token admits them
	}
	for name, v := range values {
		x.newest[name] = newest{at, v}
		if !v.isNumber {
			continue
		}
		for _, w := range windows() {
			length := tables.Ticks(w / 100)
			b := bucket{w.String(), ticks / length * length}
			if x.buckets[b] == nil {
				x.buckets[b] = map[string]*sums{}
			}
			if x.buckets[b][name] == nil {
				x.buckets[b][name] = &sums{}
			}
			x.buckets[b][name].add(v.number)
		}
	}
}

// leave takes the sensors out of newest that were not seen for too long.
func (x *expectation) leave() {
	last := ""
	for _, n := range x.newest {
		last = max(last, n.at)
	}
	for name, n := range x.newest {
		at, _ := tables.ParseTicks(n.at)
		if newest, err := tables.ParseTicks(last); err == nil && at < newest.Add(-mostAge) {
			delete(x.newest, name)
		}
	}
}

// compareReceipt compares a row with what its device has sent.
func (c *checker) compareReceipt(m schema.Member, e tables.Entity) {
	if c.Receipts == nil {
		return
	}
	sent, is := c.Receipts.sent[m.Device][e.RowKey]
	switch {
	case !is:
		c.differ(m, m.Readings, e.RowKey, "", "there", "absent: no device has sent it")
	case sent != digestOfStored(e):
		c.differ(m, m.Readings, e.RowKey, "", "another reading", "the one that the device has sent")
	}
}

// compareTold looks for rows that a device was told are stored.
func (c *checker) compareTold(m schema.Member, found map[string]bool) {
	if c.Receipts == nil {
		return
	}
	for key := range c.Receipts.told[m.Device] {
		if !found[key] {
			c.differ(m, m.Readings, key, "", "absent", "there: the device was told that it is stored")
			c.found.count(func(r *Result) { r.Lost++ })
		}
	}
}
