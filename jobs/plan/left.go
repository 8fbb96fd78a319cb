package plan

import (
	"context"

	"furrow/tables"
	"furrow/tables/schema"
)

// Left puts the group jobs of those partitions that have marks and no device any more: no plan comes to them.
func (p *Planner) Left(ctx context.Context, months []schema.Month, sink Sink) error {
	pl := &plan{Planner: p, sink: sink, at: &schema.MonthFigures{}}
	for _, month := range months {
		q := tables.Query{Range: tables.Partition(month.String()), Select: []string{"RowKey"}}
		_, found, err := p.Client.Table(p.Names.Fleet()).First(ctx, q)
		if err != nil {
			return err
		}
		if found {
			continue
		}
		seen := &seenGroups{}
		q.Range.Rows = tables.KeysWithPrefix(schema.Separator) // before those of devices
		q.Select = append(schema.GroupTurnProperties(), "PartitionKey", "RowKey")
		for page, err := range pl.tracking().DatedRows(ctx, q) {
			if err != nil {
				return err
			}
			pl.now = tables.TicksOf(page.Time)
			for _, e := range page.Rows {
				seen.noteRow(e)
			}
		}
		if err := pl.groups(ctx, month, seen); err != nil {
			return err
		}
	}
	return nil
}
