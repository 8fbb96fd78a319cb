package auth

import "net/url"

// A Range is the keys that a table SAS is for, both ends included. Keys are
// compared as pairs: first the partition key, then the row key.
type Range struct {
	From, To       Key
	HasFrom, HasTo bool
	ToRow          bool // To names a row; without, all of To's partition is within
}

// A Key is an entity's place in its table.
type Key struct{ Partition, Row string }

func (k Key) less(other Key) bool {
	if k.Partition != other.Partition {
		return k.Partition < other.Partition
	}
	return k.Row < other.Row
}

// Contains tells whether k is within the range.
func (g Range) Contains(k Key) bool {
	if g.HasFrom && k.less(g.From) {
		return false
	}
	if !g.HasTo {
		return true
	}
	if !g.ToRow {
		return k.Partition <= g.To.Partition
	}
	return !g.To.less(k)
}

// Check refuses an entity outside the range.
func (g Range) Check(k Key) error {
	if g.Contains(k) {
		return nil
	}
	return errUnauthorized
}

// rangeOf reads spk, srk, epk and erk. An empty one is an absent one, because
// the two are signed alike: anything else could be widened by its bearer. A row
// key without its partition key is refused, as Create a service SAS says.
func rangeOf(q url.Values) (Range, error) {
	g := Range{From: Key{q.Get("spk"), q.Get("srk")}, To: Key{q.Get("epk"), q.Get("erk")}}
	g.HasFrom, g.HasTo, g.ToRow = g.From.Partition != "", g.To.Partition != "", g.To.Row != ""
	if !g.HasFrom && g.From.Row != "" || !g.HasTo && g.ToRow {
		return g, failed("A range of row keys needs the partition key at the same end.")
	}
	return g, nil
}
