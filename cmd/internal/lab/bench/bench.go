package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Settings are what both benchmarks take.
type Settings struct {
	Workloads  []string      // names of the workloads to run; empty: all
	For        time.Duration // per workload, target and round
	Rounds     int           // the report shows their medians
	Clients    int           // working at the same time
	Executable string        // the furrow binary, which serves what the benchmark starts
	Progress   func(step string)
}

var errInterrupted = errors.New("interrupted: the report holds what was measured until then")

// A workload is what every client does over and over, and one row of the report.
type workload struct {
	name  string
	about string   // for the help text
	rows  int      // rows, or blocks, that one operation moves; 0 or 1: not reported
	parts []string // steps of an operation that have rows of the report of their own
}

// An operation is called by one client at a time per client number. It calls
// lap at the end of each part, in the order of the workload's parts.
type operation func(ctx context.Context, client int, lap func()) error

// A task is one workload on one target.
type task struct {
	workload
	tableRows int // 0 for workloads that read no filled table
	target    string
	do        operation
}

func (s Settings) progress(format string, args ...any) {
	if s.Progress != nil {
		s.Progress(fmt.Sprintf(format, args...))
	}
}

func (s Settings) wants(name string) bool {
	return len(s.Workloads) == 0 || slices.Contains(s.Workloads, name)
}

// measure runs every task in every round. Every other round runs backwards, because the first
// task of a round finds the machine in another state than the last one.
func (s Settings) measure(ctx context.Context, tasks []task, report *Report) error {
	for _, t := range tasks {
		report.row(t.name, t)
	}
	for round := range s.Rounds {
		for i := range tasks {
			t := tasks[i]
			if round%2 == 1 {
				t = tasks[len(tasks)-1-i]
			}
			s.progress("%s: %s", t.target, title(t.name, t.tableRows))
			found := measurement{parts: t.parts, clients: s.Clients, length: s.For}.run(ctx, t.do)
			if ctx.Err() != nil {
				return errInterrupted
			}
			report.add(t, found)
		}
	}
	return nil
}

// names returns the names and descriptions of workloads.
func names(all []workload) (names, abouts []string) {
	for _, w := range all {
		names = append(names, w.name)
		abouts = append(abouts, w.about)
	}
	return names, abouts
}
