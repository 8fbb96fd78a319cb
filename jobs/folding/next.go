package folding

import (
	"context"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// HasRow reports whether a device has a row of its own in a range.
func HasRow(ctx context.Context, c *tables.Client, m schema.Member, keys tables.Keys) (bool, error) {
	q := tables.Query{Range: tables.Partition(string(m.Device)), Select: []string{"RowKey"}}
	for _, q.Range.Rows = range m.Spans.Within(keys) {
		if _, found, err := c.Table(m.Readings).First(ctx, q); found || err != nil {
			return true, err
		}
	}
	return false, nil
}

// Next returns a time up to which nothing is to be done for the device as it is now, as long as no row comes.
func (d *Device) Next() (tables.Ticks, error) {
	next := tables.MaxTicks
	for processor, w := range d.Model.Watchers {
		next = min(next, w.Next(d.Member, d.Row.State(processor.Name), d.Known))
	}
	for _, processor := range d.Model.Processors {
		closer, ok := processor.Fold.(fold.Closer)
		if !ok {
			continue
		}
		at, err := closer.Next(d.Row.State(processor.Name))
		if err != nil {
			return 0, err
		}
		next = min(next, at)
	}
	return next, nil
}
