// Package config reads the configuration file: the pipelines, their processors, and the meaning of sensors. It reports
// all problems of a file at once, each with its line.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/latest"
	"furrow/jobs/notify"
	"furrow/jobs/rollup"
	"furrow/jobs/rules"
	"furrow/tables/schema"
)

// DefaultPath is the file that is read by default.
const DefaultPath = "furrow.yaml"

// A Config is a configuration with all defaults filled in.
type Config struct {
	Pipelines []Pipeline // at least one, with different names
	Models    []Model    // the last is for devices of no other, and has no name
	Rules     []rules.Rule
	Notify    []notify.Target // with different names
	Reports   *Reports        // nil: there are none
	Retention []Keep          // the first that a device matches holds for it
	Budget    float64         // US dollars a month; zero: none
	Verify    *Verify         // nil: nothing is verified by itself
}

// A Pipeline is a cadence and a list of processors. It has checkpoints of its own.
type Pipeline struct {
	Name       schema.Pipeline
	Cadence    time.Duration // between slots: divides a day, or is whole days
	Batch      int           // devices per message, 1 to jobs.MaxBatch
	Settle     time.Duration // settle time of rows
	Processors []Processor   // at least one; each once
	Models     []Model       // those of the configuration
	Notify     []notify.Target
	Reports    *Reports // those of the configuration

	Keep   []Keep  // the retention of the configuration
	Budget float64 // of the configuration
	Verify *Verify // of the configuration

	Others []Pipeline // of the pipeline Retention: all others. It has no processors.

	// Format is the fleet's format, as schema.Format, of folds and stored states. It is not in the file. Zero: 1.
	Format int64
}

// Default returns the configuration without a file.
func Default() *Config {
	live, keep := newPipeline(), newPipeline()
	live.Name, live.Processors = "live", []Processor{{latest.Processor, latest.Processor.New()},
		{rollup.Processor, rollup.Processor.New()}}
	keep.Name, keep.Cadence, keep.Processors = "archive", time.Hour, []Processor{{archive.Processor,
		archive.Processor.New()}}
	c := &Config{Pipelines: []Pipeline{live, keep}, Models: []Model{{}}}
	c.share()
	return c
}

// share gives the models and targets to the pipelines, and the rules to the processor that evaluates them.
func (c *Config) share() {
	var targets []schema.Target
	for _, t := range c.Notify {
		targets = append(targets, t.Name)
	}
	for i := range c.Pipelines {
		c.Pipelines[i].Models, c.Pipelines[i].Notify, c.Pipelines[i].Reports = c.Models, c.Notify, c.Reports
		c.Pipelines[i].Keep, c.Pipelines[i].Budget, c.Pipelines[i].Verify = c.Retention, c.Budget, c.Verify
		for _, p := range c.Pipelines[i].Processors {
			if watching, ok := p.Config.(*rules.Config); ok {
				watching.Rules, watching.Targets = c.watched(), targets
			}
		}
	}
	c.retain()
}

// newPipeline returns a pipeline with defaults.
func newPipeline() Pipeline {
	return Pipeline{
		Cadence: time.Minute,
		Batch:   50,
		Settle:  10 * time.Second,
	}
}

// A File is the text of a configuration file.
type File struct {
	Name string // empty: no file, use Default
	Text string
}

// Open reads the text of a file. An empty path means DefaultPath if that exists, or else no file.
func Open(path string) (File, error) {
	name := cmp.Or(path, DefaultPath)
	text, err := readFile(name)
	switch {
	case path == "" && errors.Is(err, fs.ErrNotExist):
		return File{}, nil
	case errors.Is(err, fs.ErrNotExist):
		return File{}, fmt.Errorf("configuration %s: there is no such file; 'furrow config init %s' creates one", name, name)
	case err != nil:
		return File{}, fmt.Errorf("configuration: %w", err)
	}
	return File{name, string(text)}, nil
}

// Config parses the file. Its error is Problems.
func (f File) Config() (*Config, error) {
	if f.Name == "" {
		return Default(), nil
	}
	return Parse(f.Name, []byte(f.Text))
}

// Load opens and parses a file.
func Load(path string) (*Config, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return f.Config()
}

// readFile reads at most one byte more than a file may have.
func readFile(name string) (text []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// Parse parses the text of a file. Its error is Problems.
func Parse(name string, text []byte) (*Config, error) {
	r := &reader{file: name, left: maxNodes, owners: map[string]owner{}}
	c := &Config{}
	if root, ok := r.parse(text); ok {
		c = r.config(root)
	}
	if r.left == 0 {
		return nil, Problems{{name, 1, 1, fmt.Sprintf("the aliases of the file stand for more than %d values, the most "+
			"that is read", maxNodes)}}
	}
	if len(r.problems) > 0 {
		return nil, r.problems.sorted()
	}
	return c, nil
}
