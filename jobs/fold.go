package jobs

import (
	"context"
	"errors"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Fold is the work of a processor: it takes samples in row order and says
// what is to be written. It is pure: the same state and the same samples give
// the same result, bit for bit, however many calls they came in. It does no
// input or output, and knows no time but that of the samples.
type Fold interface {
	// Fold gives the state after the samples. A nil state is that of a device
	// that was never folded; any other is one that this Fold gave. It is an error
	// of the program, not of the readings, when a state cannot be read. Of the
	// member it heeds the device, the tenant and the month.
	Fold(d schema.Member, state []byte, samples []Sample) (FoldResult, error)
}

// A Windowed fold makes outputs of windows of time. What came late is folded again, a
// day at a time, and replaces what was there; a fold that is not Windowed is given the
// late samples on top of its state. A window is at most a day long, or never ends: then
// it stays open, and moves on with the days of the newest samples.
type Windowed interface {
	Fold
	// OpenFrom is where the earliest window starts that later samples can still
	// change, or that is not written yet: tables.MaxTicks where there is none, zero
	// where no sample was ever folded.
	OpenFrom(state []byte) (tables.Ticks, error)
	// Open gives every window that later samples can still change, as it is now,
	// none of them closed.
	Open(d schema.Member, state []byte) ([]Effect, error)
}

// A Merging fold keeps, for each sensor, the newest value: states made of
// different rows can be joined.
type Merging interface {
	Fold
	// Merge gives the state that has, for each sensor, the newest of both: all of
	// base, and what other has from readings at or after from. Of two values of the
	// same reading, that of other counts. Its effect is the whole output, also where
	// nothing differs from base; an output without values has empty, non-nil
	// Properties.
	Merge(d schema.Member, base, other []byte, from tables.Ticks) (FoldResult, error)
}

// A Closer is a Fold that has something to say when time has passed, whether or
// not there were samples.
type Closer interface {
	Fold
	// Close is called after Fold, with the moment before which every row that
	// storage had was folded. The service's time, as samples have it.
	Close(d schema.Member, state []byte, until tables.Ticks) (FoldResult, error)
}

// FoldResult is what came of a fold.
type FoldResult struct {
	State   []byte
	Effects []Effect
	Refused []Refusal
}

// An Effect asks for one output to be written, whole.
type Effect struct {
	Output Output
	// Properties are the output's, a property per sensor; nil where the fold did
	// not change it, and only says that it is closed. Where they are empty and not
	// nil, no reading says anything of it: an output that is there is emptied, and
	// one that is not stays away.
	Properties []tables.Property
	// Closed says that no later sample in row order can change the output.
	Closed bool
	// From and To say of which samples an output of a window is made: those whose
	// ticks lie in [From, To). An Object is all readings there, and nothing else.
	From, To tables.Ticks
}

// An Output names an entity that processors write, or an object: its name is
// then the PartitionKey, a slash and the RowKey.
type Output struct {
	Table        string // one of Processor.Tables; empty: an object
	PartitionKey string
	RowKey       string
}

// Objects is where outputs are objects; an archive.Store is one.
type Objects interface {
	// Write makes an object of readings, which come in row order, in one step: it
	// is there whole or as it was before. The object keeps the fence of its writer;
	// where there is one with a higher fence, the error is ErrOvertaken.
	Write(ctx context.Context, name string, fence tables.Ticks, readings iter.Seq2[schema.Reading, error]) error
}

// ErrOvertaken says that another job with a higher fence has written already.
var ErrOvertaken = errors.New("another job has overtaken this one")

// A Refusal is a value that could not be folded, or a whole row. It goes to the
// rejects, and the rest of its row and of the device is folded all the same.
type Refusal struct {
	Row    string // RowKey of the reading
	Sensor string // empty: the row
	Reason string
}
