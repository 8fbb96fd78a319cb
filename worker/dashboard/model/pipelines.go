package model

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/price"
)

// A pipelineRead is what storage says of a pipeline.
type pipelineRead struct {
	at       time.Time           // of the service
	runs     []worker.RunFigures // the oldest first
	backlog  int
	catchup  int
	poison   int
	poisoned []worker.Poisoned // some of them
}

const (
	pipelinesFor = 5 * time.Second
	mostRuns     = 30
	mostWorkers  = 100
	// mostFigures bounds the rows that are read of the figures of runs, each of which
	// has one for every month of the fleet and every worker.
	mostFigures = 5000
)

// Pipelines are how all of them do.
func (s *Store) Pipelines(ctx context.Context) (PipelinesAnswer, Read, error) {
	ctx = s.counted(ctx)
	s.watched.looked()
	all := s.configured()
	out := PipelinesAnswer{Pipelines: make([]PipelineStatus, len(all))}
	reads := make([]Read, len(all))
	err := each(ctx, len(all), func(ctx context.Context, i int) (err error) {
		p := all[i]
		var r pipelineRead
		r, reads[i], err = s.pipelines.get(ctx, string(p.Name), pipelinesFor, func(ctx context.Context) (pipelineRead, error) {
			return s.pipeline(ctx, p)
		})
		out.Pipelines[i] = s.pipelineAnswer(p, r)
		return err
	})
	var read Read
	for i, r := range reads {
		if read = read.And(r); i == 0 {
			read = r
		}
	}
	out.Operations = read.Operations
	return out, read, err
}

func (s *Store) pipeline(ctx context.Context, p Pipeline) (r pipelineRead, err error) {
	err = together(
		func() (err error) { r.at, r.runs, err = s.runs(ctx, p); return err },
		func() error { return s.queues(ctx, p.Name, &r) })
	return r, err
}

func (s *Store) queues(ctx context.Context, p schema.Pipeline, r *pipelineRead) (err error) {
	if s.c.Queues == nil {
		return nil
	}
	queue := s.c.Queues.Queue(s.c.Names, p)
	if r.backlog, err = queue.Depth(ctx); err == nil {
		r.catchup, err = queue.CatchupDepth(ctx)
	}
	if err == nil {
		r.poison, err = queue.PoisonDepth(ctx)
	}
	if err == nil && r.poison > 0 {
		r.poisoned, err = queue.Poisoned(ctx)
	}
	if errors.Is(err, worker.ErrNoQueue) {
		return nil
	}
	return err
}

// runs reads the last runs of a pipeline: fewer where they have many months each.
func (s *Store) runs(ctx context.Context, p Pipeline) (now time.Time, runs []worker.RunFigures, err error) {
	count := max(3, min(mostRuns, mostFigures/(2*s.index.monthCount()+20)))
	runs, now, err = worker.Runs{Table: s.table(s.c.Names.Runs())}.Recent(ctx, p.Name, p.Cadence, count)
	if errors.Is(err, tables.ErrNoTable) {
		err = nil
	}
	return now, runs, err
}

func (x *index) monthCount() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.monthOf)
}

// pipelineAnswer is what a read comes to.
func (s *Store) pipelineAnswer(p Pipeline, r pipelineRead) PipelineStatus {
	out := PipelineStatus{Pipeline: string(p.Name), CadenceSeconds: p.Cadence.Seconds(), Backlog: int64(r.backlog), Catchup: int64(r.catchup), Poison: int64(r.poison),
		Workers: []Worker{}, Runs: []Run{}}
	fleet := worker.Totals(r.runs)
	out.Held = int(fleet.Held + fleet.Failing)
	out.Devices, out.Behind, out.Claimed, out.Refolds = fleet.Devices, fleet.Behind, fleet.Claimed, fleet.Refolds
	out.Rows, out.Late, out.Rejects, out.RejectsDropped = fleet.Rows, fleet.Late, fleet.Rejects, fleet.Dropped
	if done, ok := worker.LastDone(r.runs); ok {
		lag := max(0, cmp.Or(r.at, time.Now()).Sub(done.Run.Slot.Time()), fleet.Lag).Seconds()
		out.LagSeconds = &lag
	}
	seen := map[string]time.Time{}
	for _, run := range slices.Backward(r.runs) {
		out.Runs = append(out.Runs, runAnswer(run))
		for name, at := range run.Seen {
			if at.After(seen[name]) {
				seen[name] = at
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		out.Workers = append(out.Workers, Worker{Name: name, Seen: seen[name]})
	}
	slices.SortStableFunc(out.Workers, func(a, b Worker) int { return b.Seen.Compare(a.Seen) })
	out.Workers = out.Workers[:min(len(out.Workers), mostWorkers)]
	out.CostPerMonth = costOf(p.Cadence, r.runs)
	out.Causes = causes(s.index.heldOf(p.Name), r.poisoned)
	return out
}

func runAnswer(r worker.RunFigures) Run {
	w := r.Workers
	out := Run{Slot: r.Run.Slot.Time(), Seconds: r.Took().Seconds(), Devices: w.Devices, Readings: w.Rows,
		Jobs: w.Jobs, Operations: w.Operations, Skipped: r.Run.Skipped, Done: r.Done()}
	if out.Done {
		lag := max(0, w.Last.Time().Sub(r.Run.Slot.Time()), r.Months.Lag).Seconds()
		out.LagSeconds = &lag
	}
	return out
}

// costOf is what the operations of runs come to in a month of runs like them.
func costOf(cadence time.Duration, runs []worker.RunFigures) *Cost {
	operations, n := map[string]int64{}, 0
	for _, r := range runs {
		if !r.Done() {
			continue // it would look cheaper than it is
		}
		n++
		for name, times := range r.Workers.Operations {
			operations[name] += times
		}
	}
	if n == 0 {
		return nil
	}
	prices := price.Azure()
	byKind, total := prices.Monthly(operations, time.Duration(n)*cadence)
	return &Cost{Total: total, ByKind: byKind, Source: prices.String()}
}
