package roles

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/monitor"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/query"
)

// onSlot returns what the scheduler of a pipeline does after each of its slots: if the pipeline has a rule for the
// tenant of Furrow itself, it writes the figures of all pipelines. Nil is nothing.
func (f *Fleet) onSlot(p config.Pipeline) func(context.Context, worker.Slot) {
	if !p.WatchesItself() {
		return nil
	}
	return func(ctx context.Context, slot worker.Slot) {
		all := f.Pipelines
		if f.Stored != nil { // and not only those of --pipeline
			newest, _ := f.Stored.Current()
			all = newest.Config.Pipelines
		}
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		for _, p := range all {
			if err := f.writeFigures(within, p, slot.Run.Slot); err != nil && ctx.Err() == nil {
				f.Log.WarnContext(ctx, "figures of pipeline not written", "pipeline", p.Name, "slot", slot.Run.Slot.Time(),
					"error", err)
			}
		}
	}
}

// writeFigures inserts the figures of a pipeline as a reading of the device furrow:PIPELINE, and registers that first.
// A row that exists was written by another try of the slot.
func (f *Fleet) writeFigures(ctx context.Context, p config.Pipeline, slot tables.Ticks) error {
	status, err := f.Reader().Status(ctx, p.Name, p.Cadence, f.Queue(p), query.RecentRuns)
	if err != nil {
		return err
	}
	targets, err := f.Reader().Targets(ctx, p.Name)
	if err != nil {
		return err
	}
	d, err := sas.NewRegistry(f.Tables, f.Names).Register(ctx, schema.Device{ID: schema.DeviceID("furrow:" + p.Name),
		Month: schema.MonthOf(slot.Time(), 0), Tenant: config.Itself, Readings: f.Names.Readings(), Status: schema.Active})
	if err != nil {
		return err
	}
	if d.Tenant != config.Itself {
		return fmt.Errorf("device %s belongs to tenant %q; remove it, so that the pipeline's figures can have its place",
			d.ID, d.Tenant)
	}
	e := tables.Entity{PartitionKey: string(d.ID), RowKey: slot.String()}
	for _, figures := range []map[string]float64{monitor.Figures(status), monitor.TargetFigures(targets)} {
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
