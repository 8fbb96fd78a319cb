package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A runTable has the rows of a pipeline's runs: one for each run, and the figures of its months and workers.
type runTable struct {
	pipeline schema.Pipeline
	table    *tables.Table
}

func (p *Pipeline) runs() runTable { return runTable{p.Name, p.Client.Table(p.Names.Runs())} }

// begun is what a master job begins with.
type begun struct {
	now       tables.Ticks    // of the service
	targets   []tables.Entity // states of targets
	scheduled bool            // the run has a row; that of a master job that was put by hand has none
	before    tables.Ticks    // slot of the last run before that has begun, if it is one of the last few
}

// begin marks the run as begun, unless it is already. It looks back to a time for the run before.
func (r runTable) begin(ctx context.Context, slot, back tables.Ticks) (b begun, err error) {
	var own *tables.Entity
	for page, err := range r.table.DatedRows(ctx, tables.Query{Range: schema.RunAndTargets(r.pipeline, back)}) {
		if err != nil {
			return b, err
		}
		b.now = tables.TicksOf(page.Time)
		for _, e := range page.Rows {
			switch {
			case e.RowKey == slot.String():
				own = &e
			case schema.IsTargetState(e.RowKey):
				b.targets = append(b.targets, e)
			case e.RowKey < slot.String():
				if run, err := schema.RunOf(e); err == nil && run.Started != 0 {
					b.before = run.Slot
				}
			}
		}
	}
	if b.scheduled = own != nil; !b.scheduled {
		return b, nil
	}
	run, err := schema.RunOf(*own)
	if err != nil || run.Started != 0 {
		return b, err
	}
	return b, r.merge(ctx, schema.Run{Pipeline: r.pipeline, Slot: slot, Started: b.now}, tables.AnyETag)
}

// merge merges what is not zero into a run's row. A missing row is fine.
func (r runTable) merge(ctx context.Context, run schema.Run, version tables.ETag) error {
	e, err := run.Entity()
	if err != nil {
		return err
	}
	if _, err = r.table.Do(ctx, tables.Merge(e, version)); errors.Is(err, tables.ErrNotFound) {
		return nil
	}
	return err
}

// putFigures writes the figures of partitions.
func (r runTable) putFigures(ctx context.Context, figures []*schema.MonthFigures) error {
	ops := make([]tables.Op, len(figures))
	for i, f := range figures {
		e, err := f.Entity()
		if err != nil {
			return err
		}
		ops[i] = tables.InsertOrReplace(e)
	}
	groups, err := tables.Cut(ops)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if len(g) == 1 {
			_, err = r.table.Do(ctx, g[0])
		} else {
			_, err = r.table.Submit(ctx, g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// began counts the spans of a length in which runs of the pipeline have begun.
func (r runTable) began(ctx context.Context, from, to, every tables.Ticks) (n int, err error) {
	var last tables.Ticks
	rows := tables.RowsBetween(string(r.pipeline), from.String(), (to + 1).String())
	for e, err := range r.table.Entities(ctx, tables.Query{Range: rows, Select: []string{"PartitionKey", "RowKey",
		"Started"}}) {
		if err != nil {
			return n, err
		}
		run, err := schema.RunOf(e)
		if err != nil || run.Started == 0 {
			continue // whoever reads runs says what is wrong
		}
		if at := run.Slot - run.Slot%every; n == 0 || at != last {
			n, last = n+1, at
		}
	}
	return n, nil
}

// keepFigures is how long the figures of a run are kept. The run's own row stays.
const keepFigures = 24 * time.Hour

// prune deletes the figures of old runs, page by page: all those of one run at least, which is as much as a run adds.
// The next run's master job continues.
func (r runTable) prune(ctx context.Context, slot tables.Ticks) error {
	old := tables.Keys{From: schema.FiguresPartition(r.pipeline, 0),
		Before: schema.FiguresPartition(r.pipeline, slot.Add(-keepFigures))}
	runs := map[string]bool{}
	for page, err := range r.table.Rows(ctx, tables.Query{Range: tables.Range{Partitions: old},
		Select: []string{"RowKey"}}) {
		if err != nil {
			return err
		}
		byRun := map[string][]tables.Op{}
		for _, e := range page.Rows {
			runs[e.PartitionKey] = true
			byRun[e.PartitionKey] = append(byRun[e.PartitionKey], tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag))
		}
		for _, ops := range byRun {
			if err := r.deleteAll(ctx, ops); err != nil {
				return err
			}
		}
		if len(runs) > 1 {
			return nil
		}
	}
	return nil
}

// deleteAll deletes rows of one partition. If some are gone already, the others wait until next time.
func (r runTable) deleteAll(ctx context.Context, ops []tables.Op) error {
	groups, err := tables.Cut(ops)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if _, err := r.table.Submit(ctx, g); err != nil && !errors.Is(err, tables.ErrNotFound) {
			return fmt.Errorf("deleting figures of old runs: %w", err)
		}
	}
	return nil
}
