package rate

import (
	"math"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// A sensor is what is remembered of one.
type sensor struct {
	name    string
	counter bool
	points  []point // the last reading of each cell, since the start of the span; the last is the newest
	newest  change
	tallies [2]Tally // of the open hour and day
}

// A point is a reading. carry is what the counter had reached at its resets since the
// point before: a difference across them is so much more.
type point struct {
	at           tables.Ticks
	value, carry float64
}

// A change is what a reading differs by.
type change struct {
	known, spans bool   // there is a reading before; there is one before the span
	step, span   Change // to the reading before, and over the span
	located      bool
	position     Position
}

// A located position is one that a reading told.
type located struct {
	Position
	at tables.Ticks
}

func (s *sensor) newestAt() tables.Ticks {
	if len(s.points) == 0 {
		return 0
	}
	return s.points[len(s.points)-1].at
}

func (c *change) take(before point, at tables.Ticks, value, carry float64) {
	c.known, c.step = true, changeOf(value-before.value+carry, at-before.at)
}

// changeOf keeps a difference and a rate finite, as JSON has no infinity.
func changeOf(difference float64, over tables.Ticks) Change {
	difference = finite(difference)
	return Change{difference, finite(difference / hours(over))}
}

func hours(t tables.Ticks) float64 { return float64(t) / float64(hour) }

func finite(f float64) float64 { return max(-math.MaxFloat64, min(math.MaxFloat64, f)) }

// add takes a reading in. Of a cell, which ends with its last tick, the last one stays.
func (s *sensor) add(p point, cell tables.Ticks) {
	if n := len(s.points); n > 0 && (s.points[n-1].at-1)/cell == (p.at-1)/cell {
		p.carry = finite(p.carry + s.points[n-1].carry)
		s.points = s.points[:n-1]
	}
	s.points = append(s.points, p)
}

// span takes the difference over the span that begins at start, and forgets what
// no later span begins with.
func (s *sensor) span(start, reach tables.Ticks) {
	base := -1
	for base+1 < len(s.points) && s.points[base+1].at <= start {
		base++
	}
	if base < 0 {
		return
	}
	s.points = slices.Delete(s.points, 0, base)
	from, to := s.points[0], s.points[len(s.points)-1]
	if !s.newest.known || to.at-from.at > reach {
		return
	}
	difference := to.value - from.value
	for _, p := range s.points[1:] {
		difference += p.carry
	}
	s.newest.spans, s.newest.span = true, changeOf(difference, to.at-from.at)
}

func (s *sensor) latest() Latest {
	n := &s.newest
	l := Latest{At: s.newestAt(), Value: s.points[len(s.points)-1].value, Step: n.step}
	if n.spans {
		l.Span = &n.span
	}
	if n.located {
		l.Position = &n.position
	}
	return l
}

func (t *Tally) add(c Change, over tables.Ticks) {
	if t.Count == 0 {
		t.Min, t.Max = c.PerHour, c.PerHour
	}
	t.Count++
	t.Difference, t.Hours = finite(t.Difference+c.Difference), t.Hours+hours(over)
	t.Min, t.Max, t.Last = min(t.Min, c.PerHour), max(t.Max, c.PerHour), c.PerHour
}

// clear begins the buckets of a window anew.
func (st *state) clear(i int) {
	for n := range st.sensors {
		st.sensors[n].tallies[i] = Tally{}
	}
}

// expire forgets what no later difference needs, and what readings before the reach
// of the newest one have made: so the state is the same wherever folding began.
func (st *state) expire(reach tables.Ticks) {
	oldest, yesterday := st.last.Ticks-reach, (schema.DayOf(st.last.Ticks) - 1).Start()
	st.sensors = slices.DeleteFunc(st.sensors, func(s sensor) bool { return s.newestAt() < max(oldest, 0) && s.newestAt() < yesterday })
	for i := range st.sensors {
		s := &st.sensors[i]
		old := 0
		for old < len(s.points)-1 && s.points[old].at < oldest {
			old++
		}
		s.points = slices.Delete(s.points, 0, old)
		s.points[0].carry = 0 // nothing is told from a reading before it
		if s.newestAt() < yesterday {
			s.newest = change{}
		}
	}
	if st.position.at < oldest {
		st.position = located{}
	}
}
