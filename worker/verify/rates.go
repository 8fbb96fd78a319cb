package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// ratesTable is the table of rates, without the prefix of names.
const ratesTable = "rates"

const (
	roomOfRates   = 47 << 10 // that sensors may take, divided by the days that a device's row depends on
	partsOfSpan   = 12       // a span begins at one of these
	pointsOfSpan  = partsOfSpan + 4
	roomOfTrail   = 90 + 32 + pointsOfSpan*14
	roomOfCounter = pointsOfSpan*8 + 24
)

// finite keeps a number within what JSON can say.
func finite(f float64) float64 { return max(-math.MaxFloat64, min(math.MaxFloat64, f)) }

// A point is a number at a time.
type point struct {
	at    tables.Ticks
	value float64
	carry float64 // what a counter lost here by beginning again
}

// rate returns the difference from one point to a later one, and the same per hour.
func rate(from, to point, c *Counter) (difference, perHour float64) {
	difference = to.value - from.value
	switch lost := c.lost(from, to); {
	case lost > 0 && lost != c.Numbers: // it began again, and counts from there
		difference = max(0, to.value-c.Zero)
	case lost > 0:
		difference = lost - (from.value - to.value)
	}
	return perHours(difference, to.at-from.at)
}

// lost returns what the difference of two numbers lacks of what a counter counted: all numbers where it went over its
// end, and what it had where it began again.
func (c *Counter) lost(from, to point) float64 {
	if c == nil {
		return 0
	}
	fall := from.value - to.value
	switch had := from.value - c.Zero; {
	case fall <= 0 || fall <= c.Dips*had:
		return 0
	case c.Numbers > 0 && fall > c.Numbers/2:
		return c.Numbers
	case to.value < c.Zero:
		return fall
	default:
		return had
	}
}

// counter returns which counter a sensor is, or nil.
func (m *Model) counter(sensor string) *Counter {
	if c, is := m.Counters[sensor]; is {
		return &c
	}
	return nil
}

// glance reports whether a counter that was above zero is at it: once may be a fault.
func (c *Counter) glance(was, is float64) bool { return c != nil && is == c.Zero && was > is }

func perHours(difference float64, over tables.Ticks) (finiteDifference, perHour float64) {
	difference = finite(difference)
	return difference, finite(difference / (float64(over) / float64(tables.Hour)))
}

// A position is where a device was, and since when that is known.
type position struct {
	at       tables.Ticks
	lat, lon float64
}

// A step is what a bucket of rates has of a sensor.
type step struct {
	counter              *Counter
	lead, alone          tables.Ticks // of single zeros of a counter: before the first, after the last
	first, last          point
	count                int64
	sum, low, high, late float64
	where                position
}

func (s *step) text() string {
	all := []any{s.first.at, s.first.value, s.last.at, s.last.value, s.count, s.sum, s.low, s.high, s.late, false}
	if c := s.counter; c != nil {
		all[9] = struct {
			Zero  float64      `json:"zero,omitempty"`
			Wrap  float64      `json:"wrap,omitempty"`
			Dips  float64      `json:"dips"`
			Lead  tables.Ticks `json:"lead,omitempty"`
			Alone tables.Ticks `json:"lone,omitempty"`
		}{c.Zero, c.Numbers, c.Dips, s.lead, s.alone}
	}
	if s.where.at > 0 {
		all = append(all, s.where.lat, s.where.lon)
	}
	return asJSON(all)
}

func asJSON(all []any) string {
	b, _ := json.Marshal(all) // numbers are finite
	return string(b)
}

// steps are a bucket of rates.
type steps struct {
	model   *Model
	left    int // room
	sensors map[string]*step
	where   position
}

func (m *Model) steps(before int) *steps {
	return &steps{model: m, left: roomOfRates / (1 + before), sensors: map[string]*step{}}
}

func (b *steps) add(r *reading) {
	b.locate(r)
	for i := range r.values {
		b.addValue(r, &r.values[i])
	}
}

// locate takes the position that a reading tells.
func (b *steps) locate(r *reading) {
	lat, is := r.at(b.model.Lat)
	lon, both := r.at(b.model.Lon)
	if is && both {
		b.where = position{r.key.Ticks, lat, lon}
	}
}

