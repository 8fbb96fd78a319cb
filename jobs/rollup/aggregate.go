package rollup

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// An Aggregate is the aggregate of one sensor's numbers in one bucket.
type Aggregate struct {
	Count                      int64
	Sum, Min, Max, First, Last float64
}

// Add adds one number, in row order. A sum stays within the range of a double, because JSON has no infinity.
func (a *Aggregate) Add(n float64) {
	if a.Count == 0 {
		a.Min, a.Max, a.First = n, n, n
	}
	a.Count++
	a.Sum = max(-math.MaxFloat64, min(math.MaxFloat64, a.Sum+n))
	a.Min, a.Max, a.Last = min(a.Min, n), max(a.Max, n), n
}

// String returns the aggregate as a property of a rollup: a JSON array of count, sum, min, max, first and last, with
// enough digits to restore the same doubles.
func (a Aggregate) String() string {
	b := strconv.AppendInt([]byte{'['}, a.Count, 10)
	for _, f := range [...]float64{a.Sum, a.Min, a.Max, a.First, a.Last} {
		b = strconv.AppendFloat(append(b, ','), f, 'g', -1, 64)
	}
	return string(append(b, ']'))
}

// ParseAggregate reads what String writes.
func ParseAggregate(s string) (a Aggregate, err error) {
	var parts []json.Number
	if err := json.Unmarshal([]byte(s), &parts); err != nil || len(parts) != 6 {
		return a, fmt.Errorf("rollup %q is not an array of six numbers", s)
	}
	if a.Count, err = parts[0].Int64(); err != nil {
		return a, fmt.Errorf("rollup %q: its count is no whole number", s)
	}
	for i, to := range []*float64{&a.Sum, &a.Min, &a.Max, &a.First, &a.Last} {
		if *to, err = parts[1+i].Float64(); err != nil {
			return a, fmt.Errorf("rollup %q: %w", s, err)
		}
	}
	return a, nil
}
