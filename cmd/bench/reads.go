package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"golang.org/x/sync/errgroup"

	"furrow/tables"
)

// perRange is how many rows a range read returns. Every device of a table to read has as many, so that each range is
// full.
const perRange = 100

// reading is a workload on a filled table.
func reading(w workload, read func(context.Context, *dataset) error) storageWorkload {
	return storageWorkload{w, func(ctx context.Context, e *endpoint) (operation, error) {
		d, err := e.dataset(ctx)
		return func(ctx context.Context, _ int, _ func()) error { return read(ctx, d) }, err
	}}
}

func gets() storageWorkload {
	w := workload{name: "get", about: "Get one row by its keys from a random place of a filled table"}
	return reading(w, func(ctx context.Context, d *dataset) error {
		device, row := d.somewhere(1)
		_, err := d.table.Get(ctx, partition(device), rowKey(int64(row)))
		return err
	})
}

// ranges are what a device job reads: the rows after a checkpoint.
func ranges() storageWorkload {
	w := workload{name: "range", about: "Read 100 rows of one device from a random place of a filled table",
		rows: perRange}
	return reading(w, func(ctx context.Context, d *dataset) error {
		device, row := d.somewhere(perRange)
		return d.read(ctx, device, int64(row), int64(row+perRange-1), perRange)
	})
}

// emptyRanges are what a device job reads when its device is idle.
func emptyRanges() storageWorkload {
	w := workload{name: "empty-range", about: "Read the rows after a device's last row, which finds none"}
	return reading(w, func(ctx context.Context, d *dataset) error {
		device, _ := d.somewhere(1)
		return d.read(ctx, device, rowsPerDevice, 2*rowsPerDevice, 0)
	})
}

// A dataset is a filled table: devices with a thousand readings each, the last
// with what is left over.
type dataset struct {
	table *tables.Table
	rows  int
}

const rowsPerDevice = 1000

// dataset returns the table to read, which it fills on the first call.
func (e *endpoint) dataset(ctx context.Context) (*dataset, error) {
	d := &e.filled
	if d.table != nil {
		return d, nil
	}
	name, err := e.newTable(ctx)
	if err != nil {
		return nil, err
	}
	d.rows -= d.rows % perRange
	d.table = e.tables.Table(name)
	return d, d.fill(ctx, e)
}

// fill writes transactions, as many at a time as there are clients.
func (d *dataset) fill(ctx context.Context, e *endpoint) error {
	filling, ctx := errgroup.WithContext(ctx)
	filling.SetLimit(e.clients)
	text := newFiller()
	for n := 0; n < d.rows && ctx.Err() == nil; n += perTransaction {
		filling.Go(func() error {
			rows := make([]tables.Entity, min(perTransaction, d.rows-n))
			for i := range rows {
				device, row := (n+i)/rowsPerDevice, (n+i)%rowsPerDevice
				rows[i] = text.entity(partition(device), int64(row))
			}
			return insertTogether(ctx, d.table, rows)
		})
	}
	return filling.Wait()
}

// somewhere picks a device and one of its rows, which so many rows follow,
// counting the row itself.
func (d *dataset) somewhere(following int) (device, row int) {
	n := rand.IntN(d.rows)
	device = n / rowsPerDevice
	last := min(rowsPerDevice, d.rows-device*rowsPerDevice)
	return device, max(0, min(n%rowsPerDevice, last-following))
}

// read reads the rows of a device from one key to another, and counts them.
func (d *dataset) read(ctx context.Context, device int, first, last int64, want int) error {
	got := 0
	between := tables.RowsBetween(partition(device), rowKey(first), rowKey(last))
	for page, err := range d.table.Rows(ctx, tables.Query{Range: between}) {
		if err != nil {
			return err
		}
		got += len(page.Rows)
	}
	if got != want {
		return fmt.Errorf("read %d rows, want %d", got, want)
	}
	return nil
}
