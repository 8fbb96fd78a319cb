package model

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/limits"
	"furrow/worker/price"
	"furrow/worker/query"
)

type pipelineRead struct {
	query.Status
	poisoned []worker.Poisoned // some of them
}

const (
	pipelinesAge = 5 * time.Second
	maxRuns      = 30
	maxWorkers   = 100
	// maxFigures limits the rows of figures that are read; each run has one per month and per worker.
	maxFigures = 5000
)

// Pipelines are how far each one is, what its runs took, and what it has spent of the budget.
type Pipelines struct {
	accounts *Accounts
	kept     cache[pipelineRead]
	budgets  cache[*Budget]
	disks    cache[[]limits.Limit]
}

// All returns the state of all pipelines. They are about all tenants: who may see only one gets ErrWholeFleet.
func (ps *Pipelines) All(ctx context.Context) (PipelinesAnswer, error) {
	if within(ctx) != "" {
		return PipelinesAnswer{}, ErrWholeFleet
	}
	ps.accounts.watch.touch()
	found, err := everywhere(ctx, ps.accounts, ps.pipelinesIn)
	out, spent := PipelinesAnswer{Pipelines: []PipelineStatus{}, Limits: []StorageLimit{}}, []spending{}
	for _, of := range found {
		out.Pipelines, spent = append(out.Pipelines, of.all...), append(spent, of.spent)
		out.Limits = append(out.Limits, of.limits...)
	}
	out.Budget, out.Proposals = newBudget(spent), ps.accounts.index.proposals()
	return out, err
}

// pipelinesRead are the pipelines of an account.
type pipelinesRead struct {
	all   []PipelineStatus
	spent spending

	limits []StorageLimit
}

func (ps *Pipelines) pipelinesIn(ctx context.Context, a *account) (found pipelinesRead, err error) {
	all := a.configured()
	states := make([]pipelineRead, len(all))
	found.all = make([]PipelineStatus, len(all))
	err = each(ctx, len(all), func(ctx context.Context, i int) (err error) {
		p := all[i]
		states[i], err = ps.pipelineOf(ctx, a, p)
		found.all[i] = ps.pipelineStatus(a, p, states[i])
		return err
	})
	if err != nil && ps.accounts.several() {
		return pipelinesRead{}, err
	}
	found.limits = ps.limitsOf(ctx, a, all, states)
	for _, p := range states {
		found.spent.usd, found.spent.spent = max(found.spent.usd, p.Budget), append(found.spent.spent, p.Spent)
	}
	return found, err
}

// limitsOf returns how far an account is from the limits of storage. A disk that cannot be read has none.
func (ps *Pipelines) limitsOf(
	ctx context.Context, a *account, pipelines []Pipeline, states []pipelineRead,
) (all []StorageLimit) {
	var found []limits.Limit
	var loads []limits.Load
	for i, p := range pipelines {
		l := limits.Of(states[i].Runs, p.Cadence)
		loads, found = append(loads, l), append(found, l.Own(p.Name)...)
	}
	found = append(found, limits.Shared(loads)...)
	if a.Disk != nil {
		disk, err := ps.disks.get(ctx, strconv.Itoa(int(a.number)), pipelinesAge,
			func(context.Context) ([]limits.Limit, error) { return a.Disk() })
		if err != nil {
			ps.accounts.log.Warn("disk cannot be read", "error", err)
		}
		found = append(found, disk...)
	}
	for _, l := range found {
		all = append(all, StorageLimit{ps.accounts.nameOf(a), l})
	}
	return all
}

// pipelineOf returns what was read of a pipeline within a few seconds.
func (ps *Pipelines) pipelineOf(ctx context.Context, a *account, p Pipeline) (pipelineRead, error) {
	read := func(ctx context.Context) (pipelineRead, error) { return ps.pipeline(ctx, a, p) }
	return ps.kept.get(ctx, strconv.Itoa(int(a.number))+schema.Separator+string(p.Name), pipelinesAge, read)
}

