package schema

import (
	"errors"
	"fmt"

	"furrow/tables"
)

// Format is the newest format of messages and entities that this program can read and
// write. All messages and entities of a fleet share one number. Programs write in the Format
// of the current configuration, which every worker of the fleet can read. So two versions of
// the program run side by side, and a rollback is possible until 'furrow config apply' raises
// the number, which never decreases.
//
// A change of the meaning of a member or a property, or a new one that readers must know,
// raises Format. The program then still writes the old form if the configuration's number
// is lower. Keys have no format: see Layout.
const Format = 1

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

// SetFormat sets the format of an entity.
func SetFormat(e *tables.Entity, format int64) {
	if format > 1 {
		e.Set(FormatProperty, tables.Int64(format))
	}
}

// fieldsOf returns the fields of an entity, with an error if its format is too new.
func fieldsOf(e *tables.Entity) *tables.Fields {
	f := e.Fields()
	f.Fail("format", CheckFormat(FormatOf(e)))
	return f
}
