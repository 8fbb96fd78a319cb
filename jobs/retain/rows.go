package retain

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"furrow/jobs/commit"
	"furrow/jobs/condition"
	"furrow/tables"
	"furrow/tables/schema"
)

// forgetRows deletes rows of a device, oldest first, after looking at most at so many.
func (p *Retainer) forgetRows(ctx context.Context, d *retained, most int) error {
	readings, looked, deleted := p.Client.Table(d.Member.Readings), 0, 0
	var going []string
	for page, err := range readings.Rows(ctx, d.query()) {
		if errors.Is(err, tables.ErrNoTable) {
			break
		}
		if err != nil {
			return err
		}
		for i := range page.Rows {
			if looked++; d.goes(&page.Rows[i]) {
				going = append(going, page.Rows[i].RowKey)
			}
			d.Row.Last = page.Rows[i].RowKey
		}
		if more := page.Next != (tables.Continuation{}); more && looked >= most {
			d.Behind = true
			break
		}
		if full := len(going) - len(going)%tables.MaxOps; full > 0 {
			if err := deleteRows(ctx, readings, string(d.Member.Device), going[:full]); err != nil {
				return err
			}
			deleted, going = deleted+full, slices.Clone(going[full:])
		}
	}
	if err := deleteRows(ctx, readings, string(d.Member.Device), going); err != nil {
		return err
	}
	deleted += len(going)
	d.count(ReadingsTable, deleted)
	d.done.Rows, d.Row.Rows = d.done.Rows+deleted, d.Row.Rows+int64(deleted)
	if !d.Behind {
		d.Row.Last = (d.to - 1).String()
	}
	return nil
}

// count counts deleted rows.
func (d *retained) count(table string, rows int) {
	if d.done.Deleted == nil {
		d.done.Deleted = map[string]int{}
	}
	d.done.Deleted[table] += rows
}

// deleteRows deletes rows of a partition. Those that are gone are as good.
func deleteRows(ctx context.Context, table *tables.Table, pk string, keys []string) error {
	for group := range slices.Chunk(keys, tables.MaxOps) {
		var last error
		for try := range commit.Tries {
			if len(group) == 0 {
				break
			}
			ops := make([]tables.Op, len(group))
			for i, key := range group {
				ops[i] = tables.Delete(pk, key, tables.AnyETag)
			}
			if _, last = table.Submit(ctx, ops); last == nil {
				break
			}
			if err := commit.Pause(ctx, try); err != nil {
				return err
			}
			left, err := keysOf(ctx, table, pk, group)
			if last = cmp.Or(err, last); err == nil {
				group = left
			}
			if len(group) == 0 {
				last = nil
			}
		}
		if last != nil {
			return last
		}
	}
	return nil
}

// keysOf returns which of some keys a partition has. They need not be sorted: the key of a head comes last.
func keysOf(ctx context.Context, table *tables.Table, pk string, keys []string) (left []string, err error) {
	q := tables.Query{Range: tables.RowsBetween(pk, slices.Min(keys), slices.Max(keys)), Select: []string{"RowKey"}}
	for e, err := range table.Entities(ctx, q) {
		if err != nil {
			return nil, err
		}
		if slices.Contains(keys, e.RowKey) {
			left = append(left, e.RowKey)
		}
	}
	return left, nil
}

// query asks for the rows that may go, with what decides whether they do.
func (d *retained) query() tables.Query {
	keys := tables.Keys{After: d.from, Before: d.to.String()}
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(d.Member.Device)), Rows: keys}}
	if d.keep.Where == nil {
		q.Select = []string{"RowKey"}
	}
	return q
}

// goes reports whether a row below the watermark is deleted.
func (d *retained) goes(e *tables.Entity) bool {
	if !d.Member.Has(tables.TicksBefore(e.RowKey)) {
		return false
	}
	if d.keep.Where == nil {
		return true
	}
	r, err := schema.ReadingOf(*e)
	if err != nil {
		return false
	}
	sample, _ := d.model.Sensors.Sample(r)
	return d.keep.Where.Holds(condition.Row{Labels: d.Member.Labels, Sensor: func(name string) condition.Value {
		for i := range sample.Values {
			if sample.Values[i].Sensor == name {
				return sample.Values[i].Condition()
			}
		}
		return condition.Value{}
	}})
}
