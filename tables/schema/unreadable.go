package schema

import (
	"fmt"

	"furrow/tables"
)

// An UnreadableError means that one row, or one property of it, cannot be read: a newer
// version of the program wrote it, or it is damaged. The read continues after it.
type UnreadableError struct {
	Table, PartitionKey, RowKey string
	Property                    string // empty: the whole row
	Err                         error
}

func (e *UnreadableError) Error() string {
	row := fmt.Sprintf("table %s: row %s of %s", e.Table, tables.Quote(e.RowKey), tables.Quote(e.PartitionKey))
	if e.Property != "" {
		row += ", property " + e.Property
	}
	return row + " cannot be read: " + e.Err.Error()
}

func (e *UnreadableError) Unwrap() error { return e.Err }
