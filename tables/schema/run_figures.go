package schema

import (
	"fmt"
	"strings"

	"furrow/tables"
)

// FiguresPartition returns the partition of the table runs with the figures of a run's
// jobs: pipeline!slot.
func FiguresPartition(p Pipeline, slot tables.Ticks) string {
	return string(p) + Separator + slot.String()
}

// FiguresSince returns the partitions with the figures of a pipeline's runs from a slot on,
// in the order of the slots.
func FiguresSince(p Pipeline, slot tables.Ticks) tables.Keys {
	return tables.Keys{From: FiguresPartition(p, slot), To: FiguresPartition(p, tables.MaxTicks)}
}

// ParseFiguresPartition parses the result of FiguresPartition.
func ParseFiguresPartition(s string) (Pipeline, tables.Ticks, error) {
	name, text, _ := strings.Cut(s, Separator)
	p, err := ParsePipeline(name)
	if err != nil {
		return "", 0, err
	}
	slot, err := tables.ParseTicks(text)
	return p, slot, err
}

// The rows of a FiguresPartition, by the first part of their RowKeys.
const (
	monthFigures  = "month"  // then the month
	workerFigures = "worker" // then the worker's ID and the number of the part
)

// A count is a figure and its property.
type count struct {
	property string
	of       *int64
}

// setCounts sets the figures that are not zero.
func setCounts(e *tables.Entity, counts []count) {
	for _, c := range counts {
		if *c.of != 0 {
			e.Set(c.property, tables.Int64(*c.of))
		}
	}
}

func readCounts(f *tables.Fields, counts []count) {
	for _, c := range counts {
		*c.of = f.Int(c.property)
	}
}

func addCounts(to, from []count) {
	for i := range to {
		*to[i].of += *from[i].of
	}
}

// figuresKey parses the keys of a row of figures. The first part of its RowKey must be kind;
// rest is the others.
func figuresKey(e tables.Entity, f *tables.Fields, kind string) (p Pipeline, slot tables.Ticks, rest string) {
	p, slot, err := ParseFiguresPartition(e.PartitionKey)
	f.Fail("PartitionKey", err)
	is, rest, _ := strings.Cut(e.RowKey, Separator)
	if is != kind || rest == "" {
		f.Fail("RowKey", fmt.Errorf("want %s%s and more", kind, Separator))
	}
	return p, slot, rest
}

// IsMonthFigures reports whether a row of a FiguresPartition is a MonthFigures.
func IsMonthFigures(e tables.Entity) bool { return strings.HasPrefix(e.RowKey, monthFigures+Separator) }

// IsWorkerFigures reports whether a row of a FiguresPartition is a WorkerFigures.
func IsWorkerFigures(e tables.Entity) bool {
	return strings.HasPrefix(e.RowKey, workerFigures+Separator)
}
