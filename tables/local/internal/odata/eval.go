package odata

import (
	"bytes"
	"cmp"

	"furrow/tables/local/internal/entity"
)

// A Row is a row to be filtered.
type Row struct {
	Partition, Row string
	Entity         entity.Stored
}

// An Expr is a filter.
type Expr interface {
	// Match reports whether the row passes.
	Match(r *Row) bool
	// keys returns bounds of the keys of rows that can pass.
	keys() Keys
}

type (
	and      struct{ left, right Expr }
	or       struct{ left, right Expr }
	not      struct{ of Expr }
	constant bool
	compare  struct {
		property string
		op       operator
		value    entity.Value
	}
)

func (e and) Match(r *Row) bool      { return e.left.Match(r) && e.right.Match(r) }
func (e or) Match(r *Row) bool       { return e.left.Match(r) || e.right.Match(r) }
func (e not) Match(r *Row) bool      { return !e.of.Match(r) }
func (e constant) Match(r *Row) bool { return bool(e) }

// An operator is the set of orders (less, equal, greater) that satisfy it.
type operator byte

const (
	less operator = 1 << iota
	equal
	greater

	eq = equal
	ne = less | greater
	lt = less
	le = less | equal
	gt = greater
	ge = greater | equal
)

var operators = map[string]operator{"eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge}

// turned returns the operator for exchanged operands.
func (o operator) turned() operator {
	t := o & equal
	if o&less != 0 {
		t |= greater
	}
	if o&greater != 0 {
		t |= less
	}
	return t
}

func (o operator) holds(order int) bool {
	return o&(less<<(order+1)) != 0
}

// Match is false if the property is absent or has another type, whatever the
// operator. Numbers of different types are compared by value.
func (e compare) Match(r *Row) bool {
	switch e.property {
	case "PartitionKey":
		return e.value.Type == entity.String && e.op.holds(compareKey(r.Partition, e.value.Raw))
	case "RowKey":
		return e.value.Type == entity.String && e.op.holds(compareKey(r.Row, e.value.Raw))
	case "Timestamp":
		return e.value.Type == entity.DateTime && e.op.holds(cmp.Compare(r.Entity.Timestamp(), e.value.Num))
	}
	order, ok := ordered(r.Entity.Find(e.property), e.value)
	return ok && e.op.holds(order)
}

// compareKey compares a key with a value, without a copy of it: this is done for every row of a range.
func compareKey(key string, value []byte) int {
	switch {
	case key < string(value):
		return -1
	case key > string(value):
		return 1
	}
	return 0
}

// ordered compares two values. ok is false if they have no order.
func ordered(a, b entity.Value) (order int, ok bool) {
	switch {
	case whole(a) && whole(b):
		return cmp.Compare(a.Num, b.Num), true
	case numeric(a) && numeric(b):
		x, y := float(a), float(b)
		return cmp.Compare(x, y), x == x && y == y // a NaN has no order
	case a.Type != b.Type:
		return 0, false
	case a.Type == entity.Boolean || a.Type == entity.DateTime:
		return cmp.Compare(a.Num, b.Num), true
	}
	return bytes.Compare(a.Raw, b.Raw), a.Type != entity.Null
}

func whole(v entity.Value) bool   { return v.Type == entity.Int32 || v.Type == entity.Int64 }
func numeric(v entity.Value) bool { return whole(v) || v.Type == entity.Double }

func float(v entity.Value) float64 {
	if v.Type == entity.Double {
		return v.Float()
	}
	return float64(v.Num)
}
