package rollup

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"furrow/tables"
)

// A Timed aggregate also tells when its first and last numbers were read, so that those of several devices can be
// joined.
type Timed struct {
	Aggregate
	FirstAt, LastAt tables.Ticks
}

// Join adds the numbers of another device. Of two that were read at the same time, the first is the one that was there
// before, and the last is the other's: devices are joined in their order.
func (t *Timed) Join(o Timed) {
	if t.Count == 0 {
		*t = o
		return
	}
	if o.FirstAt < t.FirstAt {
		t.First, t.FirstAt = o.First, o.FirstAt
	}
	if o.LastAt >= t.LastAt {
		t.Last, t.LastAt = o.Last, o.LastAt
	}
	t.Count += o.Count
	t.Sum = bounded(t.Sum + o.Sum)
	t.Min, t.Max = min(t.Min, o.Min), max(t.Max, o.Max)
}

// bounded keeps a sum within the range of a double, because JSON has no infinity.
func bounded(sum float64) float64 { return max(-math.MaxFloat64, min(math.MaxFloat64, sum)) }

// Append appends t as a property of the table buckets, without the brackets around it: what String of an Aggregate has,
// and the ticks of first and last.
func (t Timed) Append(b []byte) []byte {
	b = t.Aggregate.append(b)
	b = strconv.AppendInt(append(b, ','), int64(t.FirstAt), 10)
	return strconv.AppendInt(append(b, ','), int64(t.LastAt), 10)
}

// String returns the property of the table buckets.
func (t Timed) String() string { return "[" + string(t.Append(nil)) + "]" }

// ParseTimed reads what Append writes, and the whole numbers that follow it.
func ParseTimed(s string, more ...*int64) (t Timed, err error) {
	var parts []json.Number
	if err := json.Unmarshal([]byte(s), &parts); err != nil || len(parts) != 8+len(more) {
		return t, fmt.Errorf("%q is not an array of %d numbers", s, 8+len(more))
	}
	if err := t.read(parts); err != nil {
		return t, fmt.Errorf("%q: %w", s, err)
	}
	for i, to := range append([]*int64{(*int64)(&t.FirstAt), (*int64)(&t.LastAt)}, more...) {
		if *to, err = parts[6+i].Int64(); err != nil {
			return t, fmt.Errorf("%q: %s is no whole number", s, parts[6+i])
		}
	}
	return t, nil
}
