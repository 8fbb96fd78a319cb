package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// errEnough ends reading.
var errEnough = errors.New("enough was read")

// equalTo is how far sums may differ, as a part of what was summed: a sum depends on
// the order a little.
const equalTo = 1e-9

// compareRollups compares the rows of partitions with what is wanted, and takes out of
// that what was found.
func (c *checker) compareRollups(ctx context.Context, wanted map[schema.DeviceID]*expectation,
	partitions []string) error {
	for _, partition := range partitions {
		parts := strings.Split(partition, "!") // tenant!window!day!month
		err := c.outputs(ctx, c.Names.Rollups(), partition, 2, func(e tables.Entity) error {
			device, start, _ := strings.Cut(e.RowKey, "!")
			ticks, err := tables.ParseTicks(start)
			b := bucket{parts[1], ticks}
			x := wanted[schema.DeviceID(device)]
			if len(e.Properties) == 0 && (x == nil || x.buckets[b] == nil) {
				return nil // an output that became empty
			}
			if err != nil || x == nil || ticks.Time().Format("2006-01-02") != parts[2] {
				c.found.differ(Difference{Table: c.Names.Rollups(), Device: schema.DeviceID(device), Row: partition + " " +
					e.RowKey, Is: "there", Want: "absent: no device of that partition has such a bucket"})
				return nil
			}
			c.compareBucket(x, b, e)
			delete(x.buckets, b)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) compareBucket(x *expectation, b bucket, e tables.Entity) {
	want, is := x.buckets[b], map[string]*sums{}
	for _, p := range e.Properties {
		s, err := parseSums(p.Value.Text())
		if err != nil {
			c.differ(x.member, c.Names.Rollups(), b.String(), p.Name, p.Value.Text(), "an array of six numbers")
			continue
		}
		is[p.Name] = s
	}
	few, many := 0, 0
	for name, w := range want {
		got := is[name]
		if got == nil {
			c.differ(x.member, c.Names.Rollups(), b.String(), name, "absent", w.String())
			few = max(few, w.count)
			continue
		}
		if !got.equal(w) {
			c.differ(x.member, c.Names.Rollups(), b.String(), name, got.String(), w.String())
		}
		few, many = max(few, w.count-got.count), max(many, got.count-w.count)
	}
	for name, got := range is {
		if want[name] == nil {
			c.differ(x.member, c.Names.Rollups(), b.String(), name, got.String(), "absent")
			many = max(many, got.count)
		}
	}
	c.found.amiss(b.window, few, many)
	c.found.count(func(r *Result) {
		r.Buckets[b.window]++
		r.Aggregates += len(is)
	})
}

func (s *sums) equal(w *sums) bool {
	return s.count == w.count && math.Abs(s.sum-w.sum) <= equalTo*w.size &&
		s.min == w.min && s.max == w.max && s.first == w.first && s.last == w.last
}

func (s *sums) String() string {
	return fmt.Sprintf("[count %d, sum %s, min %s, max %s, first %s, last %s]", s.count,
		numberText(s.sum), numberText(s.min), numberText(s.max), numberText(s.first), numberText(s.last))
}

func parseSums(text string) (*sums, error) {
	var all []float64
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) != 6 {
		return nil, errors.New("not an array of six numbers")
	}
	return &sums{count: int(all[0]), sum: all[1], min: all[2], max: all[3], first: all[4], last: all[5]}, nil
}

// missing are the buckets that no row was found for.
func (c *checker) missing(x *expectation) {
	for b, want := range x.buckets {
		few := 0
		for name, w := range want {
			c.differ(x.member, c.Names.Rollups(), b.String(), name, "absent", w.String())
			few = max(few, w.count)
		}
		c.found.amiss(b.window, few, 0)
	}
	for name, want := range x.newest {
		c.differ(x.member, c.Names.Latest(), "", name, "absent", want.String())
	}
}

func (n newest) String() string { return fmt.Sprintf("%s of %s", n.value, n.at) }

func (c *checker) compareLatest(ctx context.Context, wanted map[schema.DeviceID]*expectation,
	partitions []string) error {
	for _, partition := range partitions {
		err := c.outputs(ctx, c.Names.Latest(), partition, 1, func(e tables.Entity) error {
			x := wanted[schema.DeviceID(e.RowKey)]
			if x == nil && len(e.Properties) == 0 {
				return nil
			}
			if x == nil {
				c.found.differ(Difference{Table: c.Names.Latest(), Device: schema.DeviceID(e.RowKey), Row: partition, Is: "there",
					Want: "absent: the partition has no such device"})
				return nil
			}
			c.compareNewest(x, e)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) compareNewest(x *expectation, e tables.Entity) {
	for _, p := range e.Properties {
		want, wanted := x.newest[p.Name]
		got, err := parseNewest(p.Value.Text())
		switch {
		case err != nil:
			c.differ(x.member, c.Names.Latest(), "", p.Name, p.Value.Text(), "an array of a time and a value")
		case !wanted:
			c.differ(x.member, c.Names.Latest(), "", p.Name, got.String(), "absent")
		case got != want:
			c.differ(x.member, c.Names.Latest(), "", p.Name, got.String(), want.String())
		}
		delete(x.newest, p.Name)
		c.found.count(func(r *Result) { r.Latest++ })
	}
}

// parseNewest reads ["0639…", 21.5] and ["0639…", "open"].
func parseNewest(text string) (n newest, err error) {
	var parts []any
	if err := json.Unmarshal([]byte(text), &parts); err != nil || len(parts) != 2 {
		return n, errors.New("not an array of two")
	}
	at, ok := parts[0].(string)
	n.at = at
	switch v := parts[1].(type) {
	case float64:
		n.isNumber, n.number = true, v
	case string:
		n.text = v
	default:
		ok = false
	}
	if !ok {
		return n, errors.New("not a time and a value")
	}
	return n, nil
}

// slots is how many rejects a pipeline keeps of a device.
const slots = 100

// compareRejects compares which rows of a device are rejected: all of them are
// counted, and the newest are kept. Once a ring has dropped some, an audit cannot
// tell whether it meets them again, and may count as many more as it found late rows.
func (c *checker) compareRejects(x *expectation) {
	c.found.mu.Lock()
	own := c.rejects[x.member.Device]
	delete(c.rejects, x.member.Device)
	c.found.mu.Unlock()
	t, want := c.tracks[x.member.Device], int64(len(x.rejected))
	c.found.count(func(r *Result) { r.Rejected += int(t.Rejects) })
	kept := int64(0)
	for row, times := range own {
		kept += int64(times)
		if !x.rejected[row] {
			c.differ(x.member, c.Names.Rejects(), row, "", "there", "absent: nothing of that row is to be rejected")
		} else if times > 1 && want <= slots {
			c.differ(x.member, c.Names.Rejects(), row, "", "there twice", "there once")
		}
	}
	if want > slots {
		if t.Rejects < want || t.Rejects > want+t.Late {
			c.differ(x.member, c.Names.Partitions(c.Pipeline), "", "", fmt.Sprintf("%d rejected rows", t.Rejects),
				fmt.Sprintf("%d", want))
		}
		if kept != slots {
			c.differ(x.member, c.Names.Rejects(), "", "", fmt.Sprintf("%d rows", kept), fmt.Sprintf("%d, of %d", slots, want))
		}
		return
	}
	if t.Rejects != want {
		c.differ(x.member, c.Names.Partitions(c.Pipeline), "", "", fmt.Sprintf("%d rejected rows", t.Rejects),
			fmt.Sprintf("%d", want))
	}
	for row := range x.rejected {
		if own[row] == 0 {
			c.differ(x.member, c.Names.Rejects(), row, "", "absent", "there: something of that row is to be rejected")
		}
	}
}
