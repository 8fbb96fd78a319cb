package schema

import (
	"strings"

	"furrow/tables"
)

// An Unheard is a row of the table runs: an audit has found rows of devices that had no token. Somebody writes them
// with the account's key, and their enrollment does not say so.
type Unheard struct {
	Pipeline   Pipeline
	Enrollment EnrollmentID
	Device     DeviceID     `row:"Device"`  // the first of them
	Devices    int          `row:"Devices"` // that the last audit has found which found any
	At         tables.Ticks `row:"At"`      // slot of that audit's run
}

const unheardRow = "unheard" + Separator

// Entity returns the row of u.
func (u Unheard) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: string(u.Pipeline), RowKey: unheardRow + string(u.Enrollment)}
	return e, e.Encode(&u)
}

// UnheardOf decodes a row of the range UnheardRows.
func UnheardOf(e tables.Entity) (Unheard, error) {
	u := Unheard{Pipeline: Pipeline(e.PartitionKey), Enrollment: EnrollmentID(strings.TrimPrefix(e.RowKey, unheardRow))}
	return u, decode(&e, &u).Err()
}

// UnheardRows returns the rows of a pipeline that are an Unheard.
func UnheardRows(p Pipeline) tables.Range {
	return tables.Range{Partitions: tables.Is(string(p)), Rows: tables.KeysWithPrefix(unheardRow)}
}
