package fold

import (
	"fmt"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Processor is everything that the program knows about one kind of processing. Its package exports the one value, and
// package processors lists it: the engine, the configuration, queries, pages and the demo's checker learn about it from
// there.
type Processor struct {
	Name    string // [a-z][a-z0-9]{0,19}; in files, and in the names of properties that hold its state
	Summary string // what it keeps, in a few words
	// Formats are the format levels of a fleet at which its fold or its state changed, in ascending order. The first is 1.
	Formats  []int
	MaxState int // bytes
	// Tables are where its outputs are, without the prefix of the fleet's names. Keys there are those of latest
	// (tenant!month, device), of rollups (tenant!window!day!month, device!bucket), or of buckets (as rollups,
	// bucket!device).
	Tables []string
	// Marks says that all it does is to mark days: what is made of their rows is made by a grouping, which reads them
	// again. It has no tables, and is alone in its pipeline.
	Marks bool
	// Once says that it takes each row once, as a Watcher does: a change of its settings folds nothing again.
	Once bool
	// Acknowledges says that its pipeline writes the acknowledgements of commands.
	Acknowledges bool
	// Moves says that it heeds which sensors are counters, and which tell the position.
	Moves bool
	// Beside names what it makes beside its outputs, which an estimate of the cost leaves out; empty: nothing.
	Beside string
	// New returns its configuration with the defaults.
	New func() Config
}

// A Config is the configuration of a processor: a pointer to a struct, which the configuration file fills in. Tags of
// its fields are their keys (yaml), what is expected (want), bounds of durations (least and most), and hash:"-" for
// fields that change no output.
type Config interface {
	// Check returns what is wrong with the configuration, and brings it into the one form that stands for all with the
	// same meaning.
	Check() error
	// Fold returns the fold of a checked configuration.
	Fold(Setup) Fold
}

// A Setup is what a fold has to know besides its configuration.
type Setup struct {
	Sensors Sensors
	Model   string // name of the devices' model; empty: of none
	// Reported are the windows of rollups that reports are made of. They change no output but those for reports, so they
	// are not in the settings for which devices are folded again.
	Reported []schema.Window
	Format   int // one of Processor.Formats: of the fold and its state
}

// Format returns the processor's own format at a level: the newest that is not above it.
func (p *Processor) Format(level int) int {
	format := 1
	for _, f := range p.Formats {
		if f <= level {
			format = f
		}
	}
	return format
}

// A Configured processor is one of a pipeline's.
type Configured struct {
	*Processor
	Fold Fold
}

// With returns the processor with a configuration.
func (p *Processor) With(c Config, s Setup) (Configured, error) {
	if err := c.Check(); err != nil {
		return Configured{}, fmt.Errorf("processor %s: %w", p.Name, err)
	}
	return Configured{p, c.Fold(s)}, nil
}

// Default returns the processor with its default configuration.
func (p *Processor) Default() Configured {
	return Configured{p, p.New().Fold(Setup{Format: p.Formats[0]})}
}

// Windowed returns the processor's fold if it is Windowed.
func (p Configured) Windowed() (Windowed, bool) {
	w, ok := p.Fold.(Windowed)
	return w, ok
}

// Refolds reports whether the processor can take rows again.
func (p Configured) Refolds() bool {
	_, merging := p.Fold.(Merging)
	_, windowed := p.Windowed()
	return merging || windowed
}

// Check refuses effects on undeclared tables, where nobody would find them.
func (p Configured) Check(effects []Effect) error {
	for _, e := range effects {
		if declared := e.IsMark() && p.Marks || slices.Contains(p.Tables, e.Output.Table); !declared {
			return fmt.Errorf("processor %s writes to table %s, but declares only %q", p.Name,
				tables.Quote(e.Output.Table), p.Tables)
		}
	}
	return nil
}

// Folded says what one call of a processor took and made.
type Folded struct {
	Processor string
	Rows      int // samples that it was given
	Outputs   int // that it wants written
	Rejects   int // values that it refused
	Took      time.Duration
}
