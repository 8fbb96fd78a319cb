package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"furrow/cmd/internal/process"
	"furrow/cmd/internal/setup"
)

// settings are what the benchmarks share.
type settings struct {
	only       []string      // names of the workloads to run; empty: all
	length     time.Duration // per workload, target and round
	rounds     int
	clients    int       // working at the same time
	executable string    // the furrow program, which serves what the benchmark starts
	out, errs  io.Writer // for lines, and for what went wrong meanwhile
}

var errInterrupted = errors.New("interrupted: the lines show what was measured until then")

// A workload is what every client does over and over.
type workload struct {
	name  string
	about string   // for the help text
	rows  int      // rows, or blocks, that one operation moves; 0 or 1: not reported
	parts []string // steps of an operation that have lines of their own
}

func (w workload) workloadOf() workload { return w }

// namesOf returns the names of workloads of any kind.
func namesOf[W interface{ workloadOf() workload }](all []W) (names []string) {
	for _, w := range all {
		names = append(names, w.workloadOf().name)
	}
	return names
}

// An operation is called by one client at a time per client number. It calls
// lap at the end of each part, in the order of the workload's parts.
type operation func(ctx context.Context, client int, lap func()) error

// A task is one workload on one target.
type task struct {
	workload
	target string
	do     operation
}

func (s settings) wants(name string) bool { return len(s.only) == 0 || slices.Contains(s.only, name) }

// measure runs every task in every round, and prints its lines. Every other round runs backwards, because the first
// task of a round finds the machine in another state than the last one.
func (s settings) measure(ctx context.Context, of string, tasks []task) error {
	for range s.rounds {
		for _, t := range tasks {
			found := measurement{len(t.parts), s.clients, s.length}.run(ctx, t.do)
			if ctx.Err() != nil {
				return errInterrupted
			}
			if err := s.print(of, t, found); err != nil {
				return err
			}
		}
		slices.Reverse(tasks)
	}
	return nil
}

// print prints the line of a measurement, and one for each part of the workload.
func (s settings) print(of string, t task, found sample) error {
	if found.errors > 0 {
		fmt.Fprintf(s.errs, "%s: %s: %d errors, the first: %v\n", t.target, t.name, found.errors, brief(found.firstError))
	}
	for i, all := range found.latencies {
		name, figures := t.name, []figure{{float64(found.elapsed.Nanoseconds()) / float64(max(1, len(all))), "ns/op"}}
		if i > 0 {
			name, figures = name+"/"+t.parts[i-1], nil
		} else if t.rows > 1 {
			figures = append(figures, figure{float64(len(all)*t.rows) / found.elapsed.Seconds(), "rows/s"})
		}
		if len(all) == 0 {
			continue // it had only errors
		}
		figures = append(figures, quantiles(all)...)
		if err := printLine(s.out, of+"/"+name+"/target="+t.target, len(all), figures...); err != nil {
			return err
		}
	}
	return nil
}

// printMemory prints the peak memory of a process, where Linux tells it.
func (s settings) printMemory(of string, pid int) {
	if peak := process.PeakMemory(pid); peak > 0 {
		fmt.Fprintf(s.out, "peak memory of %s: %d MB\n", of, peak/1e6)
	}
}

// A figure is a number of a line, with its unit.
type figure struct {
	value float64
	unit  string
}

// printLine prints figures as go test -bench does, for benchstat.
func printLine(w io.Writer, name string, n int, figures ...figure) error {
	line := fmt.Sprintf("Benchmark%s-%d\t%d", name, runtime.NumCPU(), n)
	for _, f := range figures {
		digits := 0
		if f.value < 1000 {
			digits = 4
		}
		line += fmt.Sprintf("\t%.*f %s", digits, f.value, f.unit)
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// quantiles returns the median and the 99th percentile of durations, which it sorts.
func quantiles(all []time.Duration) []figure {
	slices.Sort(all)
	at := func(percent int) float64 { return float64(all[(len(all)-1)*percent/100].Nanoseconds()) }
	return []figure{{at(50), "p50-ns"}, {at(99), "p99-ns"}}
}

// A measurement is many clients that repeat one operation.
type measurement struct {
	parts   int
	clients int
	length  time.Duration
}

// A sample is the result of one measurement. The first latencies are those of the
// whole operation, the others those of its parts.
type sample struct {
	elapsed    time.Duration // until the last client was done
	latencies  [][]time.Duration
	errors     int
	firstError error
}

// warmUp is how long clients work at most before anything is counted: it opens
// connections and fills caches.
const warmUp = time.Second

// errorPause keeps clients from flooding an endpoint that refuses at once.
const errorPause = 10 * time.Millisecond

func (m measurement) run(ctx context.Context, do operation) sample {
	warm := m
	warm.length = min(warmUp, m.length/5)
	warm.count(ctx, do)
	return m.count(ctx, do)
}

func (m measurement) count(ctx context.Context, do operation) sample {
	started := time.Now()
	found := make([]sample, m.clients)
	var working sync.WaitGroup
	for i := range found {
		working.Go(func() { found[i] = m.client(ctx, i, started.Add(m.length), do) })
	}
	working.Wait()
	all := sample{elapsed: time.Since(started), latencies: make([][]time.Duration, 1+m.parts)}
	for _, s := range found {
		for i, of := range s.latencies {
			all.latencies[i] = append(all.latencies[i], of...)
		}
		all.errors += s.errors
		all.firstError = cmp.Or(all.firstError, s.firstError)
	}
	return all
}

// client repeats the operation until the deadline. An operation that is running
// then is finished and counted.
func (m measurement) client(ctx context.Context, i int, deadline time.Time, do operation) sample {
	s := sample{latencies: make([][]time.Duration, 1+m.parts)}
	laps := make([]time.Duration, 0, m.parts)
	for {
		start := time.Now()
		if !start.Before(deadline) || ctx.Err() != nil {
			return s
		}
		laps = laps[:0]
		last := start
		err := do(ctx, i, func() {
			now := time.Now()
			laps = append(laps, now.Sub(last))
			last = now
		})
		switch {
		case err == nil:
			s.latencies[0] = append(s.latencies[0], time.Since(start))
			for part, lap := range laps {
				s.latencies[1+part] = append(s.latencies[1+part], lap)
			}
		case ctx.Err() != nil: // stopped, not failed
		default:
			s.errors++
			s.firstError = cmp.Or(s.firstError, err)
			setup.Pause(ctx, errorPause)
		}
	}
}
