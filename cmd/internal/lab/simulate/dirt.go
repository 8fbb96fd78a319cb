package simulate

import (
	"time"

	"furrow/cmd/internal/lab/simulate/model"
)

// Dirt says how often each kind of fault happens, from 0 to 1. Which devices it affects and when follows from the
// fleet's seed.
type Dirt struct {
	Repeats  float64 // readings that are sent up to three times more
	Disorder float64 // readings that are sent up to five readings late
	Outages  float64 // quarters of a day in which a device is offline for a while; some then send the newest first
	Clocks   float64 // half days in which a clock is in 1970 or an hour ahead for a while; devices that boot in 1970
	Stuck    float64 // quarters of a day in which a sensor repeats its value for a while
	Texts    float64 // readings whose numbers are sent as texts
	Nested   float64 // readings whose temperatures are sent as a JSON object
	Nonsense float64 // readings with a value that is no number
}

// Some is the dirt of a well-maintained fleet.
func Some() Dirt {
	return Dirt{Repeats: 0.01, Disorder: 0.01, Outages: 0.05, Clocks: 0.01, Stuck: 0.02, Texts: 0.02, Nested: 0.01,
		Nonsense: 0.002}
}

// Much is the dirt of a badly maintained fleet.
func Much() Dirt {
	return Dirt{Repeats: 0.1, Disorder: 0.1, Outages: 0.3, Clocks: 0.1, Stuck: 0.2, Texts: 0.2, Nested: 0.1,
		Nonsense: 0.02}
}

// Kinds of draws.
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

func (m Member) fate(of, n uint64) model.Fate { return model.Fate(model.Hash(m.key, forDirt, of, n)) }

// span returns the span of a fault that contains t. Each part of time has one at most.
func (m Member) span(of uint64, share float64, part time.Duration, t time.Time) (model.Span, bool) {
	return model.SpanAt(t, share, part, func(n uint64) model.Fate { return m.fate(of, n) })
}
