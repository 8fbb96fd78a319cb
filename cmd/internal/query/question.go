package query

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Question is what to read of the devices of a scope.
type Question struct {
	Scope   Scope
	Span    Span
	Window  schema.Window // of rollups
	Sensors []string      // none: all
	Limit   int           // of records; 0: all
}

// CheckSensors says why no reading can have a sensor of such a name.
func CheckSensors(names []string) error {
	e := tables.Entity{PartitionKey: "device", RowKey: "row"}
	for _, name := range names {
		e.Properties = append(e.Properties, tables.Property{Name: name, Value: tables.Int32(0)})
	}
	if err := e.Check(); err != nil {
		return fmt.Errorf("no sensor can be called so: %w", err)
	}
	return nil
}

// query is a range, and no more of its rows than the question needs.
func (q Question) query(r tables.Range) tables.Query {
	return tables.Query{Range: r, Select: q.Sensors, Size: min(q.Limit, 1000)}
}

// sensors are the properties of a row that the question is about, by name.
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

// limited ends after so many records.
func limited[R any](records iter.Seq2[R, error], limit int) iter.Seq2[R, error] {
	if limit == 0 {
		return records
	}
	return func(yield func(R, error) bool) {
		n := 0
		for r, err := range records {
			if n++; !yield(r, err) || n == limit {
				return
			}
		}
	}
}
