package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// A Config says what is measured, and how.
type Config struct {
	Targets    []Target
	Workloads  []string      // names of [Names]; empty: all
	TableRows  []int         // sizes of the tables that are read; empty: 10,000 rows
	For        time.Duration // per workload, target and round
	Rounds     int           // the report shows their medians
	Clients    int           // at work at the same time, each on a device partition of its own
	Size       int           // bytes of an entity's JSON and of a message's text
	Transport  *Transport    // which all clients share
	Executable string        // the furrow binary, which serves [Local] and [Null] targets
	Progress   io.Writer     // a terminal to draw a progress bar on; nil: none
}

// The sizes that Config.Size may have. Below, there is no room for keys and
// values; above, the text of an entity no longer fits a property.
const (
	MinSize = 200
	MaxSize = 30_000
)

// Run measures, and returns what it measured. When ctx ends it cleans up and
// returns what there is so far, with an error that says so.
func Run(ctx context.Context, cfg Config) (report *Report, err error) {
	plan := cfg.plan()
	ends, err := openAll(ctx, cfg)
	report = newReport(cfg, ends)
	defer func() {
		err = errors.Join(err, closeAll(ctx, ends))
		report.note(ends)
	}()
	if err != nil {
		return report, err
	}
	bar := newProgress(cfg.Progress, cfg.length(plan, ends).Milliseconds())
	defer bar.done()

	ops, err := prepareAll(ctx, plan, ends, bar)
	if err != nil {
		return report, err
	}
	for round := range cfg.Rounds {
		for _, s := range plan {
			for _, e := range inTurn(ends, round) {
				do := ops[place{s, e}]
				if do == nil {
					continue
				}
				bar.describe(e.name + ": " + s.title())
				m := measurement{parts: s.parts, clients: cfg.Clients, length: cfg.For, tick: bar.tick}
				found := m.run(ctx, do)
				if ctx.Err() != nil {
					return report, errInterrupted
				}
				report.add(s, e.name, found)
			}
		}
	}
	return report, nil
}

var errInterrupted = errors.New("interrupted: the report holds what was measured until then")

// A step is a workload on a table of one size.
type step struct {
	*workload
	tableRows int // 0 when the workload reads no table that was filled for it
}

func (s step) title() string {
	if s.tableRows == 0 {
		return s.name
	}
	return fmt.Sprintf("%s, %s rows", s.name, thousands(float64(s.tableRows)))
}

// A place is where an operation belongs.
type place struct {
	step
	*endpoint
}

// plan orders the steps so that the sizes of one workload follow each other.
func (cfg Config) plan() []step {
	sizes := cfg.TableRows
	if len(sizes) == 0 {
		sizes = []int{10_000}
	}
	var plan []step
	for _, w := range workloads() {
		if len(cfg.Workloads) > 0 && !slices.Contains(cfg.Workloads, w.name) {
			continue
		}
		if !w.reads {
			plan = append(plan, step{workload: w})
			continue
		}
		for _, rows := range sizes {
			plan = append(plan, step{w, rows})
		}
	}
	return plan
}

// length is how long all measuring takes together.
func (cfg Config) length(plan []step, ends []*endpoint) (total time.Duration) {
	for _, s := range plan {
		for _, e := range ends {
			if s.null || !e.null {
				total += cfg.For * time.Duration(cfg.Rounds)
			}
		}
	}
	return total
}

// prepareAll makes what the operations work on, before anything is measured.
func prepareAll(ctx context.Context, plan []step, ends []*endpoint, bar *progress) (map[place]operation, error) {
	ops := map[place]operation{}
	for _, s := range plan {
		for _, e := range ends {
			if e.null && !s.null {
				continue
			}
			bar.describe(e.name + ": preparing " + s.title())
			do, err := s.prepare(ctx, e, s.tableRows)
			if err != nil {
				return nil, fmt.Errorf("%s: preparing %s: %w", e.name, s.title(), brief(err))
			}
			ops[place{s, e}] = do
		}
	}
	return ops, nil
}

// inTurn is ends, backwards every other round: whoever goes first finds another machine.
func inTurn[E any](ends []E, round int) []E {
	ends = slices.Clone(ends)
	if round%2 == 1 {
		slices.Reverse(ends)
	}
	return ends
}