// addValue adds a value, and reports whether it did: of several at one time only the first counts.
func (b *steps) addValue(r *reading, v *Value) bool {
	if v.IsText || v.Doubtful || v.Sensor == b.model.Lat || v.Sensor == b.model.Lon {
		return false
	}
	s, p := b.sensors[v.Sensor], point{at: r.key.Ticks, value: v.Number}
	if s == nil {
		counter := b.model.counter(v.Sensor)
		room := roomOfTrail + 2*len(v.Sensor)
		if counter != nil {
			room += roomOfCounter
		}
		if room > b.left {
			return false
		}
		s = &step{counter: counter, first: p, last: p, where: b.where}
		b.sensors[v.Sensor], b.left = s, b.left-room
		return true
	}
	switch {
	case p.at == s.last.at || p.at == s.alone:
		return false
	case s.alone == 0 && s.counter.glance(s.last.value, p.value):
		s.alone = p.at
		return true
	case s.first.at == s.last.at && s.counter.glance(p.value, s.first.value):
		s.lead, s.first, s.last, s.where = s.first.at, p, p, b.where
		return true
	}
	s.alone = 0
	difference, perHour := rate(s.last, p, s.counter)
	if s.count == 0 {
		s.low, s.high = perHour, perHour
	}
	s.count, s.sum = s.count+1, finite(s.sum+difference)
	s.low, s.high, s.late = min(s.low, perHour), max(s.high, perHour), perHour
	s.last, s.where = p, b.where
	return true
}

func (b *steps) properties() map[string]string {
	all := map[string]string{}
	for name, s := range b.sensors {
		all[name] = s.text()
	}
	return all
}

// changes are the newest rates of a device.
type changes struct {
	over   tables.Ticks
	before int // days before that of the newest row on which the device's row depends
	model  *Model
	last   tables.Ticks // of the newest row
	day    *steps       // that decides which sensors there is room for
	trails map[string]*trail
	where  position
}

// A trail is the points of a sensor that its newest rates are made of.
type trail struct {
	counter *Counter
	points  []point
	where   position     // of the device at the newest point
	alone   tables.Ticks // of a single zero after it, of the same day
}

// Rates are rates of change.
type Rates struct {
	Over time.Duration // over which differences are taken
}

func (Rates) tables() []string { return []string{ratesTable} }

func (Rates) windows() []schema.Window { return []schema.Window{schema.Hour, schema.Daily} }

func (o Rates) home(ctx context.Context, h *home, p Pipeline) error {
	if err := h.strangersOfDays(ctx, p, ratesTable, o.windows()); err != nil {
		return err
	}
	return h.strangers(ctx, p, ratesTable, h.Names.Output(ratesTable), h.at.String(), h.From.Floor(tables.Day))
}

func (o Rates) cost(values bool, days int64, busy load) (c cost) {
	if values {
		c.device = 1 + 2*days
	}
	c.home = 2 + (days+busy.days)*int64(len(longest(o.windows(), values)))
	return c
}

// begin prepares to compare the buckets of hours and days, and the newest rates.
func (o Rates) begin(ctx context.Context, p *pipe) error {
	if !p.Values {
		return nil
	}
	before := 1
	if o.Over > 12*time.Hour {
		before = 2
	}
	p.checks = append(p.checks, &changes{over: tables.Ticks(o.Over / 100), before: before, model: p.model,
		trails: map[string]*trail{}})
	for _, w := range o.windows() {
		s := &series{output: "rates " + w.String(), window: w,
			fresh: func(tables.Ticks) bucket { return p.model.steps(before) }}
		if err := s.begin(p, p.rowsOf(ctx, ratesTable, w)); err != nil {
			return err
		}
	}
	return nil
}

func (c *changes) name() string { return ratesTable }

// from returns the start of the first day that the device's row depends on.
func (c *changes) from() tables.Ticks {
	return max((schema.DayOf(c.last) - schema.Day(c.before)).Start(), 0)
}

func (c *changes) row(_ *pipe, r *reading) error {
	if c.day == nil || schema.DayOf(r.key.Ticks) != schema.DayOf(c.last) {
		c.last, c.day = r.key.Ticks, c.model.steps(c.before)
		c.forget(c.from())
	}
	c.last = r.key.Ticks
	c.day.locate(r)
	if c.day.where.at == r.key.Ticks {
		c.where = c.day.where
	}
	for i := range r.values {
		v := &r.values[i]
		if !c.day.addValue(r, v) {
			continue
		}
		t := c.trails[v.Sensor]
		if t == nil {
			t = &trail{counter: c.model.counter(v.Sensor)}
			c.trails[v.Sensor] = t
		}
		if t.add(point{at: r.key.Ticks, value: v.Number}, c.over) {
			t.where = c.where
		}
	}
	return nil
}

