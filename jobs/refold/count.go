package refold

import (
	"context"
	"errors"

	"furrow/jobs/coverage"
	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
)

// count counts the rows of a device in a window, up to its checkpoint.
func (a *auditor) count(ctx context.Context, d *folding.Device, w coverage.Window) (*tracking.Ledger, error) {
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
		for page, err := range a.Writer.Client.Table(d.Member.Readings).Rows(ctx, q) {
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
