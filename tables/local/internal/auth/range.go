package auth

import "net/url"

// A Range is the range of keys that a table SAS is for, including both ends. Keys
// are compared by partition key, then by row key.
type Range struct {
	From, To       Key
	HasFrom, HasTo bool
	ToRow          bool // To has a row key; otherwise all of its partition is included
}

// A Key identifies an entity in its table.
type Key struct{ Partition, Row string }

func (k Key) less(other Key) bool {
	if k.Partition != other.Partition {
		return k.Partition < other.Partition
	}
	return k.Row < other.Row
}

// Contains reports whether k is in the range.
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

// rangeOf parses spk, srk, epk and erk. An empty parameter counts as absent, because
// both are signed alike: otherwise the bearer could widen the range. A row key
// without its partition key is refused, as Azure's documentation demands.
func rangeOf(q url.Values) (Range, error) {
	g := Range{From: Key{q.Get("spk"), q.Get("srk")}, To: Key{q.Get("epk"), q.Get("erk")}}
	g.HasFrom, g.HasTo, g.ToRow = g.From.Partition != "", g.To.Partition != "", g.To.Row != ""
	if !g.HasFrom && g.From.Row != "" || !g.HasTo && g.ToRow {
		return g, failed("A range of row keys needs the partition key at the same end.")
	}
	return g, nil
}
