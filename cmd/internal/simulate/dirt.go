package simulate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/cmd/internal/simulate/model"
)

// Dirt is how unclean the world is: how often each thing happens, from 0 to 1. What
// befalls whom and when follows from the fleet's seed.
type Dirt struct {
	Repeats  float64 // of readings: they come up to three times more
	Disorder float64 // of readings: they come up to five readings late
	Outages  float64 // of quarters of a day: a device is offline for a while, and some then send the newest first
	// of half days: for a while a device's clock stands in 1970, or an hour ahead; and of devices: that
	// they boot in 1970
	Clocks   float64
	Stuck    float64 // of quarters of a day: for a while a sensor says the same
	Texts    float64 // of readings: numbers are sent as texts
	Nested   float64 // of readings: temperatures are sent as a JSON object
	Nonsense float64 // of readings: a sensor says something that is no number
}

// shares are what a Dirt is made of, by the names that people use.
func (d *Dirt) shares() map[string]*float64 {
	return map[string]*float64{"repeats": &d.Repeats, "disorder": &d.Disorder, "outages": &d.Outages, "clocks": &d.Clocks,
		"stuck": &d.Stuck, "texts": &d.Texts, "nested": &d.Nested, "nonsense": &d.Nonsense}
}

// Kinds are the names of what can be unclean.
func Kinds() []string { return slices.Sorted(maps.Keys(new(Dirt).shares())) }

// Some is what a fleet has that is well looked after.
func Some() Dirt {
	return Dirt{Repeats: 0.01, Disorder: 0.01, Outages: 0.05, Clocks: 0.01, Stuck: 0.02, Texts: 0.02, Nested: 0.01,
		Nonsense: 0.002}
}

// Much is what there is of it at its worst.
func Much() Dirt {
	return Dirt{Repeats: 0.1, Disorder: 0.1, Outages: 0.3, Clocks: 0.1, Stuck: 0.2, Texts: 0.2, Nested: 0.1,
		Nonsense: 0.02}
}

// ParseDirt reads none, some, much, or kinds with commas between them: each as often
// as in much, or as often as it says, such as repeats,outages=0.5.
func ParseDirt(text string) (d Dirt, err error) {
	switch text {
	case "", "none":
		return d, nil
	case "some":
		return Some(), nil
	case "much":
		return Much(), nil
	}
	much := Much()
	for word := range strings.SplitSeq(text, ",") {
		kind, often, said := strings.Cut(strings.TrimSpace(word), "=")
		to, from := d.shares()[kind], much.shares()[kind]
		if to == nil {
			return d, fmt.Errorf("there is no %q; it takes none, some, much, or some of %s, with commas between them", kind,
				strings.Join(Kinds(), ", "))
		}
		if *to = *from; said {
			*to, err = strconv.ParseFloat(often, 64)
		}
		if err != nil || math.IsNaN(*to) || *to < 0 || *to > 1 {
			return d, fmt.Errorf("%s: how often it happens is a number from 0 to 1, such as %s=0.1, and not %q", kind, kind,
				often)
		}
	}
	return d, nil
}

// What befalls single readings or spans of time; each is drawn by itself.
const (
	aRepeat = iota + 1
	aDisorder
	anOutage
	aClock
	aStuckSensor
	aText
	anObject
	aNonsense
	aBootIn1970
)

// fate is a draw for a device and a number, such as a time.
type fate uint64

func (m Member) fate(of, n uint64) fate { return fate(model.Hash(m.key, forDirt, of, n)) }

// happens tells whether it does, where it does so often.
func (f fate) happens(share float64) bool { return share > 0 && f.draw(0) < share }

// draw is a number from 0 to 1 for each n.
func (f fate) draw(n uint64) float64 { return model.Unit(model.Hash(uint64(f), n)) }

// A span is a while in which something happens to a device.
type span struct {
	from, to time.Time
	fate
}

// spell is the span that t lies in of those that befall m, one in each part of time
// at most.
func (m Member) spell(of uint64, share float64, part time.Duration, t time.Time) (span, bool) {
	begin := t.Truncate(part)
	f := m.fate(of, uint64(begin.Unix()))
	if !f.happens(share) {
		return span{}, false
	}
	from := begin.Add(time.Duration(f.draw(1) * 0.6 * float64(part)))
	s := span{from, from.Add(time.Duration((0.05 + 0.34*f.draw(2)) * float64(part))), f}
	return s, !t.Before(s.from) && t.Before(s.to)
}
