package archive

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// Processor keeps raw readings as objects.
var Processor = &fold.Processor{
	Name:     "archive",
	Summary:  "the readings of each day, as objects",
	Formats:  []int{1},
	MaxState: maxState,
	Raw:      true,
	New:      func() fold.Config { return &Config{Format: JSONLines, CloseAfter: time.Hour, Every: Daily} },
}

// Formats of the archive.
const (
	JSONLines = "jsonl"   // an object for each device and day, of raw readings
	Parquet   = "parquet" // files of many devices for each tenant and day, of samples
)

// How often there are files.
const (
	Daily  = "1d"
	Hourly = "1h"
)

// A Config says what objects there are, and when a day is over.
type Config struct {
	Format string `yaml:"format" choice:"jsonl parquet" hash:"changed"`
	// CloseAfter is how long after its end a day stays open, so that late rows seldom cost a second object. It changes no
	// object.
	CloseAfter time.Duration `yaml:"closeAfter" least:"1s" most:"31d" hash:"-"`
	// Every is how often there are Parquet files: those of a day, or of each hour until the day's replace them.
	Every string `yaml:"every" choice:"1d 1h" hash:"-"`
	// Columns about devices that Parquet files have. Where they change, all files are made again, and nothing is folded.
	Columns []string `yaml:"columns" want:"a list of site and labels.NAME, such as [site, labels.class]" hash:"-"`
	// Rollups are windows whose buckets Parquet files have, too. Where they change, all files are made again.
	Rollups []schema.Window `yaml:"rollups" want:"a list of windows, such as [1h, 1d]" hash:"-"`
}

// Copies reports whether the objects have readings unchanged.
func (c *Config) Copies() bool { return c.Format != Parquet }

// Check refuses a day that closes before it ends.
func (c *Config) Check() error {
	if c.CloseAfter < 0 {
		return fmt.Errorf("closeAfter %v: a day cannot be closed before it ends", c.CloseAfter)
	}
	if c.Copies() && len(c.Columns) > 0 {
		return errors.New("columns: only Parquet files have some; add format: parquet")
	}
	if c.Copies() && len(c.Rollups) > 0 {
		return errors.New("rollups: only Parquet files have some; add format: parquet")
	}
	if c.Copies() && c.Every == Hourly {
		return errors.New("every: only Parquet files can be hourly; add format: parquet")
	}
	slices.Sort(c.Rollups)
	return About(c.Columns).check()
}

// Days returns the maker of the Parquet files of a pipeline.
func (c *Config) Days(p *groups.Source, s *Store) *Days {
	return &Days{Store: s, Source: p, About: c.Columns, Summed: Summed{Rollups: c.Rollups}, CloseAfter: c.CloseAfter,
		Hourly: c.Every == Hourly, Settle: p.Settle}
}

// Fold returns the fold of a checked configuration.
func (c *Config) Fold(fold.Setup) fold.Fold {
	if c.Format == Parquet {
		return &marking{c.CloseAfter, c.Every == Hourly}
	}
	return &Fold{c.CloseAfter}
}

// A Fold only lists days: readings never pass through its state. It is safe for concurrent use.
type Fold struct{ closeAfter time.Duration }

var (
	_ fold.Windowed = (*Fold)(nil)
	_ fold.Closer   = (*Fold)(nil)
)

// Fold records the days of samples, with or without values.
func (*Fold) Fold(d schema.Member, state []byte, samples []fold.Sample) (fold.Result, error) {
	awaited, err := decode(state)
	if err != nil {
		return fold.Result{}, fmt.Errorf("archive of %s: %w", d.Device, err)
	}
	if len(samples) == 0 {
		return fold.Result{State: state}, nil
	}
	for i := range samples {
		if awaited, err = awaited.with(schema.DayOf(samples[i].Key.Ticks)); err != nil {
			return fold.Result{}, fmt.Errorf("archive of %s: %w", d.Device, err)
		}
	}
	return fold.Result{State: awaited.encode()}, nil
}

// Bounds of the objects asked for at a time, and of the days that wait.
const (
	maxEffects = 8
	maxWaiting = 4000 // days
	maxState   = 16 << 10
)

// Close asks for the objects of the days that ended CloseAfter before until, 8 at a time: a device with years behind it
// must not keep a job for hours. The others wait in the state, and Close with that state asks for the next ones. It
// asks for more only if thousands of days wait, so that the state stays small.
func (f *Fold) Close(d schema.Member, state []byte, until tables.Ticks) (fold.Result, error) {
	awaited, err := decode(state)
	if err != nil {
		return fold.Result{}, fmt.Errorf("archive of %s: %w", d.Device, err)
	}
	over := 0
	for over < len(awaited) && end(awaited[over]).Add(f.closeAfter) <= until {
		over++
	}
	over = min(over, max(maxEffects, len(awaited)-maxWaiting))
	if over == 0 {
		return fold.Result{State: state}, nil
	}
	var out fold.Result
	for _, day := range awaited[:over] {
		out.Effects = append(out.Effects, fold.Effect{Output: output(d, day), Closed: true, From: day.Start(), To: end(day)})
	}
	out.State = awaited[over:].encode()
	return out, nil
}

func end(d schema.Day) tables.Ticks { return (d + 1).Start() }

// OpenFrom returns the start of the earliest day that is not archived yet.
func (*Fold) OpenFrom(state []byte) (tables.Ticks, error) {
	awaited, err := decode(state)
	switch {
	case err != nil || len(state) == 0:
		return 0, err
	case len(awaited) == 0:
		return tables.MaxTicks, nil
	}
	return awaited[0].Start(), nil
}

// Open returns nothing, because a day is written only when it is closed.
func (*Fold) Open(schema.Member, []byte) ([]fold.Effect, error) { return nil, nil }

var errOrder = errors.New("samples are not in row order")
