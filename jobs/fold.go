package jobs

import (
	"context"
	"errors"
	"iter"

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
	Fold(d schema.Member, state []byte, samples []Sample) (FoldResult, error)
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
	Merge(d schema.Member, base, other []byte, from tables.Ticks) (FoldResult, error)
	// Below returns a state with the values from readings before a time, of the sensors that keep reports.
	Below(state []byte, before tables.Ticks, keep func(sensor string) bool) ([]byte, error)
}

// A Closer is a Fold that has effects when time has passed, with or without samples.
type Closer interface {
	Fold
	// Close is called after Fold with the time, in the service's clock, before which every row in storage was folded.
	Close(d schema.Member, state []byte, until tables.Ticks) (FoldResult, error)
}

// A Watcher is a Fold that takes each sample once and acts on time as well. Refolds never call it. What it has to say
// is committed with its state first, and posted afterwards: a job that dies before its commit leaves nothing.
type Watcher interface {
	Fold
	// Watch takes samples, or else the passing of time. A nil state is that of a device that was never folded.
	Watch(d schema.Member, state []byte, samples []Sample, at Moment) (FoldResult, error)
	// Posts returns the entities that a committed state wants inserted, or deleted if they have no properties, and the
	// state without them. An entity that exists already counts as inserted, and one that does not as deleted.
	Posts(d schema.Member, state []byte) (posts []Effect, rest []byte, err error)
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
}

// FoldResult is the result of a fold.
type FoldResult struct {
	State   []byte
	Effects []Effect
	Refused []Refusal
	// Left is how many of the samples a Watcher did not take because its state is full. Where time passes, it is 1 if
	// there is more to do. The next job continues.
	Left int
}

// An Effect asks for one output to be written as a whole.
type Effect struct {
	Output Output
	// Properties has a property for each sensor. If it is nil, the fold did not change the output, and only closes it. If
	// it is empty and not nil, no reading concerns the output: an existing one is emptied, and no new one is created.
	Properties []tables.Property
	// Closed says that no later sample in row order can change the output.
	Closed bool
	// Command is what a Watcher wants sent to the device. If too many commands wait, the output is written instead.
	Command *schema.Command
	// From and To are the window of an output: it is made of samples whose ticks lie in [From, To). An object is made of
	// all readings there, and nothing else.
	From, To tables.Ticks
	// Mark, if it has a kind, is left in the tracking partition with the commit: something that depends on the output has
	// to be made again. The partition is that of the device.
	Mark schema.Mark
	// Apart, if it is not zero, is the time of the service from which the mark is about this device alone: its name then
	// ends with the device.
	Apart tables.Ticks
	// Lapse, if it is not zero, is the time of the service from which no mark is left: another effect asks for more.
	Lapse tables.Ticks
}

// An Output names an entity that processors write, or an object: its name is then the PartitionKey, a slash and the
// RowKey.
type Output struct {
	Table        string // one of Processor.Tables; empty: an object
	PartitionKey string
	RowKey       string
}

// Objects stores objects, such as an archive.Store.
type Objects interface {
	// Write writes an object of readings, which come in row order, in one step: readers see it whole or as it was before.
	// The object keeps the fence of its writer. If there is one with a higher fence, Write returns ErrOvertaken.
	Write(ctx context.Context, name string, fence tables.Ticks, readings iter.Seq2[schema.Reading, error]) error
}

// ErrOvertaken says that another job with a higher fence has written already.
var ErrOvertaken = errors.New("another job has overtaken this one")

// A Refusal is a value that could not be folded, or a whole row. It becomes a reject, and the rest of the row and the
// device are still folded.
type Refusal struct {
	Row    string // RowKey of the reading
	Sensor string // empty for the whole row
	Reason string
}
