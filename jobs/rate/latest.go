package rate

import (
	"fmt"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Latest is what a device's row of the table rates holds of one sensor.
type Latest struct {
	Reading            // the newest
	Step     Change    // to the reading before
	Span     *Change   // over the span; nil where there is no reading before it
	Position *Position // of the device at the reading; nil where it is not known
}

// String is a JSON array of the time, in ticks as text, the value, the difference and
// rate to the reading before, those over the span or two nulls, and latitude and
// longitude if they are known.
func (l Latest) String() string {
	all := []any{l.At, l.Value, l.Step.Difference, l.Step.PerHour, nil, nil}
	if l.Span != nil {
		all[4], all[5] = l.Span.Difference, l.Span.PerHour
	}
	if l.Position != nil {
		all = append(all, l.Position.Lat, l.Position.Lon)
	}
	return encode(all)
}

// ParseLatest reads what Latest.String writes.
func ParseLatest(text string) (l Latest, err error) {
	var at Position
	var difference, perHour *float64
	n, err := decode(text, &l.At, &l.Value, &l.Step.Difference, &l.Step.PerHour, &difference, &perHour, &at.Lat, &at.Lon)
	if n == 8 {
		l.Position = &at
	} else if n != 6 && err == nil {
		err = fmt.Errorf("rate %q has %d elements; want 6 or 8", text, n)
	}
	if difference != nil && perHour != nil {
		l.Span = &Change{*difference, *perHour}
	}
	return l, err
}

// A trail is the readings of a sensor that its newest rates are made of.
type trail struct {
	name    string
	counter *fold.Counter // nil: it is none
	points  []point
	place   place        // of the device at the newest reading
	zero    tables.Ticks // of one zero of a counter after the newest point; 0: there is none
}

// A point is a reading that is kept. Of each twelfth of a span the last one is, the
// newest one at or before the span's start, and always the newest two.
type point struct {
	Reading
	// carry is how much the counter had reached at its resets and wraps since the point
	// before; of the first point zero.
	carry float64
}

// A place is a position that a reading told, and when. Zero: none.
type place struct {
	Position
	at tables.Ticks
}

// since is the position if it was told at or after from.
func (p place) since(from tables.Ticks) *Position {
	if p.at == 0 || p.at < from {
		return nil
	}
	return &p.Position
}

func (t *trail) add(r Reading, at place, over tables.Ticks) {
	last := len(t.points) - 1
	if t.awaits(r) {
		t.zero = r.At
		return
	}
	t.place, t.zero = at, 0
	if last < 0 || t.counter == nil && r.At-t.points[last].At > maxSilence {
		t.points = append(t.points[:0], point{Reading: r})
		return
	}
	p, cell := point{Reading: r}, over/cells
	if t.counter != nil {
		p.carry = t.counter.Carry(t.points[last].Value, r.Value)
	}
	if last > 0 && (t.points[last-1].At-1)/cell == (t.points[last].At-1)/cell { // a cell ends with its last tick
		t.points[last].carry = finite(t.points[last].carry + t.points[last-1].carry)
		t.points = append(t.points[:last-1], t.points[last])
	}
	t.points = append(t.points, p)
	start := (r.At - over) / cell * cell
	for len(t.points) > 1 && t.points[1].At <= start {
		t.points = t.points[1:]
	}
	t.points[0].carry = 0
}

// awaits reports whether the next reading has to tell what a zero of a counter is. That is so within a day alone, so
// that nothing depends on readings of a day that has expired.
func (t *trail) awaits(r Reading) bool {
	last := len(t.points) - 1
	return t.counter != nil && last >= 0 && t.zero == 0 && r.Value == t.counter.Zero &&
		t.points[last].Value > r.Value && schema.DayOf(t.points[last].At) == schema.DayOf(r.At)
}

// expire forgets what was before a moment.
func (t *trail) expire(from tables.Ticks) {
	for len(t.points) > 0 && t.points[0].At < from {
		t.points = t.points[1:]
	}
	if t.place.at < from {
		t.place = place{}
	}
	if len(t.points) > 0 {
		t.points[0].carry = 0
	} else {
		t.zero = 0
	}
}

// latest are the newest rates; not known where there is no reading before.
func (t *trail) latest(f *Fold) (l Latest, known bool) {
	last := len(t.points) - 1
	if last < 1 {
		return l, false
	}
	first, before, newest := t.points[0], t.points[last-1], t.points[last]
	l = Latest{Reading: newest.Reading, Position: t.place.since(0)}
	l.Step, _ = step(before.Reading, newest.Reading, t.counter)
	cell := f.over / cells
	over, most := newest.At-first.At, tables.Ticks(f.before)*day
	if first.At <= (newest.At-f.over)/cell*cell && (over <= most || t.counter != nil) {
		difference := finite(newest.Value - first.Value)
		for _, p := range t.points[1:] {
			difference += finite(p.carry) // two infinities would be no number
		}
		span := changeOf(difference, over)
		l.Span = &span
	}
	return l, true
}
