package rate

import (
	"encoding/json"
	"fmt"
	"math"

	"furrow/tables"
)

// A Reading is a number of a sensor.
type Reading struct {
	At    tables.Ticks
	Value float64
}

// A Change is a difference, and the same per hour.
type Change struct{ Difference, PerHour float64 }

// A Position is where a device was, in degrees.
type Position struct{ Lat, Lon float64 }

func changeOf(difference float64, over tables.Ticks) Change {
	difference = finite(difference)
	return Change{difference, finite(difference / Hours(over))}
}

// Hours are ticks as hours.
func Hours(t tables.Ticks) float64 { return float64(t) / float64(hour) }

// finite keeps a number within what JSON can say.
func finite(f float64) float64 { return max(-math.MaxFloat64, min(math.MaxFloat64, f)) }

// A Tally sums up differences between successive readings.
type Tally struct {
	Count          int64
	Difference     float64      // their sum
	Over           tables.Ticks // that they cover
	Min, Max, Last float64      // rates per hour
}

func (t *Tally) add(c Change, over tables.Ticks) {
	if t.Count == 0 {
		t.Min, t.Max = c.PerHour, c.PerHour
	}
	t.Count, t.Difference, t.Over = t.Count+1, finite(t.Difference+c.Difference), t.Over+over
	t.Min, t.Max, t.Last = min(t.Min, c.PerHour), max(t.Max, c.PerHour), c.PerHour
}

// Mean is the difference per hour over the time that the tally covers.
func (t Tally) Mean() float64 { return finite(t.Difference / Hours(t.Over)) }

// A Summary is what a bucket holds of one sensor.
type Summary struct {
	First, Last Reading
	Steps       Tally // between the readings of the bucket
	Counter     bool
	Position    *Position // of the device at Last; nil where no reading of the bucket tells
}

// add takes the sensor's next reading in, unless it is of the same tick as the last one.
func (s *Summary) add(r Reading, at *Position) bool {
	switch {
	case s.First == Reading{}:
		s.First = r
	case r.At == s.Last.At:
		return false
	default:
		s.Steps.add(step(s.Last, r, s.Counter))
	}
	s.Last, s.Position = r, at
	return true
}

// step is the difference from a reading to the next, and how long that took.
func step(from, to Reading, counter bool) (Change, tables.Ticks) {
	difference, over := to.Value-from.Value, to.At-from.At
	if counter && difference < 0 {
		difference = to.Value
	}
	return changeOf(difference, over), over
}

// Since is the tally of the bucket with the difference from the last reading of an
// earlier bucket, which is the sensor's newest one that has any. Nil is none.
func (s *Summary) Since(earlier *Summary) Tally {
	t := s.Steps
	if earlier == nil || s.First.At-earlier.Last.At > maxSilence {
		return t
	}
	last := t.Last
	if t.add(step(earlier.Last, s.First, s.Counter)); t.Count > 1 {
		t.Last = last
	}
	return t
}

// String is a JSON array: time and value of the first reading and of the last, the number,
// sum, least, greatest and last of the differences per hour between them, whether it is a
// counter, and latitude and longitude if they are known. Times are ticks as text.
func (s *Summary) String() string {
	t := &s.Steps
	all := []any{s.First.At, s.First.Value, s.Last.At, s.Last.Value, t.Count, t.Difference, t.Min, t.Max, t.Last,
		s.Counter}
	if s.Position != nil {
		all = append(all, s.Position.Lat, s.Position.Lon)
	}
	return encode(all)
}

// ParseSummary reads what Summary.String writes.
func ParseSummary(text string) (s Summary, err error) {
	t, at := &s.Steps, Position{}
	n, err := decode(text, &s.First.At, &s.First.Value, &s.Last.At, &s.Last.Value, &t.Count, &t.Difference,
		&t.Min, &t.Max, &t.Last, &s.Counter, &at.Lat, &at.Lon)
	if n == 12 {
		s.Position = &at
	} else if n != 10 && err == nil {
		err = fmt.Errorf("rate %q has %d elements; want 10 or 12", text, n)
	}
	t.Over = s.Last.At - s.First.At
	return s, err
}

func encode(all []any) string {
	b, _ := json.Marshal(all) // numbers are finite
	return string(b)
}

// decode reads a JSON array, and tells how many elements it has.
func decode(text string, to ...any) (int, error) {
	all := to
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return 0, fmt.Errorf("rate %q: %w", text, err)
	}
	return len(all), nil
}
