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
	if tables.Absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if from := e.Get(layoutCopying); from.Text() != "" {
		return fmt.Errorf("%w: this storage is the destination of a copy of %s that is not complete: finish it with furrow "+
			"copy --finish", ErrLayout, from.Text())
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

// copying is a layout that no program has.
const copying = -1

// Properties of the row of the layout at the destination of a copy.
const (
	layoutCopying = "Copying" // the source of a copy that is not complete
	layoutCopied  = "Copied"  // the source of one that is
)

// IsLayout reports whether a row of the table fleet states the layout.
func IsLayout(e tables.Entity) bool { return e.PartitionKey == layoutPartition }

// MarkCopying has all programs refuse the fleet, because it is being copied from a source. It fails with ErrLayout if
// there is a fleet already that is no such copy.
func MarkCopying(ctx context.Context, fleet *tables.Table, source string) error {
	if err := fleet.Create(ctx); err != nil {
		return err
	}
	e := tables.Entity{PartitionKey: layoutPartition, RowKey: layoutRow}
	e.Set("Layout", tables.Int64(copying))
	e.Set(layoutCopying, tables.String(source))
	_, err := fleet.Do(ctx, tables.Insert(e))
	if !errors.Is(err, tables.ErrExists) {
		return err
	}
	found, err := fleet.Get(ctx, layoutPartition, layoutRow)
	if is := found.Get(layoutCopying); err == nil && is.Text() != source {
		err = fmt.Errorf("%w: there is a fleet that is no unfinished copy of %s: name another account, or another prefix",
			ErrLayout, source)
	}
	return err
}

// MarkCopied lets programs work on a fleet whose copy is complete.
func MarkCopied(ctx context.Context, fleet *tables.Table, source string) error {
	e := tables.Entity{PartitionKey: layoutPartition, RowKey: layoutRow}
	e.Set("Layout", tables.Int64(Layout))
	e.Set(layoutCopied, tables.String(source))
	_, err := fleet.Do(ctx, tables.InsertOrReplace(e))
	return err
}

// Copied reports whether a fleet is a complete copy of a source.
func Copied(ctx context.Context, fleet *tables.Table, source string) (bool, error) {
	e, err := fleet.Get(ctx, layoutPartition, layoutRow)
	if tables.Absent(err) {
		return false, nil
	}
	from := e.Get(layoutCopied)
	return err == nil && from.Text() == source, err
}

// Memberships returns the range of the partitions with members after one of them, or of all
// if it is empty.
func Memberships(after string) tables.Range {
	return tables.PartitionsAfter(max(after, layoutPartition))
}

// Format is the newest format of messages and entities that this program can read and
// write. All messages and entities of a fleet share one number. Programs write in the Format
// of the current configuration, which every worker of the fleet can read. So two versions of
// the program run side by side, and a rollback is possible until 'furrow config apply' raises
// the number, which never decreases.
//
// A change of the meaning of a member or a property, or a new one that readers must know,
// raises Format. The program then still writes the old form if the configuration's number
// is lower. Keys have no format: see Layout.
//
// Format 2 has the archive in tables: no worker may still make days of it in another form. Format 3 has devices that
// rest: every endpoint says until when it lets a device write, and messages may list their devices.
const Format = 3

// RestFormat is the first format with devices that rest.
const RestFormat = 3

// sameRows is the format up to which the rows that jobs write are those of format 1.
const sameRows = 3

// FormatProperty is the property with the format of an entity; without it the format is 1.
const FormatProperty = "_format"

// ErrNewer means that this program cannot read a format.
var ErrNewer = errors.New("run a newer version of furrow")

// CheckFormat returns an error that wraps ErrNewer if format is above Format.
func CheckFormat(format int64) error {
	if format > Format {
		return fmt.Errorf("it is written in format %d, and this program reads up to %d: %w", format, Format, ErrNewer)
	}
	return nil
}

// FormatOf returns the format of an entity.
func FormatOf(e *tables.Entity) int64 { return max(1, e.Get(FormatProperty).Int()) }

// SetFormat sets the format of a row that jobs write.
func SetFormat(e *tables.Entity, format int64) {
	if format > sameRows {
		e.Set(FormatProperty, tables.Int64(format))
	}
}

// fieldsOf returns the fields of an entity, with an error if its format is too new.
func fieldsOf(e *tables.Entity) *tables.Fields {
	f := e.Fields()
	f.Fail("format", CheckFormat(FormatOf(e)))
	return f
}

// decode reads the properties of an entity into a row, with an error if its format is too new.
func decode(e *tables.Entity, row any) *tables.Fields {
	f := fieldsOf(e)
	f.Decode(row)
	return f
}

// parsed returns what parse makes of a text, and has f report why it is invalid; what says where it is, such as RowKey.
func parsed[T any](f *tables.Fields, what, text string, parse func(string) (T, error)) T {
	v, err := parse(text)
	f.Fail(what, err)
	return v
}
