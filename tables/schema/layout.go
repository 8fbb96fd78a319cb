package schema

import (
	"context"
	"errors"
	"fmt"

	"furrow/tables"
)

// Layout is the version of how this program forms keys. Keys cannot change like a format:
// a program with an older layout would not find rows with new keys. So a row of the table
// fleet, before all months, states the layout, and no program works on a fleet with
// another one.
const Layout = 1

const layoutPartition, layoutRow = "!layout", "layout"

// ErrLayout means that a fleet has another layout than this program.
var ErrLayout = errors.New("another layout of keys")

// CheckLayout returns ErrLayout if the fleet has another layout. A fleet without one is new.
func CheckLayout(ctx context.Context, fleet *tables.Table) error {
	e, err := fleet.Get(ctx, layoutPartition, layoutRow)
	if errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable) {
		return nil
	}
	if err != nil {
		return err
	}
	if has := e.Get("Layout").Int(); has != Layout {
		return fmt.Errorf("%w: the fleet in this storage has layout %d, and this program knows layout %d: use the version "+
			"of furrow that the fleet was made with", ErrLayout, has, Layout)
	}
	return nil
}

// StateLayout stores this program's layout in a new fleet, and checks that of an existing one.
func StateLayout(ctx context.Context, fleet *tables.Table) error {
	e := tables.Entity{PartitionKey: layoutPartition, RowKey: layoutRow}
	e.Set("Layout", tables.Int64(Layout))
	if _, err := fleet.Do(ctx, tables.Insert(e)); err != nil && !errors.Is(err, tables.ErrExists) {
		return err
	}
	return CheckLayout(ctx, fleet)
}

// Memberships returns the range of the partitions with members after one of them, or of all
// if it is empty.
func Memberships(after string) tables.Range {
	return tables.PartitionsAfter(max(after, layoutPartition))
}
