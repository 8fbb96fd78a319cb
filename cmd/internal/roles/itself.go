package roles

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/monitor"
	"furrow/cmd/internal/verification"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/budget"
	"furrow/worker/query"
)

// countEvery is how often a scheduler looks whether there are runs to count.
const countEvery = 10 * time.Minute

// counts returns what counts the runs of a pipeline, and each day the devices of tenants: budgets and the costs of
// tenants are made of that.
func (f *Fleet) counts(p config.Pipeline) func(context.Context) {
	var last time.Time
	var counted schema.Day // when devices were counted last
	return func(ctx context.Context) {
		if time.Since(last) < countEvery {
			return
		}
		last = time.Now()
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if err := f.Runs().CountSpent(within, p.Name, p.Cadence, last); err != nil && ctx.Err() == nil {
			f.Log.WarnContext(ctx, "runs not counted", "pipeline", p.Name, "error", err)
		}
		today := schema.DayOf(tables.TicksOf(last))
		if counted == today {
			return
		}
		within, cancel = context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		err := f.Runs().CountTenantDevices(within, f.Tables.Table(f.Names.Fleet()), last)
		if counted = today; err != nil && ctx.Err() == nil {
			counted = 0
			f.Log.WarnContext(ctx, "devices of tenants not counted", "error", err)
		}
	}
}

// onSlot returns what the scheduler of a pipeline does after each of its slots: it counts runs and, if
// the pipeline has a rule for the tenant of Furrow itself, writes the figures of all pipelines.
func (f *Fleet) onSlot(p config.Pipeline) func(context.Context, worker.Slot) {
	count := f.counts(p)
	if !p.WatchesItself() {
		return func(ctx context.Context, _ worker.Slot) { count(ctx) }
	}
	return func(ctx context.Context, slot worker.Slot) {
		count(ctx)
		all, _ := f.current()
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		for i, p := range all {
			more := map[string]float64{}
			if i == 0 && p.Budget > 0 { // one pipeline has it, so that there is one incident
				if b, err := f.budget(within, all); err == nil && b.Share > 0 {
					more["budget_share"] = b.Share
				} else if err != nil && ctx.Err() == nil {
					f.Log.WarnContext(ctx, "budget not read", "error", err)
				}
			}
			if i == 0 && p.Verify != nil {
				if v, err := f.Reader().Progress().Verification(within); err == nil && v.At > 0 {
					more[config.Unexplained] = float64(v.Unexplained)
				} else if err != nil && ctx.Err() == nil {
					f.Log.WarnContext(ctx, "verification not read", "error", err)
				}
			}
			if err := f.writeFigures(within, p, slot.Run.Slot, more); err != nil && ctx.Err() == nil {
				f.Log.WarnContext(ctx, "figures of pipeline not written", "pipeline", p.Name, "slot", slot.Run.Slot.Time(),
					"error", err)
			}
		}
	}
}

// current returns the pipelines of the current configuration, and not only those of --pipeline, and the fleet's format.
func (f *Fleet) current() (all []config.Pipeline, format int64) {
	if f.Stored == nil {
		return f.Pipelines, f.Format
	}
	newest, _ := f.Stored.Current()
	return newest.Config.Pipelines, newest.Format
}

// nightly returns what verifies a sample of the devices each night.
func (f *Fleet) nightly() *verification.Nightly {
	return &verification.Nightly{Client: f.Tables, Names: f.Names, Archive: f.Archive, Config: f.current,
		Name: WorkerName(), Log: f.Log, Now: time.Now}
}

// budget returns what the month costs, as far as it is counted.
func (f *Fleet) budget(ctx context.Context, all []config.Pipeline) (b budget.Budget, err error) {
	var spent []schema.Spending
	for _, p := range all {
		s, err := f.Runs().Spent(ctx, p.Name, time.Now())
		if err != nil {
			return b, err
		}
		spent = append(spent, s)
	}
	return budget.Of(all[0].Budget, spent), nil
}

// writeFigures inserts the figures of a pipeline as a reading of the device furrow:PIPELINE, and registers that first.
// A row that exists was written by another try of the slot.
func (f *Fleet) writeFigures(
	ctx context.Context, p config.Pipeline, slot tables.Ticks, more map[string]float64,
) error {
	status, err := f.Reader().Progress().Status(ctx, p.Name, p.Cadence, f.Queue(p), query.RecentRuns)
	if err != nil {
		return err
	}
	targets, err := f.Reader().Progress().Targets(ctx, p.Name)
	if err != nil {
		return err
	}
	d, err := f.itself(ctx, p.Name, slot)
	if err != nil {
		return err
	}
	e := tables.Entity{PartitionKey: string(d.ID), RowKey: slot.String()}
	for _, figures := range []map[string]float64{monitor.Figures(status), monitor.TargetFigures(targets), more} {
		for name, value := range figures {
			e.Set(name, tables.Double(value))
		}
	}
	readings := f.Tables.Table(d.Readings)
	_, err = readings.Do(ctx, tables.Insert(e))
	if errors.Is(err, tables.ErrNoTable) {
		if err = readings.Create(ctx); err == nil {
			_, err = readings.Do(ctx, tables.Insert(e))
		}
	}
	if errors.Is(err, tables.ErrExists) {
		return nil
	}
	return err
}

// itself registers the device furrow:PIPELINE, unless it is there.
func (f *Fleet) itself(ctx context.Context, p schema.Pipeline, now tables.Ticks) (schema.Device, error) {
	d, err := sas.NewRegistry(f.Tables, f.Names).Register(ctx, schema.Device{ID: schema.ItselfOf(p),
		Month: schema.MonthOf(now.Time(), 0), Tenant: schema.Itself, Readings: f.Names.Readings(), Status: schema.Active})
	if err == nil && d.Tenant != schema.Itself {
		err = fmt.Errorf("device %s belongs to tenant %q; remove it, so that what is about the pipeline can have its place",
			d.ID, d.Tenant)
	}
	return d, err
}
