package jobs_test

import (
	"context"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// planAndReport does a month job with one pipeline and the group jobs that it puts with another, but no device jobs.
func planAndReport(t *testing.T, plan, p *jobs.Pipeline) (groups int) {
	t.Helper()
	month := jobs.Message{Kind: jobs.Month, Pipeline: "live", Run: 1, Month: jobstest.Month}
	l := &jobstest.Line{Queue: []jobs.Message{month}, Delays: []time.Duration{0}}
	for m, _, ok := l.Take(); ok; m, _, ok = l.Take() {
		by := plan
		switch m.Kind {
		case jobs.Device:
			continue
		case jobs.Group:
			groups++
			by = p
		}
		must.Have(by.Do(t.Context(), m, l, func(context.Context, jobs.Message) error { return nil }))(t)
	}
	return groups
}

func TestIdleRunsCostNoOperationMoreWithReports(t *testing.T) {
	w := newReportedWorld(t)
	count := func(with bool) int32 {
		f := newReported(t, w, 1)
		counted := &faults.Gate{At: -1}
		p := f.pipeline(counted)
		if !with {
			p.Processors[1], p.Groups = rollup.Processor.Default(), nil
		}
		f.arrive(1)
		f.clock.set(f.at(1).Add(48 * time.Hour))
		must.Succeed(t, f.run(t.Context(), p))
		before := counted.N.Load()
		must.Have(p.Run(t.Context(), f.Batch))(t)
		if n := planAndReport(t, p, p); n > 0 {
			t.Errorf("an idle run has %d group jobs", n)
		}
		return counted.N.Load() - before
	}
	if without, with := count(false), count(true); with != without {
		t.Errorf("an idle run takes %d operations with reports; want %d as without", with, without)
	}
}

// TestActiveDeviceCostsFewOperationsWithReports counts the operations of a batch of one tenant over 40 minutes in which
// an hour ends, with its reports by tenant, site and label. The month job is one for all batches of a partition, and
// costs the same without reports.
func TestActiveDeviceCostsFewOperationsWithReports(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	const devices, runs, most = 50, 40, 1.2
	w := jobstest.NewWorldSince(t, time.Hour, 2*devices, 1) // of two tenants
	f := newReported(t, w, 1)
	counted := &faults.Gate{At: -1}
	p := f.pipeline(counted)
	batch := jobs.Batch{First: w.Place(w.Devices[0]), Last: w.Place(w.Devices[devices-1])}
	begin := reportedSince // an hour ends after ten minutes
	plan := f.pipeline(nil)
	planAndReport(t, plan, p) // notes that nothing was made before
	operations := int32(0)
	for n := range runs {
		at := begin.Add(time.Duration(n) * time.Minute)
		var all []tables.Entity
		for _, d := range w.Devices[:devices] {
			e := tables.Entity{PartitionKey: string(d), RowKey: tables.TicksOf(at).String()}
			e.Set("oil", tables.Double(float64(n)))
			all = append(all, e)
		}
		jobstest.Insert(t, w.Connect(t, nil).Table(f.Readings), all...)
		f.clock.set(at.Add(30 * time.Second))
		before := counted.N.Load()
		if r := must.Have(p.Run(t.Context(), batch))(t); r.Folded != devices {
			t.Fatalf("run %d: %+v", n, r)
		}
		planAndReport(t, plan, p)
		operations += counted.N.Load() - before
	}
	each := float64(operations) / devices / runs
	t.Logf("%.3f operations for a device and run", each)
	if each > most {
		t.Errorf("%.3f operations for a device and run; want at most %.1f", each, most)
	}
	if rows := jobstest.Rows(t, w.Connect(t, nil).Table(f.Names.Reports()), tables.Query{}); len(rows) == 0 {
		t.Error("there are no reports")
	}
}
