package made

import (
	"container/list"
	"iter"
	"slices"

	"furrow/tables"
)

// A boot is what is known about the numbers of a boot.
type boot struct {
	name   string
	begins bool      // in the span, with number 1
	seen   []stretch // in order, with a gap before each but the first
}

// A stretch is successive numbers that have rows.
type stretch struct {
	from, to    uint64
	first, last tables.Ticks // times of the rows of from and to
}

// addNumber adds a number. It returns false if there is a row with it already.
func (b *boot) addNumber(n uint64, at tables.Ticks) bool {
	i, found := slices.BinarySearchFunc(b.seen, n, func(s stretch, n uint64) int {
		switch {
		case s.to < n:
			return -1
		case s.from > n:
			return 1
		}
		return 0
	})
	if found {
		return false
	}
	follows, leads := i > 0 && b.seen[i-1].to+1 == n, i < len(b.seen) && b.seen[i].from == n+1
	switch {
	case follows && leads:
		b.seen[i-1].to, b.seen[i-1].last = b.seen[i].to, b.seen[i].last
		b.seen = slices.Delete(b.seen, i, i+1)
	case follows:
		b.seen[i-1].to, b.seen[i-1].last = n, at
	case leads:
		b.seen[i].from, b.seen[i].first = n, at
	default:
		b.seen = slices.Insert(b.seen, i, stretch{n, n, at, at})
	}
	return true
}

func (b *boot) newest() uint64 { return b.seen[len(b.seen)-1].to }

// boots are those that are followed.
type boots struct {
	byName    map[string]*list.Element
	recent    list.List // of *boot: the one with the newest row is the last
	stretches int       // of all of them
}

// named returns a boot that has a row now; nil where it is not followed.
func (all *boots) named(name string) *boot {
	e := all.byName[name]
	if e == nil {
		return nil
	}
	all.recent.MoveToBack(e)
	return e.Value.(*boot)
}

func (all *boots) add(b *boot) *boot {
	if all.byName == nil {
		all.byName = map[string]*list.Element{}
	}
	all.byName[b.name] = all.recent.PushBack(b)
	return b
}

func (all *boots) remove(b *boot) {
	all.recent.Remove(all.byName[b.name])
	delete(all.byName, b.name)
	all.stretches -= len(b.seen)
}

// oldest returns the boot whose last row is the oldest; nil where there is none.
func (all *boots) oldest() *boot {
	if e := all.recent.Front(); e != nil {
		return e.Value.(*boot)
	}
	return nil
}

func (all *boots) all() iter.Seq[*boot] {
	return func(yield func(*boot) bool) {
		for e := all.recent.Front(); e != nil; e = e.Next() {
			if !yield(e.Value.(*boot)) {
				return
			}
		}
	}
}
