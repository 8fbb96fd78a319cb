package schema

import (
	"context"
	"errors"
	"fmt"

	"furrow/tables"
)

// Layout is how this program forms keys. Keys are no format: rows with other keys
// are other rows, which a program of an older layout would not find. So a fleet states
// its layout in a row of the table fleet, before all months, and no program works on a
// fleet of another layout.
const Layout = 1

const layoutPartition, layoutRow = "!layout", "layout"

// ErrLayout says that a fleet has another layout than this program's.
var ErrLayout = errors.New("another layout of keys")

// CheckLayout returns ErrLayout where a fleet states another layout than this
// program's. A fleet that states none is a new one.
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
			"of furrow that the fleet was made with",
			ErrLayout, has, Layout)
	}
	return nil
}

// StateLayout states this program's layout in a new fleet, and checks that of any other.
func StateLayout(ctx context.Context, fleet *tables.Table) error {
	e := tables.Entity{PartitionKey: layoutPartition, RowKey: layoutRow}
	e.Set("Layout", tables.Int64(Layout))
	if _, err := fleet.Do(ctx, tables.Insert(e)); err != nil && !errors.Is(err, tables.ErrExists) {
		return err
	}
	return CheckLayout(ctx, fleet)
}

// Memberships are the partitions of the table fleet that hold members, after one of
// them; all where it is empty.
func Memberships(after string) tables.Range {
	return tables.PartitionsAfter(max(after, layoutPartition))
}
