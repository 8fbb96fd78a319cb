package bench

import (
	"context"
	"fmt"

	"furrow/tables"
)

// perRange is how many rows a range read returns. A table to be read has a
// multiple of it, so that every range is full.
const perRange = 100

func gets() *workload {
	return &workload{
		name:  "get",
		about: "one row by its keys, somewhere in a filled table",
		reads: true,
		prepare: func(ctx context.Context, e *endpoint, tableRows int) (operation, error) {
			d, err := e.dataset(ctx, tableRows)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, _ int, _ func()) error {
				device, row := d.somewhere(1)
				_, err := d.table.Get(ctx, partition(device), rowKey(int64(row)))
				return err
			}, nil
		},
	}
}

// ranges are what a device job reads: the rows after a checkpoint.
func ranges() *workload {
	return &workload{
		name:  "range",
		about: "100 rows of one device, somewhere in a filled table",
		rows:  perRange,
		reads: true,
		prepare: func(ctx context.Context, e *endpoint, tableRows int) (operation, error) {
			d, err := e.dataset(ctx, tableRows)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, _ int, _ func()) error {
				device, row := d.somewhere(perRange)
				return d.read(ctx, device, int64(row), int64(row+perRange-1), perRange)
			}, nil
		},
	}
}

// emptyRanges are what a device job reads when its device is idle.
func emptyRanges() *workload {
	return &workload{
		name:  "empty-range",
		about: "the rows after a device's last, of which there are none",
		reads: true,
		prepare: func(ctx context.Context, e *endpoint, tableRows int) (operation, error) {
			d, err := e.dataset(ctx, tableRows)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, _ int, _ func()) error {
				device, _ := d.somewhere(1)
				return d.read(ctx, device, rowsPerDevice, 2*rowsPerDevice, 0)
			}, nil
		},
	}
}

// read reads the rows of a device from one key to another, and counts them.
func (d *dataset) read(ctx context.Context, device int, first, last int64, want int) error {
	got := 0
	for page, err := range d.table.Rows(ctx, tables.Query{Range: tables.RowsBetween(partition(device), rowKey(first), rowKey(last))}) {
		if err != nil {
			return err
		}
		got += len(page.Rows)
	}
	if got != want {
		return fmt.Errorf("a range of %d rows was read as %d", want, got)
	}
	return nil
}
