// Package config reads the configuration file: which pipelines there are, what
// they fold, and how the values of sensors are meant. It says everything that is
// wrong with a file at once, each with its line.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/latest"
	"furrow/jobs/rollup"
	"furrow/tables/schema"
)

// DefaultPath is the file that is read when none is named.
const DefaultPath = "furrow.yaml"

// A Config is what a configuration file says, with everything filled in that it
// leaves out.
type Config struct {
	Pipelines []Pipeline // at least one; their names differ
}

// A Pipeline is a cadence and a list of processors, with checkpoints of its own.
type Pipeline struct {
	Name       schema.Pipeline
	Cadence    time.Duration // from slot to slot: a part of a day, or whole days
	Batch      int           // devices that one message carries, 1 to jobs.MaxBatch
	Settle     time.Duration // younger rows wait
	Processors []Processor   // at least one; each once
	Sensors    map[string]Sensor
	Quality    Quality
	Position   jobs.Position

	// Format is that of the fleet, as schema.Format: how the processors fold, and what
	// they write their states in. It is not part of a file. Zero means 1.
	Format int64
}

// A Sensor says how the values of one are meant.
type Sensor struct {
	Type jobs.SensorKind // not AsSent
	Unit string          // of a Number; for people, may be empty
	// Counter is a Number that falls only when it restarts from zero.
	Counter bool
}

// Quality names the property whose values tell how good a whole reading is, and
// which of them are good. Zero: there is none.
type Quality struct {
	Sensor string
	Good   []string
}

// Default is the configuration where there is no file.
func Default() *Config {
	live, keep := newPipeline(), newPipeline()
	live.Name, live.Processors = "live", []Processor{{latest.Processor, latest.Processor.New()},
		{rollup.Processor, rollup.Processor.New()}}
	keep.Name, keep.Cadence, keep.Processors = "archive", time.Hour, []Processor{{archive.Processor,
		archive.Processor.New()}}
	return &Config{Pipelines: []Pipeline{live, keep}}
}

// newPipeline has what a pipeline does not say.
func newPipeline() Pipeline {
	return Pipeline{
		Cadence: time.Minute,
		Batch:   50,
		Settle:  10 * time.Second,
	}
}

// A File is the text of a configuration file.
type File struct {
	Name string // empty: there is no file, and Default holds
	Text string
}

// Open reads the text of a file. An empty path means DefaultPath where there is such
// a file, and no file where there is none.
func Open(path string) (File, error) {
	name := cmp.Or(path, DefaultPath)
	text, err := readFile(name)
	switch {
	case path == "" && errors.Is(err, fs.ErrNotExist):
		return File{}, nil
	case errors.Is(err, fs.ErrNotExist):
		return File{}, fmt.Errorf("configuration %s: there is no such file; 'furrow config init %s' makes one", name, name)
	case err != nil:
		return File{}, fmt.Errorf("configuration: %w", err)
	}
	return File{name, string(text)}, nil
}

// Config is what the file says. Its error is Problems.
func (f File) Config() (*Config, error) {
	if f.Name == "" {
		return Default(), nil
	}
	return Parse(f.Name, []byte(f.Text))
}

// Load reads what the file of a path says, as Open finds it.
func Load(path string) (*Config, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return f.Config()
}

// readFile reads no more than tells that a file is too long.
func readFile(name string) (text []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// Parse reads the text of a file of that name. Its error is Problems.
func Parse(name string, text []byte) (*Config, error) {
	r := &reader{file: name, left: maxNodes, owners: map[string]owner{}}
	c := &Config{}
	if root, ok := r.parse(text); ok {
		c = r.config(root)
	}
	if r.left == 0 {
		return nil, Problems{{name, 1, 1, fmt.Sprintf("the aliases of the file stand for more than %d values, which is the "+
			"most that is read", maxNodes)}}
	}
	if len(r.problems) > 0 {
		return nil, r.problems.sorted()
	}
	return c, nil
}
