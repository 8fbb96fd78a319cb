package schema

import (
	"errors"
	"fmt"

	"furrow/tables"
)

// Format is the newest format of messages and entities that this program reads and
// can write. All that a fleet stores shares one number. What is written follows the
// configuration that holds: its Format is the one that every worker of the fleet
// knows. So two versions of the program run side by side, and an older one can take
// over again until 'furrow config apply' raises the number, which never goes back.
//
// Whoever gives a member or a property another meaning, or adds one that a reader
// has to know, raises Format, and writes as before where the configuration's number is
// lower. Keys are no format: see Layout.
const Format = 1

// FormatProperty says in which format an entity is written; without it, it is 1.
const FormatProperty = "_format"

// ErrNewer says that something is written in a format that this program cannot read.
var ErrNewer = errors.New("run a newer version of furrow")

// CheckFormat returns an error with ErrNewer in its chain where format is above Format.
func CheckFormat(format int64) error {
	if format > Format {
		return fmt.Errorf("it is written in format %d, and this program reads up to %d: %w", format, Format, ErrNewer)
	}
	return nil
}

// FormatOf is the format in which an entity is written.
func FormatOf(e *tables.Entity) int64 { return max(1, e.Get(FormatProperty).Int()) }

// SetFormat says that e is written in a format.
func SetFormat(e *tables.Entity, format int64) {
	if format > 1 {
		e.Set(FormatProperty, tables.Int64(format))
	}
}

// fieldsOf are the fields of an entity. Of one that is written in a newer format
// their error says so.
func fieldsOf(e *tables.Entity) *tables.Fields {
	f := e.Fields()
	f.Fail("format", CheckFormat(FormatOf(e)))
	return f
}
