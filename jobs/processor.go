package jobs

import (
	"fmt"
	"slices"
)

// A Processor is everything that the program knows of one kind of processing. Its
// package exports the one value, and package processors lists it: the engine, the
// configuration, queries, pages and the demo's checker learn of it from there.
type Processor struct {
	Name    string // [a-z][a-z0-9]{0,19}; in files, and in the names of properties that hold its state
	Summary string // what it keeps, in a few words
	// Formats are the format levels of a fleet at which its fold, or the bytes of its
	// state, changed: ascending, and the first is 1.
	Formats  []int
	MaxState int // bytes
	// Tables are where its outputs are, without the prefix of the fleet's names. Keys
	// there are those of latest (tenant!month, device) or of rollups (tenant!window!day!month,
	// device!bucket).
	Tables []string
	// Raw says that it copies readings as they are, into objects. No setting of a
	// sensor changes them then, and it is alone in its pipeline.
	Raw bool
	// Moves says that it heeds which sensors are counters, and which tell the position.
	Moves bool
	// New is its configuration with the defaults.
	New func() Config
}

// A Config is the configuration of a processor: a pointer to a struct, which the
// configuration file fills in. Tags of its fields name their keys (yaml), say what
// is wanted (want), bound durations (least and most), and leave out of the settings' hash
// what changes no output (hash:"-").
type Config interface {
	// Check says what is wrong with the configuration, and puts it into the one form
	// that stands for all that mean the same.
	Check() error
	// Fold is the fold that a checked configuration makes.
	Fold(Setup) Fold
}

// A Setup is what a fold has to know besides its configuration.
type Setup struct {
	Sensors Sensors
	Format  int // of Processor.Formats: how the fold works, and what it writes its state in
}

// Format is the processor's own at a level: the newest that is not above it.
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

// With is the processor with a configuration.
func (p *Processor) With(c Config, s Setup) (Configured, error) {
	if err := c.Check(); err != nil {
		return Configured{}, fmt.Errorf("processor %s: %w", p.Name, err)
	}
	return Configured{p, c.Fold(s)}, nil
}

// Default is the processor with its default configuration.
func (p *Processor) Default() Configured {
	return Configured{p, p.New().Fold(Setup{Format: p.Formats[0]})}
}

// windowed is the processor's fold where it is folded anew by windows.
func (p Configured) windowed() (Windowed, bool) {
	w, ok := p.Fold.(Windowed)
	return w, ok
}

// refolds tells whether the processor can be given rows again.
func (p Configured) refolds() bool {
	_, merging := p.Fold.(Merging)
	_, windowed := p.windowed()
	return merging || windowed
}

// check refuses effects on what the processor does not declare: nobody would find
// them there.
func (p Configured) check(effects []Effect) error {
	for _, e := range effects {
		if declared := e.Output.Table == "" && p.Raw || slices.Contains(p.Tables, e.Output.Table); !declared {
			return fmt.Errorf("processor %s writes to table %s, which is not among those that it declares: %q", p.Name,
				quote(e.Output.Table), p.Tables)
		}
	}
	return nil
}
