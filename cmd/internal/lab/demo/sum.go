package demo

import (
	"context"
	"maps"
	"slices"
	"time"

	"furrow/cmd/internal/estimate"
	"furrow/cmd/internal/lab/simulate"
	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// sumUp completes the report after the check, when the workers have stopped.
func (d *Demo) sumUp(ctx context.Context, sum simulate.Summary, r *Report) error {
	d.Screen.Stage("summing up", 0)
	rows, err := d.tracks(ctx)
	if err != nil {
		return err
	}
	var late int64
	for _, t := range rows {
		late += t.Late
	}
	_, told := d.receipts.Told()
	r.Readings = Readings{Accepted: told, Folded: max(0, r.Check.Readings-r.Check.Waiting-r.Check.Lost), Late: late,
		Rejected: r.Check.Rejected, Lost: r.Check.Lost, Doubled: r.Check.Doubled, SetAside: sum.SetAside,
		Tokens: sum.Tokens, Requests: d.receipts.Inserts}
	r.Storage, r.Own, r.Tenants, r.Devices = d.Account.Table, d.Storage == "", d.Cast.Tenants, r.Check.Devices
	months := map[schema.Month]bool{}
	for _, m := range d.Cast.Members {
		months[schema.MonthOf(m.Deployed, 0)] = true
	}
	r.Months = slices.SortedFunc(maps.Keys(months), schema.Month.Compare)
	if err := d.figures(ctx, r); err != nil {
		return err
	}
	if r.Cost, err = d.cost(*r); err != nil {
		return err
	}
	r.OK = r.Check.Differences+r.Check.Lost+r.Check.Doubled == 0 && r.Check.Readings >= r.Readings.Accepted
	r.Seconds = time.Since(d.began).Seconds()
	return nil
}

// figures adds the figures that workers have stored.
func (d *Demo) figures(ctx context.Context, r *Report) error {
	all, _, err := d.runs().FiguresSince(ctx, pipeline, tables.TicksOf(d.began.Add(-time.Minute)))
	if err != nil {
		return err
	}
	var runs, audits schema.WorkerFigures
	for _, run := range all {
		if run.Run.Slot == d.audits {
			audits.Add(run.Workers)
			continue
		}
		runs.Add(run.Workers)
	}
	done := func(w schema.WorkerFigures, k jobs.Kind) int64 {
		return w.Jobs[string(k)+" "+worker.OutcomeDone.String()]
	}
	r.Jobs = []Jobs{
		{string(jobs.Master), done(runs, jobs.Master), 0}, {string(jobs.Month), done(runs, jobs.Month), 0},
		{string(jobs.Device), done(runs, jobs.Device), runs.Devices},
		{string(jobs.Audit), done(audits, jobs.Audit), audits.Devices},
	}
	return nil
}

// cost estimates what the fleet would cost a month on Azure, if each device sent a reading a minute, and the pipeline
// ran as often.
func (d *Demo) cost(r Report) (estimate.Cost, error) {
	c, err := d.parsed()
	if err != nil {
		return estimate.Cost{}, err
	}
	c.Pipelines[0].Cadence = time.Minute
	e, err := estimate.Of(estimate.Fleet{Devices: r.Devices, Every: time.Minute, AtOnce: 1, Token: life,
		Sensors: max(1, r.Check.Latest/r.Devices), Tenants: len(r.Tenants), Months: len(r.Months)}, c)
	return e.Cost, err
}