func (ps *Pipelines) pipeline(ctx context.Context, a *account, p Pipeline) (r pipelineRead, err error) {
	queue := a.Queues.Queue(a.Names, p.Name)
	slots := max(3, min(maxRuns, maxFigures/(2*ps.accounts.index.monthCount()+20))) // fewer when each run has many months
	if r.Status, err = a.fleet.Progress().Status(ctx, p.Name, p.Cadence, queue, slots); err != nil {
		return r, err
	}
	if r.Budget = p.Budget; p.Budget > 0 {
		if r.Spent, err = a.fleet.Progress().Spent(ctx, p.Name, time.Now()); err != nil {
			return r, err
		}
	}
	if r.Unheard, err = a.fleet.Progress().Unheard(ctx, p.Name, r.At.Add(-24*time.Hour)); err != nil || r.Poison == 0 {
		return r, err
	}
	r.poisoned, err = queue.Poisoned(ctx)
	return r, err
}

func (x *index) monthCount() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.monthOf)
}

func (ps *Pipelines) pipelineStatus(a *account, p Pipeline, r pipelineRead) PipelineStatus {
	out := PipelineStatus{Pipeline: string(p.Name), Storage: ps.accounts.nameOf(a), CadenceSeconds: p.Cadence.Seconds(),
		Backlog: int64(r.Queue), Catchup: int64(r.Catchup), Poison: int64(r.Poison), Workers: []Worker{}, Runs: []Run{}}
	out.DiskFull, out.Unheard = a.diskFull(), r.Unheard
	fleet := r.Fleet()
	out.Ahead, out.ClockAheadSeconds = fleet.Ahead, r.Ahead.Seconds()
	out.Waiting, out.WaitingSeconds = fleet.Waiting, fleet.WaitingLag.Seconds()
	out.Held = int(fleet.Held + fleet.Failing)
	out.Devices, out.Behind, out.Claimed, out.Refolds = fleet.Devices, fleet.Behind, fleet.Claimed, fleet.Refolds
	out.Rows, out.Late, out.Rejects, out.RejectsDropped = fleet.Rows, fleet.Late, fleet.Rejects, fleet.Dropped
	if lag, known := r.Lag(); known {
		out.LagSeconds = new(lag.Seconds())
	}
	seen := map[string]time.Time{}
	for _, run := range slices.Backward(r.Runs) {
		out.Runs = append(out.Runs, runOf(run))
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
	out.Workers = out.Workers[:min(len(out.Workers), maxWorkers)]
	out.CostPerMonth = costOf(p.Cadence, r.Runs)
	out.Causes = causes(ps.accounts.index.heldOf(a.number, p.Name), r.poisoned)
	return out
}

func runOf(r worker.RunFigures) Run {
	w := r.Workers
	out := Run{Slot: r.Run.Slot.Time(), Seconds: r.Took().Seconds(), Devices: w.Devices, Readings: w.Rows,
		Jobs: w.Jobs, Operations: w.Operations, Skipped: r.Run.Skipped, Done: r.Done()}
	if out.Done {
		out.LagSeconds = new(max(0, w.Last.Time().Sub(r.Run.Slot.Time()), r.Months.Lag).Seconds())
	}
	return out
}

// costOf extrapolates the operations of finished runs to a month.
func costOf(cadence time.Duration, runs []worker.RunFigures) *Cost {
	operations, n := map[string]int64{}, 0
	for _, r := range runs {
		if !r.Done() {
			continue
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

const maxCauses = 20 // per pipeline

// causes counts why devices are held and messages are poison, the most frequent first.
func causes(held []schema.Track, poisoned []worker.Poisoned) []Cause {
	type cause struct{ what, reason string }
	counts := map[cause]int{}
	for _, h := range held {
		counts[cause{"held", query.General(h.Reason)}]++
	}
	for _, p := range poisoned {
		counts[cause{"poison", query.General(p.Cause)}]++
	}
	all := []Cause{}
	for c, n := range counts {
		all = append(all, Cause{What: c.what, Reason: c.reason, N: n})
	}
	slices.SortFunc(all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.What, b.What), cmp.Compare(a.Reason, b.Reason))
	})
	return all[:min(len(all), maxCauses)]
}
