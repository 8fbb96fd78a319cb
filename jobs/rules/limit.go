package rules

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Limit is what a number must not pass: one of Above, Below and Outside. An incident closes when the number is back
// within, or where ClearBelow or ClearAbove say so.
type Limit struct {
	Above      *Bound      `yaml:"above"`
	Below      *Bound      `yaml:"below"`
	Outside    *[2]float64 `yaml:"outside"`
	ClearBelow *Bound      `yaml:"clearBelow"`
	ClearAbove *Bound      `yaml:"clearAbove"`
}

// A Bound is a number, or that of a label of the device.
type Bound struct {
	Number float64
	Label  string // empty: it is Number
}

// ParseBound parses a number, or labels.NAME.
func ParseBound(text string) (b Bound, ok bool) {
	if name, is := strings.CutPrefix(text, ofLabel); is {
		return Bound{Label: name}, name != ""
	}
	n, err := strconv.ParseFloat(text, 64)
	return Bound{Number: n}, err == nil && n-n == 0 // finite
}

func (b *Bound) String() string {
	if b.Label != "" {
		return ofLabel + b.Label
	}
	return shown(b.Number)
}

// bounded returns the bounds that are stated.
func (l *Limit) bounded() (all []**Bound) {
	for _, b := range []**Bound{&l.Above, &l.Below, &l.ClearBelow, &l.ClearAbove} {
		if *b != nil {
			all = append(all, b)
		}
	}
	return all
}

// of returns the limit of a device. There is none if a label is missing, is no number, or contradicts another.
func (l Limit) of(d schema.Member) (Limit, bool) {
	labels := false
	for _, b := range l.bounded() {
		if name := (*b).Label; name != "" {
			one, ok := ParseBound(d.Labels[name])
			if !ok || one.Label != "" {
				return l, false
			}
			*b, labels = &one, true
		}
	}
	return l, !labels || l.check() == nil
}

// stated reports whether there is a limit of a device.
func (l Limit) stated(d schema.Member) bool {
	_, has := l.of(d)
	return has
}

// labelled reports whether a number is that of a label.
func (l Limit) labelled() bool {
	return slices.ContainsFunc(l.bounded(), func(b **Bound) bool { return (*b).Label != "" })
}

// moved heeds another limit of a device. A number that is within it does not hold any more.
func (l Limit) moved(w *work, t *tracked) {
	if !l.labelled() || t.since == 0 || t.open() {
		return
	}
	limit, _ := l.of(w.member)
	if f, err := strconv.ParseFloat(t.value, 64); err == nil && !limit.holds(f) {
		t.since = 0
	}
}

func (l Limit) check() error {
	n := 0
	for _, is := range []bool{l.Above != nil, l.Below != nil, l.Outside != nil} {
		if is {
			n++
		}
	}
	low, high := l.bounds()
	switch {
	case n == 0:
		return errors.New("no limit; want above, below or outside")
	case n > 1:
		return errors.New("several limits; want one of above, below and outside")
	case l.Outside != nil && low >= high:
		return fmt.Errorf("outside [%s, %s]; want the lower number first", shown(low), shown(high))
	case l.ClearBelow != nil && l.Below != nil:
		return errors.New("clearBelow of a lower limit; want clearAbove")
	case l.ClearAbove != nil && l.Above != nil:
		return errors.New("clearAbove of an upper limit; want clearBelow")
	case l.labelled(): // each device has its own
	case l.ClearBelow != nil && l.ClearBelow.Number > high:
		return fmt.Errorf("clearBelow %s is above the limit of %s, so an incident would open and close at once",
			l.ClearBelow, shown(high))
	case l.ClearAbove != nil && l.ClearAbove.Number < low:
		return fmt.Errorf("clearAbove %s is below the limit of %s, so an incident would open and close at once",
			l.ClearAbove, shown(low))
	case l.ClearAbove != nil && l.ClearBelow != nil && l.ClearAbove.Number >= l.ClearBelow.Number:
		return fmt.Errorf("clearAbove %s is not below clearBelow %s, so an incident would never close",
			l.ClearAbove, l.ClearBelow)
	}
	return nil
}

// Numbers returns the one or two numbers of the limit of a device with some labels, the lower first. There are none
// where the limit is that of a label which the device does not have.
func (l Limit) Numbers(labels map[string]string) []float64 {
	of, has := l.of(schema.Member{Labels: labels})
	if !has {
		return nil
	}
	low, high := of.bounds()
	return slices.DeleteFunc([]float64{low, high}, func(f float64) bool { return math.IsInf(f, 0) })
}

// bounds returns the numbers that are within the limit.
func (l Limit) bounds() (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	switch {
	case l.Above != nil:
		high = l.Above.Number
	case l.Below != nil:
		low = l.Below.Number
	case l.Outside != nil:
		low, high = l.Outside[0], l.Outside[1]
	}
	return low, high
}

// holds reports whether a number is beyond the limit.
func (l Limit) holds(f float64) bool {
	low, high := l.bounds()
	return f < low || f > high
}

// clears reports whether a number closes an incident.
func (l Limit) clears(f float64) bool {
	return !l.holds(f) && (l.ClearBelow == nil || f < l.ClearBelow.Number) &&
		(l.ClearAbove == nil || f > l.ClearAbove.Number)
}

func (l Limit) String() string {
	var all []string
	low, high := l.bounds()
	switch {
	case l.Above != nil:
		all = append(all, "above "+l.Above.String())
	case l.Below != nil:
		all = append(all, "below "+l.Below.String())
	default:
		all = append(all, "outside "+shown(low)+" to "+shown(high))
	}
	if l.ClearBelow != nil {
		all = append(all, "until below "+l.ClearBelow.String())
	}
	if l.ClearAbove != nil {
		all = append(all, "until above "+l.ClearAbove.String())
	}
	return strings.Join(all, ", ")
}

// limit returns the limit of a device without what clears it.
func (l Limit) limit(d schema.Member) string {
	l, _ = l.of(d)
	l.ClearAbove, l.ClearBelow = nil, nil
	return l.String()
}

// shown formats a number for people, without the digits that scaling adds. Whole numbers have all of theirs.
func shown(f float64) string {
	f += 0 // -0 is 0
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', 10, 64)
}

// A Threshold holds while a number is beyond a limit.
type Threshold struct {
	Sensor string `yaml:"sensor,required" is:"sensor"`
	Limit
	For time.Duration `yaml:"for" least:"1s" most:"366d"`
}

// Name is threshold.
func (*Threshold) Name() string          { return "threshold" }
func (k *Threshold) String() string      { return k.Sensor + " " + k.Limit.String() + forText(k.For) }
func (k *Threshold) check() error        { return k.Limit.check() }
func (*Threshold) room() int             { return 0 }
func (k *Threshold) sensor() string      { return k.Sensor }
func (*Threshold) begin(*work, *tracked) {}
func (k *Threshold) says(w *work, t *tracked) string {
	return k.Sensor + " is " + t.value + ", " + k.limit(w.member) + forText(k.For)
}

func (k *Threshold) row(w *work, t *tracked, s *fold.Sample) {
	f, ok := number(s, k.Sensor)
	if l, has := k.of(w.member); ok && has {
		w.level(t, s.Key.Ticks, ticks(k.For), l.holds(f), l.clears(f), shown(f))
	}
}

func (k *Threshold) next(_ *work, t *tracked) tables.Ticks { return t.holdsAt(ticks(k.For)) }

func (k *Threshold) judge(w *work, t *tracked, at tables.Ticks) {
	w.level(t, at, ticks(k.For), true, false, t.value)
}
