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

	"github.com/goccy/go-yaml/ast"
)

// DefaultPath is the file that is read by default.
const DefaultPath = "furrow.yaml"

// A Config is a configuration with all defaults filled in.
type Config struct {
	Pipelines []Pipeline      `yaml:"pipelines,required"` // at least one, with different names
	Models    []Model         `yaml:"models"`             // the last is for devices of no other, and has no name
	Rules     Rules           `yaml:"rules,late"`
	Notify    []notify.Target `yaml:"notify"` // with different names
	Reports   *Reports        `yaml:"reports" want:"a map like {windows: [1h, 1d], by: [tenant, site, labels.class]}"`
	Retention Kept            `yaml:"retention"` // the first that a device matches holds for it
	Budget    Budget          `yaml:"budget" want:"a map like {usdPerMonth: 50}"`
	Verify    *Verify         `yaml:"verify" want:"a map like {sample: 1%, every: 1d}"` // nil: nothing by itself
}

// contents are what a file has.
type contents struct {
	*Config
	Meaning // of the devices of no model
}

// A Budget is what a month may cost.
type Budget struct {
	USDPerMonth float64 `yaml:"usdPerMonth,required"` // zero: there is no budget
}

func (b *Budget) check(r *reader, _, n ast.Node, clean bool) {
	if clean && b.USDPerMonth <= 0 {
		r.problem(n, "usdPerMonth: %v; want more than 0, or no budget", b.USDPerMonth)
	}
}

// A Pipeline is a cadence and a list of processors. It has checkpoints of its own.
type Pipeline struct {
	Name schema.Pipeline `yaml:"name,required" is:"name"`
	// Cadence lies between slots. It divides a day, or is whole days.
	Cadence time.Duration `yaml:"cadence" is:"cadence" default:"1m"`
	// Batch is how many devices a message has, at most jobs.MaxBatch.
	Batch int `yaml:"batch" least:"1" most:"99" default:"50" want:"a whole number of devices from 1 to 99"`
	// Settle is the settle time of rows.
	Settle time.Duration `yaml:"settle" least:"1s" most:"1h" default:"10s"`
	// Processors are at least one, and each is there once.
	Processors []Processor `yaml:"processors,required"`

	// The others are those of the configuration.
	Models  []Model
	Notify  []notify.Target
	Reports *Reports
	Keep    []Keep
	Budget  float64 // US dollars a month; zero: none
	Verify  *Verify

	Others []Pipeline // of the pipeline Retention: all others. It has no processors.

	// Format is the fleet's format, as schema.Format, of folds and stored states. It is not in the file. Zero: 1.
	Format int64
}

// check checks a name, which is that of no other pipeline.
func (p *Pipeline) check(r *reader, _, n ast.Node, _ bool) {
	at := r.child(n, "name")
	if p.Name == Retention {
		r.problem(at, "name retention is that of the pipeline that deletes; want another")
	} else if _, err := schema.ParsePipeline(string(p.Name)); err == nil {
		if other, taken := r.own("name "+string(p.Name), at); taken {
			r.problem(at, "the pipeline in line %[2]d has the name %[1]s already", p.Name, other.line)
		}
	}
}

// Default returns the configuration without a file.
func Default() *Config { return Newest.Default() }

// Default returns the configuration of a fleet without a file.
func (e Edition) Default() *Config {
	live, keep := newPipeline(), newPipeline()
	live.Name, live.Processors = "live", []Processor{e.fill(latest.Processor), e.fill(rollup.Processor)}
	keep.Name, keep.Cadence, keep.Processors = "archive", time.Hour, []Processor{e.fill(archive.Processor)}
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
		c.Pipelines[i].Keep, c.Pipelines[i].Budget, c.Pipelines[i].Verify = c.Retention, c.Budget.USDPerMonth, c.Verify
		for _, p := range c.Pipelines[i].Processors {
			if watching, ok := p.Config.(*rules.Config); ok {
				watching.Rules, watching.Targets = c.watched(), targets
			}
		}
	}
	c.retain()
}

// newPipeline returns a pipeline with defaults.
func newPipeline() (p Pipeline) {
	setDefaults(&p)
	return p
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

// Check returns the Problems of a file that no fleet could use, of whichever edition.
func (f File) Check() error {
	_, err := f.Config()
	if err == nil {
		return nil
	}
	if _, older := Minutes.Parse(f.Name, []byte(f.Text)); older == nil {
		return nil
	}
	return err
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

// An Edition says what holds where a configuration leaves it out. A fleet keeps the one that it began with, so no
// device is folded again because new fleets have better defaults.
type Edition int64

const (
	Minutes Edition = iota // rollups of [1m, 1h, 1d]
	Newest                 // of [15m, 1h, 1d]
)

// Parse parses the text of a file for a new fleet. Its error is Problems.
func Parse(name string, text []byte) (*Config, error) { return Newest.Parse(name, text) }

// Parse parses the text of a file. Its error is Problems.
func (e Edition) Parse(name string, text []byte) (*Config, error) {
	c := &Config{}
	r := &reader{file: name, edition: e, left: maxNodes, owners: map[string]owner{}, config: c}
	if root, ok := r.parse(text); ok {
		all := &contents{Config: c}
		r.block(all, root, root, "pipelines: and a list of them")
		c.Models = append(c.Models, Model{Meaning: all.Meaning})
		c.share()
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
