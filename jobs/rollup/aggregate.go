package rollup

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// An Aggregate is the aggregate of one sensor's numbers in one bucket.
type Aggregate struct {
	Count                      int64
	Sum, Min, Max, First, Last float64
}

// Add adds one number, in row order.
func (a *Aggregate) Add(n float64) {
	if a.Count == 0 {
		a.Min, a.Max, a.First = n, n, n
	}
	a.Count++
	a.Sum = bounded(a.Sum + n)
	a.Min, a.Max, a.Last = min(a.Min, n), max(a.Max, n), n
}

// String returns the aggregate as a property of a rollup: a JSON array of count, sum, min, max, first and last, with
// enough digits to restore the same doubles.
func (a Aggregate) String() string {
	return string(append(a.append([]byte{'['}), ']'))
}

func (a Aggregate) append(b []byte) []byte {
	b = strconv.AppendInt(b, a.Count, 10)
	for _, f := range [...]float64{a.Sum, a.Min, a.Max, a.First, a.Last} {
		b = strconv.AppendFloat(append(b, ','), f, 'g', -1, 64)
	}
	return b
}

// ParseAggregate reads what String writes.
func ParseAggregate(s string) (a Aggregate, err error) {
	var parts []json.Number
	if err := json.Unmarshal([]byte(s), &parts); err != nil || len(parts) != 6 {
		return a, fmt.Errorf("rollup %q is not an array of six numbers", s)
	}
	if err := a.read(parts); err != nil {
		return a, fmt.Errorf("rollup %q: %w", s, err)
	}
	return a, nil
}

// read reads the first six numbers.
func (a *Aggregate) read(parts []json.Number) (err error) {
	if a.Count, err = parts[0].Int64(); err != nil {
		return errors.New("its count is no whole number")
	}
	for i, to := range []*float64{&a.Sum, &a.Min, &a.Max, &a.First, &a.Last} {
		if *to, err = parts[1+i].Float64(); err != nil {
			return err
		}
	}
	return nil
}