// forget drops what was before a time.
func (c *changes) forget(from tables.Ticks) {
	for name, t := range c.trails {
		t.points = slices.DeleteFunc(t.points, func(p point) bool { return p.at < from })
		if len(t.points) == 0 {
			delete(c.trails, name)
			continue
		}
		if t.points[0].carry = 0; t.where.at < from {
			t.where = position{}
		}
	}
	if c.where.at < from {
		c.where = position{}
	}
}

// add keeps the points of the span, and the newest before it. A zero of a counter waits for the next point: then add
// returns false.
func (t *trail) add(p point, over tables.Ticks) bool {
	if n := len(t.points); n > 0 {
		last := t.points[n-1]
		if t.alone == 0 && t.counter.glance(last.value, p.value) && schema.DayOf(last.at) == schema.DayOf(p.at) {
			t.alone = p.at
			return false
		}
		if t.counter == nil && p.at-last.at > tables.Day {
			t.points = t.points[:0]
		}
		p.carry = t.counter.lost(last, p)
	}
	t.alone = 0
	t.points = append(t.points, p)
	start := spanStart(p.at, over)
	for len(t.points) > 2 && t.points[1].at <= start {
		t.points = t.points[1:]
	}
	t.points[0].carry = 0
	return true
}

func spanStart(at, over tables.Ticks) tables.Ticks {
	part := over / partsOfSpan
	return (at - over) / part * part
}

// text returns the newest rates as they are stored; false where there is no reading before.
func (t *trail) text(c *changes) (string, bool) {
	last := len(t.points) - 1
	if last < 1 {
		return "", false
	}
	now := t.points[last]
	difference, perHour := rate(t.points[last-1], now, t.counter)
	all := []any{now.at, now.value, difference, perHour, nil, nil}
	start := spanStart(now.at, c.over)
	first := 0
	for first < last && t.points[first+1].at <= start {
		first++
	}
	over := now.at - t.points[first].at
	if t.points[first].at <= start && (over <= tables.Ticks(c.before)*tables.Day || t.counter != nil) {
		difference := finite(now.value - t.points[first].value)
		for _, p := range t.points[first+1:] {
			difference += finite(p.carry)
		}
		all[4], all[5] = perHours(difference, over)
	}
	if t.where.at > 0 {
		all = append(all, t.where.lat, t.where.lon)
	}
	return asJSON(all), true
}

// finish compares the newest rates, where the range has all rows that they depend on.
func (c *changes) finish(ctx context.Context, p *pipe) error {
	if tables.TicksBefore(p.track.Checkpoint) >= p.to || c.day == nil || c.from() < max(p.from, p.floor) {
		return nil
	}
	is := map[string]string{}
	for e, err := range p.newestRows(ctx, p.Names.Output(ratesTable)) {
		if err != nil {
			return err
		}
		p.compared("rates", len(stored(e)), e.Size())
		maps.Copy(is, stored(e))
	}
	ended := p.member.Spans.End() != 0
	for name, t := range c.trails {
		want, known := t.text(c)
		if known = known && !ended; known && !t.equals(is[name], want) {
			c.differ(p, name, cmp.Or(is[name], "absent"), want)
		}
		if known {
			delete(is, name)
		}
	}
	for name, text := range is {
		c.differ(p, name, text, "absent")
	}
	return nil
}

// equals compares rates. The sum of what a counter rose over a span is rounded in an order that depends on its parts.
func (t *trail) equals(is, want string) bool {
	if is == want || t.counter == nil {
		return is == want
	}
	var a, b []any
	if json.Unmarshal([]byte(is), &a) != nil || json.Unmarshal([]byte(want), &b) != nil || len(a) != len(b) {
		return false
	}
	for i := range a {
		x, number := a[i].(float64)
		y, both := b[i].(float64)
		if a[i] != b[i] && !(number && both && math.Abs(x-y) <= 1e-12*math.Abs(x)) {
			return false
		}
	}
	return true
}

func (c *changes) differ(p *pipe, sensor, is, want string) {
	p.differ(difference{output: "rates", sensor: sensor, is: is, want: want, from: c.last, to: c.last + 1,
		reason: p.pending()})
}
