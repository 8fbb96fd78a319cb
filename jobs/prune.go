package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// keepFigures is how long the figures of a run are kept. The run's own row stays.
const keepFigures = 24 * time.Hour

// prune deletes the figures of old runs: at most a page of them, which is more than a run adds. The next run's master
// job continues.
func (p *Pipeline) prune(ctx context.Context, slot tables.Ticks) error {
	old := tables.Keys{From: schema.FiguresPartition(p.Name, 0),
		Before: schema.FiguresPartition(p.Name, slot.Add(-keepFigures))}
	for page, err := range p.runs().Rows(ctx, tables.Query{Range: tables.Range{Partitions: old},
		Select: []string{"RowKey"}}) {
		if err != nil {
			return err
		}
		byRun := map[string][]tables.Op{}
		for _, e := range page.Rows {
			byRun[e.PartitionKey] = append(byRun[e.PartitionKey], tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag))
		}
		for _, ops := range byRun {
			if err := p.deleteAll(ctx, ops); err != nil {
				return err
			}
		}
		if len(page.Rows) > 0 {
			return nil
		}
	}
	return nil
}

// deleteAll deletes rows of one partition. If some are gone already, the others wait until next time.
func (p *Pipeline) deleteAll(ctx context.Context, ops []tables.Op) error {
	groups, err := tables.Cut(ops)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if _, err := p.runs().Submit(ctx, g); err != nil && !errors.Is(err, tables.ErrNotFound) {
			return fmt.Errorf("deleting figures of old runs: %w", err)
		}
	}
	return nil
}
