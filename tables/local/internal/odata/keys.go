package odata

import "furrow/tables/local/internal/entity"

// Keys bounds the keys that a filter can match: an interval of partition keys, and
// an interval of row keys in each of them.
type Keys struct{ Partition, Row Interval }

// KeysOf returns bounds of the rows that e can match. A nil e matches all.
func KeysOf(e Expr) Keys {
	if e == nil {
		return Keys{}
	}
	return e.keys()
}

// An Interval is a range of strings. The zero Interval contains all strings.
type Interval struct {
	Low, High Bound
	Empty     bool
}

// A Bound is one end of an interval: none, or Key, included or not.
type Bound struct {
	Key  string
	Set  bool
	Open bool // Key itself is excluded
}

// Point returns the interval's only member, if it has exactly one.
func (i Interval) Point() (string, bool) {
	return i.Low.Key, i.Low.Set && i.High.Set && !i.Low.Open && !i.High.Open && i.Low.Key == i.High.Key
}

func (e and) keys() Keys {
	l, r := e.left.keys(), e.right.keys()
	return Keys{l.Partition.and(r.Partition), l.Row.and(r.Row)}
}

// keys returns the smallest pair of intervals that contains both sides.
func (e or) keys() Keys {
	l, r := e.left.keys(), e.right.keys()
	switch {
	case l.Partition.Empty || l.Row.Empty:
		return r
	case r.Partition.Empty || r.Row.Empty:
		return l
	}
	return Keys{l.Partition.or(r.Partition), l.Row.or(r.Row)}
}

func (not) keys() Keys { return Keys{} }

func (e constant) keys() Keys { return Keys{Partition: Interval{Empty: !bool(e)}} }

func (e compare) keys() Keys {
	if e.value.Type != entity.String {
		return Keys{}
	}
	switch e.property {
	case "PartitionKey":
		return Keys{Partition: e.interval()}
	case "RowKey":
		return Keys{Row: e.interval()}
	}
	return Keys{}
}

func (e compare) interval() Interval {
	var i Interval
	if e.op == ne {
		return i
	}
	at := Bound{Key: string(e.value.Raw), Set: true, Open: e.op&equal == 0}
	if e.op&less == 0 {
		i.Low = at
	}
	if e.op&greater == 0 {
		i.High = at
	}
	return i
}

func (i Interval) and(j Interval) Interval {
	out := Interval{Low: inner(i.Low, j.Low, 1), High: inner(i.High, j.High, -1)}
	low, high := out.Low, out.High
	out.Empty = i.Empty || j.Empty || low.Set && high.Set &&
		(low.Key > high.Key || low.Key == high.Key && (low.Open || high.Open))
	return out
}

// inner returns the narrower bound: the higher of two lows (side 1) or the lower of
// two highs (side -1).
func inner(a, b Bound, side int) Bound {
	switch {
	case !a.Set:
		return b
	case !b.Set:
		return a
	case a.Key == b.Key:
		a.Open = a.Open || b.Open
		return a
	case (a.Key > b.Key) == (side > 0):
		return a
	}
	return b
}

func (i Interval) or(j Interval) Interval {
	return Interval{Low: outer(i.Low, j.Low, 1), High: outer(i.High, j.High, -1)}
}

// outer returns the wider bound.
func outer(a, b Bound, side int) Bound {
	switch {
	case !a.Set || !b.Set:
		return Bound{}
	case a.Key == b.Key:
		a.Open = a.Open && b.Open
		return a
	case (a.Key > b.Key) == (side > 0):
		return b
	}
	return a
}
