package jobstest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/jobs/processors"
	"furrow/jobs/rate"
	"furrow/jobs/refold"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A Fleet has every device of the world, and a pipeline with outputs of its own.
type Fleet struct {
	World    *World
	Readings string // the table
	Names    schema.Names
	Batch    jobs.Batch
}

// NewFleet returns a fleet that reads the world's readings.
func (w *World) NewFleet(t testing.TB) *Fleet { return w.NewFleetOf(t, w.Readings) }

// NewFleetOf returns a fleet that reads another readings table.
func (w *World) NewFleetOf(t testing.TB, readings string) *Fleet {
	t.Helper()
	names := must.Have(schema.ParseNames(fmt.Sprintf("%sf%d", w.prefix, w.fleets.Add(1))))(t)
	w.Create(t, processors.Tables(names, "live")...)
	var members []tables.Entity
	for _, d := range w.Devices {
		e := must.Have(w.Member(d, readings).Entity())(t)
		members = append(members, e)
	}
	Insert(t, w.Connect(t, nil).Table(names.Fleet()), members...)
	w.Create(t, names.Runs())
	f := &Fleet{w, readings, names, jobs.Batch{First: w.Place(w.Devices[0]), Last: w.Place(w.Devices[len(w.Devices)-1])}}
	f.Ran(t, "live")
	return f
}

// Ran has a pipeline have had a run in every hour of the last day, as it has where no clock was wrong.
func (f *Fleet) Ran(t testing.TB, p schema.Pipeline) {
	t.Helper()
	var runs []tables.Entity
	for ago := range 24 {
		slot := tables.TicksOf(time.Now().Add(-time.Duration(ago) * time.Hour))
		run := schema.Run{Pipeline: p, Slot: slot, Enqueued: slot, Started: slot}
		runs = append(runs, must.Have(run.Entity())(t))
	}
	Insert(t, f.World.Connect(t, nil).Table(f.Names.Runs()), runs...)
}

// NeverRan deletes what runs there were.
func (f *Fleet) NeverRan(t testing.TB) {
	t.Helper()
	table := f.World.Connect(t, nil).Table(f.Names.Runs())
	for _, e := range Rows(t, table, tables.Query{}) {
		must.Have(table.Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag)))(t)
	}
}

// Member returns the membership of a device. The first half of the devices belongs to one tenant, the rest to another.
func (w *World) Member(d schema.DeviceID, readings string) schema.Member {
	half := slices.Index(w.Devices, d) * 2 / len(w.Devices)
	return schema.Member{Month: Month, Device: d, Tenant: schema.Tenant(fmt.Sprint("t", half)), Readings: readings}
}

// Place returns where the fleets of the world have a device.
func (w *World) Place(d schema.DeviceID) schema.Place { return w.Member(d, "").Place() }

// Pipeline returns the fleet's pipeline with a transport. Its claims and marks keep nobody away: both are courtesies,
// and everything must hold without them.
func (f *Fleet) Pipeline(t testing.TB, through policy.Transporter) *jobs.Pipeline {
	t.Helper()
	p := &jobs.Pipeline{Name: "live", Client: f.World.Connect(t, through), Names: f.Names,
		Hold: -time.Second, Marks: -time.Second,
		Processors: []fold.Configured{latest.Processor.Default(), rollup.Processor.Default()}}
	if f.World.Rates {
		p.Processors = append(p.Processors, rate.Processor.Default())
	}
	return p
}

// With returns a processor with a configuration.
func With(t testing.TB, p *fold.Processor, c fold.Config) fold.Configured {
	t.Helper()
	configured := must.Have(p.With(c, fold.Setup{}))(t)
	return configured
}

// FirstHalf folds the readings until an hour ago, so that buckets are open.
func (f *Fleet) FirstHalf(t testing.TB) {
	t.Helper()
	p := f.Pipeline(t, nil)
	p.Settle = time.Hour
	must.Have(p.Run(t.Context(), f.Batch))(t)
}

