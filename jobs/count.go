package jobs

import (
	"context"
	"errors"

	"furrow/jobs/retain"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// hasRows reports whether a device has rows before a moment.
func (p *Pipeline) hasRows(ctx context.Context, m schema.Member, before tables.Ticks) (bool, error) {
	row, err := retain.FirstRow(ctx, p.Client, m, tables.Keys{Before: before.String()})
	return row != "", err
}

// count counts the rows of a device in a window, up to its checkpoint.
func (p *Pipeline) count(ctx context.Context, d *deviceRun, w tracking.Window) (*tracking.Ledger, error) {
	keys := tables.Keys{To: d.Row.Last}
	if w.From > 0 {
		keys.From = w.From.String()
	}
	if w.To < tables.MaxTicks {
		keys.Before = w.To.String()
	}
	counted := &tracking.Ledger{}
	q := tables.Query{Range: tables.Partition(string(d.Member.Device)), Select: []string{"RowKey"}}
	for _, q.Range.Rows = range d.Member.Spans.Within(keys) {
		for page, err := range p.Client.Table(d.Member.Readings).Rows(ctx, q) {
			if errors.Is(err, tables.ErrNoTable) {
				return counted, nil
			}
			if err != nil {
				return nil, err
			}
			d.Seen = max(d.Seen, tables.TicksOf(page.Time))
			for i := range page.Rows {
				counted.Add(page.Rows[i].RowKey)
			}
		}
	}
	return counted, nil
}
