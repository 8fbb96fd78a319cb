package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

const (
	hourTicks = tables.Ticks(36_000_000_000)
	dayTicks  = 24 * hourTicks

	// A span begins at a twelfth of its length.
	partsOfSpan = 12

	// roomOfRates is what the sensors of the days of a device's row may take, with 346 bytes and twice its name each.
	roomOfRates = 48128
)

// ratesTable is where rates are, without the prefix of names.
const ratesTable = "rates"

// A point is a number that a sensor has sent.
type point struct {
	at    tables.Ticks
	value float64
}

// steps are the differences between the numbers of a bucket of rates.
type steps struct {
	first, last           point
	count                 int
	sum, min, max, newest float64
	size                  float64 // sum of the absolute differences
}

// perHour is how fast a number changes from one point to a later one.
func perHour(from, to point) float64 {
	return (to.value - from.value) / (float64(to.at-from.at) / float64(hourTicks))
}

// add adds a number, of several at one time only the first.
func (s *steps) add(p point) {
	if s.first.at == 0 {
		s.first, s.last = p, p
	}
	if p.at == s.last.at {
		return
	}
	rate := perHour(s.last, p)
	if s.count == 0 {
		s.min, s.max = rate, rate
	}
	s.count++
	s.sum += p.value - s.last.value
	s.size += math.Abs(p.value - s.last.value)
	s.min, s.max, s.newest = math.Min(s.min, rate), math.Max(s.max, rate), rate
	s.last = p
}

func (s *steps) readings() int { return 0 }

func (s *steps) equals(stored output) bool {
	o, is := stored.(*steps)
	return is && s.first == o.first && s.last == o.last && s.count == o.count && math.Abs(s.sum-o.sum) <= 1e-9*s.size &&
		same(s.min, o.min) && same(s.max, o.max) && same(s.newest, o.newest)
}

// same tells whether two numbers are equal but for how they were rounded.
func same(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(a) }

func (s *steps) String() string {
	return fmt.Sprintf("[from %s of %s to %s of %s, count %d, sum %s, min %s, max %s, last %s]", numberText(s.first.value),
		s.first.at, numberText(s.last.value), s.last.at, s.count, numberText(s.sum), numberText(s.min), numberText(s.max),
		numberText(s.newest))
}

// A change is the newest rate of a sensor: since the reading before, and over the span if span is set.
type change struct {
	point
	difference, rate         float64
	span                     bool
	spanDifference, spanRate float64
}

func (c change) readings() int { return 0 }

func (c change) equals(stored output) bool {
	o, is := stored.(change)
	return is && c.point == o.point && c.span == o.span && same(c.difference, o.difference) && same(c.rate, o.rate) &&
		same(c.spanDifference, o.spanDifference) && same(c.spanRate, o.spanRate)
}

func (c change) String() string {
	text := fmt.Sprintf("[%s of %s, difference %s, %s an hour", numberText(c.value), c.at, numberText(c.difference),
		numberText(c.rate))
	if c.span {
		text += fmt.Sprintf(", over the span %s, %s an hour", numberText(c.spanDifference), numberText(c.spanRate))
	}
	return text + "]"
}

// newestChange is the change of a sensor at the newest of its points, which are in the order of time. Those before from
// do not count. A span reaches back as far as most.
func newestChange(points []point, from, over, most tables.Ticks) (c change, known bool) {
	last := len(points) - 1
	begin := last // of the readings without a silence of more than a day
	for begin > 0 && points[begin-1].at >= from && points[begin].at-points[begin-1].at <= dayTicks {
		begin--
	}
	if last < 1 || begin == last {
		return c, false
	}
	now := points[last]
	c = change{point: now, difference: now.value - points[last-1].value, rate: perHour(points[last-1], now)}
	part := over / partsOfSpan
	start := (now.at - over) / part * part
	for i := last; i >= begin; i-- {
		if p := points[i]; p.at <= start {
			if now.at-p.at <= most {
				c.span, c.spanDifference, c.spanRate = true, now.value-p.value, perHour(p, now)
			}
			break
		}
	}
	return c, true
}

// parseRates reads what rates have of a sensor in a bucket, or in the row of a device.
func parseRates(p partition, text string) (output, error) {
	if p.window > 0 {
		var s steps
		var counter bool
		all := []any{&s.first.at, &s.first.value, &s.last.at, &s.last.value, &s.count, &s.sum, &s.min, &s.max, &s.newest,
			&counter}
		if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) != 10 || counter {
			return nil, errors.New("an array of two times with values, five numbers of differences, and false")
		}
		return &s, nil
	}
	var c change
	var difference, rate *float64
	all := []any{&c.at, &c.value, &c.difference, &c.rate, &difference, &rate}
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) != 6 || (difference == nil) != (rate == nil) {
		return nil, errors.New("an array of a time, a value, and two differences with their rates")
	}
	if c.span = rate != nil; c.span {
		c.spanDifference, c.spanRate = *difference, *rate
	}
	return c, nil
}

// addRates adds the numbers of a row to the buckets of rates, and keeps them for the newest.
func (x *expectation) addRates(at tables.Ticks, values map[string]value) {
	for name, v := range values {
		if !v.isNumber {
			continue
		}
		p := point{at, v.number}
		for _, w := range []schema.Window{schema.Hour, schema.Daily} {
			in := x.bucket(w, at)
			in.table, in.rates = x.names.Output(ratesTable), true
			sensors := x.sensors(in)
			if sensors[name] == nil {
				sensors[name] = &steps{}
			}
			sensors[name].(*steps).add(p)
		}
		if all := x.points[name]; len(all) == 0 || all[len(all)-1].at != at {
			x.points[name] = append(all, p)
		}
	}
}

// newestRates sets what is wanted in the device's row of rates, once all rows are added. The readings of the day of its
// newest row and of the day before count, or of two days before where the span is longer than half a day.
func (x *expectation) newestRates(over tables.Ticks) {
	before := dayTicks
	if over > dayTicks/2 {
		before = 2 * dayTicks
	}
	at := x.latest()
	at.table, at.rates = x.names.Output(ratesTable), true
	for name, points := range x.points {
		if c, known := newestChange(points, x.last/dayTicks*dayTicks-before, over, before); known {
			x.sensors(at)[name] = c
		}
	}
	x.points = nil
	for at, sensors := range x.outputs {
		room := 0
		for name := range sensors {
			room += 346 + 2*len(name)
		}
		x.crowded = x.crowded || at.rates && room > roomOfRates/(1+int(before/dayTicks))
	}
	if x.crowded {
		for at := range x.outputs {
			if at.rates {
				delete(x.outputs, at)
			}
		}
	}
}

// parsePartition returns what the key of a partition of outputs says: its window, zero for devices' rows, and the
// group.
func (c *checker) parsePartition(table, key string) (p partition, of schema.LatestPartition, err error) {
	p = partition{table: table, key: key, rates: table == c.Names.Output(ratesTable)}
	if table == c.Names.Rollups() || p.rates && strings.Count(key, schema.Separator) > 1 {
		var r schema.RollupPartition
		r, err = schema.ParseRollupPartition(key)
		p.window = r.Window
		return p, schema.LatestPartition{Tenant: r.Tenant, Month: r.Month}, err
	}
	of, err = schema.ParseLatestPartition(key)
	return p, of, err
}
