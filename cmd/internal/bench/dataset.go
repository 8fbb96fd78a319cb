package bench

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"furrow/tables"
)

// A dataset is a table that was filled to be read: devices with a thousand
// readings each, the last with what is left over.
type dataset struct {
	table *tables.Table
	rows  int
}

const rowsPerDevice = 1000

// dataset fills a table the first time that one of so many rows is asked for.
func (e *endpoint) dataset(ctx context.Context, rows int) (*dataset, error) {
	if d := e.datasets[rows]; d != nil {
		return d, nil
	}
	name, err := e.newTable(ctx)
	if err != nil {
		return nil, err
	}
	d := &dataset{table: e.tables.Table(name), rows: rows}
	if err := d.fill(ctx, e); err != nil {
		return nil, err
	}
	e.datasets[rows] = d
	return d, nil
}

// fill writes transaction by transaction, all clients at once; the first error ends it.
func (d *dataset) fill(ctx context.Context, e *endpoint) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	text := newFiller()
	var next atomic.Int64
	var filling sync.WaitGroup
	for range e.clients {
		filling.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(perTransaction)) - perTransaction
				if from >= d.rows {
					return
				}
				if err := d.fillFrom(ctx, text, from, e.size); err != nil {
					cancel(err)
				}
			}
		})
	}
	filling.Wait()
	return context.Cause(ctx)
}

func (d *dataset) fillFrom(ctx context.Context, text filler, from, size int) error {
	n := from
	return insertTogether(ctx, d.table, min(perTransaction, d.rows-from), func() tables.Entity {
		row := text.entity(partition(n/rowsPerDevice), rowKey(int64(n%rowsPerDevice)), int64(n), size)
		n++
		return row
	})
}

// somewhere picks a device, and a row of it that has at least so many from
// there on, itself included.
func (d *dataset) somewhere(following int) (device, row int) {
	n := rand.IntN(d.rows)
	device = n / rowsPerDevice
	last := min(rowsPerDevice, d.rows-device*rowsPerDevice)
	return device, max(0, min(n%rowsPerDevice, last-following))
}
