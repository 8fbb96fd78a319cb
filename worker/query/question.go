package query

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Question says what to read about the devices of a scope.
type Question struct {
	Scope   Scope
	Span    Span
	Window  schema.Window // of rollups
	Sensors []string      // none: all
	Limit   int           // of records; 0: all
	Pages   int           // of each range; where there are more, ErrMore follows; 0: all
}

// CheckSensors returns an error if no reading can have sensors of these names.
func CheckSensors(names []string) error {
	e := tables.Entity{PartitionKey: "device", RowKey: "row"}
	for _, name := range names {
		e.Properties = append(e.Properties, tables.Property{Name: name, Value: tables.Int32(0)})
	}
	if err := e.Check(); err != nil {
		return fmt.Errorf("not the name of a sensor: %w", err)
	}
	return nil
}

// ErrMore means that a range has more pages than the question asked for. The read continues
// with the next range.
var ErrMore = errors.New("there are more rows")

// read reads a range of a table, and no more of its rows than the question needs.
func (q Question) read(t *tables.Table, r tables.Range) read {
	query := tables.Query{Range: r, Size: min(q.Limit, 1000)}
	if len(q.Sensors) > 0 {
		query.Select = append([]string{schema.FormatProperty}, q.Sensors...)
	}
	return read{t, query, q.Pages}
}

// sensors returns the properties of a row that the question asks for, by name.
func (q Question) sensors(e tables.Entity) []tables.Property {
	var wanted []tables.Property
	for _, p := range e.Properties {
		if !jobs.IsReserved(p.Name) && (len(q.Sensors) == 0 || slices.Contains(q.Sensors, p.Name)) {
			wanted = append(wanted, p)
		}
	}
	slices.SortFunc(wanted, func(a, b tables.Property) int { return cmp.Compare(a.Name, b.Name) })
	return wanted
}
