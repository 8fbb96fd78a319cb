package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Rate holds while the change of a number over a span is beyond a limit. The change is the difference to the newest
// reading at or before the start of the span, which is rounded down to a twelfth of it, in proportion to the span. A
// counter that falls has begun again from zero.
type Rate struct {
	Sensor string        `yaml:"sensor,required" is:"sensor"`
	Over   time.Duration `yaml:"over,required" least:"1m" most:"7d"`
	Limit
	For time.Duration `yaml:"for" least:"1s" most:"366d"`
}

const cells = 12 // of a span: the state keeps the last reading of each

// A point is a reading of a number, or for a counter what it had counted less than at the newest reading.
type point struct {
	at    tables.Ticks
	value float64
}

// Name is rate.
func (*Rate) Name() string          { return "rate" }
func (*Rate) room() int             { return (cells + 3) * 16 }
func (k *Rate) sensor() string      { return k.Sensor }
func (k *Rate) check() error        { return k.Limit.check() }
func (*Rate) begin(*work, *tracked) {}

func (k *Rate) String() string {
	return k.Sensor + " changing by " + k.Limit.String() + " in " + schema.FormatDuration(k.Over) + forText(k.For)
}

func (k *Rate) says(w *work, t *tracked) string {
	return k.Sensor + " changed by " + t.value + " in " + schema.FormatDuration(k.Over) + ", " + k.limit(w.member) +
		forText(k.For)
}

func (k *Rate) row(w *work, t *tracked, s *fold.Sample) {
	f, ok := number(s, k.Sensor)
	if !ok {
		return
	}
	at := s.Key.Ticks
	if n := len(t.points); n > 0 && at <= t.points[n-1].at {
		return // of several readings at one tick the first counts
	}
	value := f
	if c, n := w.fold.sensors.Counter(k.Sensor), len(t.points); c != nil && n > 0 {
		if f == c.Zero && t.last > f && (t.heard == 0 || t.heard == at) {
			t.heard = at // whether the counter begins again tells the next number
			return
		}
		rise := t.points[n-1].value + c.Rise(t.last, f)
		for i := range t.points { // a sum of all rises would lose small ones once it is large
			t.points[i].value -= rise
		}
		value = 0
	}
	t.last, t.heard = f, 0
	change, known := k.change(t.points, point{at, value})
	t.points = k.with(t.points, point{at, value})
	if l, has := k.of(w.member); known && has {
		w.level(t, at, ticks(k.For), l.holds(change), l.clears(change), shown(change))
	}
}

// moved heeds another limit, and other units: numbers of before say nothing then about a change.
func (k *Rate) moved(w *work, t *tracked) {
	k.Limit.moved(w, t)
	is := fmt.Sprintf("%08x", uint32(hashOf(k.unit(w.fold.sensors))))
	if t.text != "" && t.text != is {
		t.points, t.last, t.heard = nil, 0, 0
		if !t.open() {
			t.since = 0
		}
	}
	t.text = is
}

// unit stands for what the numbers of the sensor are made of.
func (k *Rate) unit(s *fold.Sensors) string {
	counter, counts := s.Counters[k.Sensor]
	text := fmt.Sprint(counts, counter)
	of := func(property string, m fold.Meaning) {
		text += fmt.Sprintf(" %q %v %v", property, cmp.Or(m.Scale, 1), m.Offset)
	}
	for _, property := range slices.Sorted(maps.Keys(s.Named)) {
		m := s.Meaning(property)
		if m.As == k.Sensor && (property != k.Sensor || cmp.Or(m.Scale, 1) != 1 || m.Offset != 0) {
			of(property, m)
		}
	}
	for _, p := range s.Patterns {
		of(p.Prefix+"*"+p.Suffix+" "+p.As, p.Meaning)
	}
	return text
}

// change returns how much a number has changed over the span until p. It is unknown where no reading is old enough, or
// only one of more than two spans ago.
func (k *Rate) change(points []point, p point) (change float64, known bool) {
	over := ticks(k.Over)
	start := p.at - over
	start -= start % (over / cells)
	for _, o := range slices.Backward(points) {
		if o.at <= start {
			if p.at-o.at > 2*over {
				return 0, false
			}
			return (p.value - o.value) * (float64(over) / float64(p.at-o.at)), true
		}
	}
	return 0, false
}

// with adds a reading. Of each cell, which ends with a moment at which a span may start, the last is kept, and one from
// before the span.
func (k *Rate) with(points []point, p point) []point {
	cell := ticks(k.Over) / cells
	if n := len(points); n > 1 && (points[n-1].at-1)/cell == (points[n-2].at-1)/cell {
		points = slices.Delete(points, n-2, n-1)
	}
	points = append(points, p)
	start := p.at - ticks(k.Over) - cell
	for len(points) > 1 && points[1].at <= start {
		points = points[1:]
	}
	return points
}

func (k *Rate) next(_ *work, t *tracked) tables.Ticks { return t.holdsAt(ticks(k.For)) }

func (k *Rate) judge(w *work, t *tracked, at tables.Ticks) {
	w.level(t, at, ticks(k.For), true, false, t.value)
}
