// Package fold has what a processor is made of: samples in, a state and effects out. Everything here is pure: no
// storage, no clock, no queue. Processors import it, and the engine calls them through it.
//
//	a row ─► schema.Reading ─► Sensors.Sample ─► Sample ─► Fold.Fold ─► Result: state, effects, refusals
//
// A Fold gives the same result however its samples are cut into calls. What it may do besides folding forwards is told
// by the interfaces that it has: Windowed, Merging, Closer, Watcher.
package fold

import (
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Fold is the work of a processor: it takes samples in row order and says what to write. It is pure: the same state
// and samples give the same result, bit for bit, however many calls they come in. It does no input or output, and knows
// no time but that of the samples.
type Fold interface {
	// Fold returns the state after the samples. A nil state is that of a device that was never folded; any other comes
	// from this Fold. A state that cannot be read is an error of the program, not of the readings. Only the device, tenant
	// and month of the member matter.
	Fold(d schema.Member, state []byte, samples []Sample) (Result, error)
}

// A Windowed fold makes outputs of windows of time, none longer than a day. Late samples are folded again with their
// whole day, and replace its outputs. A fold that is not Windowed gets late samples on top of its state.
type Windowed interface {
	Fold
	// OpenFrom returns the start of the earliest window that later samples can still change or that is not written yet:
	// tables.MaxTicks if there is none, and zero if no sample was ever folded.
	OpenFrom(state []byte) (tables.Ticks, error)
	// Open returns every window that later samples can still change, as it is now, none of them closed.
	Open(d schema.Member, state []byte) ([]Effect, error)
}

// A Merging fold keeps the newest value of each sensor: states made of different rows can be joined.
type Merging interface {
	Fold
	// Merge returns a state with the newest value of each sensor: everything in base, and in other what comes from
	// readings at or after from. Of two values of the same reading, that of other counts. Its effect is the whole output,
	// even if nothing differs from base; an output without values has empty, non-nil Properties.
	Merge(d schema.Member, base, other []byte, from tables.Ticks) (Result, error)
	// Below returns a state with the values from readings before a time, of the sensors that keep reports.
	Below(state []byte, before tables.Ticks, keep func(sensor string) bool) ([]byte, error)
}

// A Closer is a Fold that has effects when time has passed, with or without samples.
type Closer interface {
	Fold
	// Close is called after Fold with the time, in the service's clock, before which every row in storage was folded.
	Close(d schema.Member, state []byte, until tables.Ticks) (Result, error)
	// Next returns a time up to which Close has no effect on a state that was closed: tables.MaxTicks if it never has.
	Next(state []byte) (tables.Ticks, error)
}

// A Watcher is a Fold that takes each sample once and acts on time as well. Refolds never call it. What it has to say
// is committed with its state first, and posted afterwards: a job that dies before its commit leaves nothing.
type Watcher interface {
	Fold
	// Watch takes samples, or else the passing of time. A nil state is that of a device that was never folded.
	Watch(d schema.Member, state []byte, samples []Sample, at Moment) (Result, error)
	// Posts returns the entities that a committed state wants inserted, or deleted if they have no properties, and the
	// state without them. An entity that exists already counts as inserted, and one that does not as deleted.
	Posts(d schema.Member, state []byte) (posts []Effect, rest []byte, err error)
	// Next returns a time up to which nothing happens without samples, after Watch has taken the passing of time:
	// tables.MaxTicks if nothing ever does, and zero if there is something to be done or posted.
	Next(d schema.Member, state []byte, k Known) tables.Ticks
	// Leave closes what is open of a device that has left the fleet, for a reason, as far as the state has room. It
	// returns how much it has closed.
	Leave(d schema.Member, state []byte, at tables.Ticks, reason string) (left []byte, closed int, err error)
}

// A Moment tells a Watcher the time, in the service's clock.
type Moment struct {
	Horizon tables.Ticks // of the job
	// Until is the time before which every row in storage was folded, if time passes. It is the Horizon, unless the device
	// has more rows than the job folds.
	Until tables.Ticks
	Known
}

// Known is what a Watcher is told of a device besides its readings.
type Known struct {
	// Every is the stated interval between two readings; zero: nobody states one.
	Every time.Duration
	// Heard is the time of the newest row that was folded before the job; zero: none was, or it was imported.
	Heard tables.Ticks
	// New says that no row of the device was ever folded.
	New bool
	// Ahead says that storage's clock was ahead in an earlier job. Times of the state may lie in the future.
	Ahead bool
}

// FoldResult is the result of a fold.
type Result struct {
	State   []byte
	Effects []Effect
	Refused []Refusal
	// Left is how many of the samples a Watcher did not take because its state is full. Where time passes, it is 1 if
	// there is more to do. The next job continues.
	Left int
}
