package rate

import (
	"encoding/json"
	"fmt"
	"math"

	"furrow/jobs/fold"
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
	Steps       Tally         // between the readings of the bucket
	Counter     *fold.Counter // nil: it is none
	Position    *Position     // of the device at Last; nil where no reading of the bucket tells
	// Of a counter, one zero counts only if the next reading confirms that it began again. Lead is that of such a zero
	// before First, and Zero of one after Last; 0: there is none.
	Lead, Zero tables.Ticks
}

// add takes the sensor's next reading in, unless it is of the same tick as the last one.
func (s *Summary) add(r Reading, at *Position) bool {
	switch {
	case s.First == Reading{}:
		s.First = r
	case r.At == s.Last.At || r.At == s.Zero:
		return false
	case s.isZero(r) && s.Last.Value > r.Value && s.Zero == 0:
		s.Zero = r.At
		return true
	case s.lone() && r.Value > s.First.Value:
		s.Lead, s.First = s.First.At, r
	default:
		s.Steps.add(step(s.Last, r, s.Counter))
	}
	s.Last, s.Position, s.Zero = r, at, 0
	return true
}

func (s *Summary) isZero(r Reading) bool { return s.Counter != nil && r.Value == s.Counter.Zero }

// lone reports whether all that the bucket has is one zero of a counter.
func (s *Summary) lone() bool { return s.isZero(s.First) && s.First.At == s.Last.At }

// step is the difference from a reading to the next, and how long that took.
func step(from, to Reading, counter *fold.Counter) (Change, tables.Ticks) {
	difference, over := to.Value-from.Value, to.At-from.At
	if counter != nil {
		difference = counter.Rise(from.Value, to.Value)
	}
	return changeOf(difference, over), over
}

// A Before is what the buckets of a sensor before another one tell. The zero Before tells nothing.
type Before struct {
	Reading
	Zero tables.Ticks // of a counter, of one zero after the reading; 0: there is none
	lone bool         // the reading is a zero that is the first of all
}

// Complete reports whether older buckets would change nothing.
func (b *Before) Complete() bool { return b.At > 0 && !b.lone }

// After takes in what buckets tell that are older than all that it knows of.
func (b *Before) After(older *Before) {
	if b.Complete() {
		return
	}
	if zero := b.At; older.Value > b.Value && older.Zero == 0 {
		*b = *older
		b.Zero = zero
		return
	}
	b.lone = false
}

// Since is the tally of the bucket with the difference from the last reading before it, if that is not too old: what a
// counter rose over a pause counts, however long that was. It takes the bucket into before.
func (s *Summary) Since(before *Before) Tally {
	t := s.Steps
	first := func(c Change, over tables.Ticks) {
		last := t.Last
		if t.add(c, over); t.Count > 1 {
			t.Last = last
		}
	}
	b := *before
	*before = Before{s.Last, s.Zero, s.lone() && b.At == 0}
	switch {
	case b.At == 0 && s.Lead > 0: // the first of all is a zero
		first(step(Reading{s.Lead, s.Counter.Zero}, s.First, s.Counter))
	case b.At == 0 || s.Counter == nil && s.First.At-b.At > maxSilence:
	case s.lone() && b.Value > s.First.Value && b.Zero == 0:
		*before = Before{Reading: b.Reading, Zero: s.First.At, lone: b.lone}
	case s.Lead > 0 && b.Zero > 0: // two zeros: it began again
		c, over := step(Reading{b.At, s.Counter.Zero}, s.First, s.Counter)
		c = changeOf(c.Difference+s.Counter.Rise(b.Value, s.Counter.Zero), over)
		first(c, over)
	default:
		first(step(b.Reading, s.First, s.Counter))
	}
	return t
}

// counted is what the text of a summary says of a counter.
type counted struct {
	fold.Counter
	Lead tables.Ticks `json:"lead,omitempty"`
	Zero tables.Ticks `json:"lone,omitempty"`
}

// String is a JSON array: time and value of the first reading and of the last, the number,
// sum, least, greatest and last of the differences per hour between them, what counter it is
// or false, and latitude and longitude if they are known. Times are ticks as text.
func (s *Summary) String() string {
	t := &s.Steps
	all := []any{s.First.At, s.First.Value, s.Last.At, s.Last.Value, t.Count, t.Difference, t.Min, t.Max, t.Last, false}
	if s.Counter != nil {
		all[9] = counted{*s.Counter, s.Lead, s.Zero}
	}
	if s.Position != nil {
		all = append(all, s.Position.Lat, s.Position.Lon)
	}
	return encode(all)
}

// ParseSummary reads what Summary.String writes.
func ParseSummary(text string) (s Summary, err error) {
	t, at := &s.Steps, Position{}
	var counter json.RawMessage
	n, err := decode(text, &s.First.At, &s.First.Value, &s.Last.At, &s.Last.Value, &t.Count, &t.Difference,
		&t.Min, &t.Max, &t.Last, &counter, &at.Lat, &at.Lon)
	if n == 12 {
		s.Position = &at
	} else if n != 10 && err == nil {
		err = fmt.Errorf("rate %q has %d elements; want 10 or 12", text, n)
	}
	switch string(counter) {
	case "", "false":
	case "true": // as it was written before counters had settings
		s.Counter = &fold.Counter{}
	default:
		var c counted
		if bad := json.Unmarshal(counter, &c); bad != nil && err == nil {
			err = fmt.Errorf("rate %q: %w", text, bad)
		}
		s.Counter, s.Lead, s.Zero = &c.Counter, c.Lead, c.Zero
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