// patience is how often work is tried again: under random faults a job must be lucky at each of its reads.
const patience = 2000

// Drain runs the batch, and what its jobs put, until there is nothing left to do. Devices that storage's faults have
// held are released.
func (f *Fleet) Drain(ctx context.Context, p *jobs.Pipeline) error {
	var last error
	for try := range patience {
		idle, err := f.round(ctx, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if last = err; err == nil && idle {
			return nil
		}
		time.Sleep(time.Duration(rand.IntN(1+min(try, 50))) * time.Millisecond) // so that two workers do not keep meeting
	}
	return fmt.Errorf("there is no end: %v", last)
}

// round does the fleet's batch and the messages that follow, without delays, and reports whether there was nothing to
// do.
func (f *Fleet) round(ctx context.Context, p *jobs.Pipeline) (idle bool, last error) {
	first := f.Message()
	first.Pipeline = p.Name
	l := &Line{Queue: []jobs.Message{first}}
	for n := 0; len(l.Queue) > 0 && ctx.Err() == nil; n++ {
		if n > patience {
			return false, errors.New("there is no end of messages")
		}
		m := l.Queue[0]
		l.Queue = l.Queue[1:]
		r, err := p.Do(ctx, m, l, nil)
		f.releaseLost(ctx, p, err)
		for d, why := range r.Failed {
			err = why
			release(ctx, p, d)
		}
		if err != nil {
			last = err
		}
		idle = n == 0 && r.Folded == 0 && r.Overtaken == 0 && len(l.Queue) == 0
	}
	return idle, last
}

// releaseLost releases the devices that a job may have held whose result is lost, as it ended with an error. Where time
// stands still, they would be passed over until it goes on, and what is to be done by then would be done too late.
func (f *Fleet) releaseLost(ctx context.Context, p *jobs.Pipeline, err error) {
	if err == nil {
		return
	}
	for _, d := range f.World.Devices {
		release(ctx, p, f.World.Place(d))
	}
}

// release tries until a device is released, or it would be passed over from then on.
func release(ctx context.Context, p *jobs.Pipeline, at schema.Place) {
	for ctx.Err() == nil {
		if _, err := p.Release(ctx, at); err == nil {
			return
		}
	}
}

// Message returns the device job of the fleet's batch.
func (f *Fleet) Message() jobs.Message {
	return jobs.Message{Kind: jobs.Device, Pipeline: "live", Run: tables.TicksOf(time.Now()),
		First: f.Batch.First, Last: f.Batch.Last}
}

// Track reads the tracking row of a device.
func (f *Fleet) Track(t testing.TB, d schema.DeviceID) tables.Entity {
	t.Helper()
	e, err := f.World.Connect(t, nil).Table(f.Names.Partitions("live")).Get(t.Context(), Month.String(),
		string(f.World.Place(d).Key))
	must.Succeed(t, err)
	return e
}

// Settle works and audits until neither finds anything.
func (f *Fleet) Settle(ctx context.Context, p *jobs.Pipeline) error {
	var last error
	for try := range patience {
		time.Sleep(time.Duration(rand.IntN(1+min(try, 50))) * time.Millisecond) // so that two workers do not keep meeting
		err := f.Drain(ctx, p)
		var r jobs.Result
		if err == nil {
			audit := f.Audit(refold.Full)
			audit.Pipeline = p.Name
			r, err = p.Do(ctx, audit, NoPut{}, nil)
			f.releaseLost(ctx, p, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for d, why := range r.Failed {
			err = why
			release(ctx, p, d)
		}
		if last = err; err == nil && r.Refolds == 0 && r.Overtaken == 0 {
			return nil
		}
	}
	return fmt.Errorf("there is no end: %v", last)
}

// Audit returns an audit of the fleet's batch.
func (f *Fleet) Audit(depth refold.Depth) jobs.Message {
	return jobs.Message{Kind: jobs.Audit, Audit: depth, Pipeline: "live", Run: tables.TicksOf(time.Now()),
		First: f.Batch.First, Last: f.Batch.Last}
}
