package schema

import (
	"cmp"
	"fmt"
	"reflect"
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
func ParseFiguresPartition(s string) (p Pipeline, slot tables.Ticks, err error) {
	name, text, _ := strings.Cut(s, Separator)
	err = cmp.Or(into(&p, name, ParsePipeline), into(&slot, text, tables.ParseTicks))
	return p, slot, err
}

// The rows of a FiguresPartition, by the first part of their RowKeys.
const (
	monthFigures  = "month"  // then the month
	workerFigures = "worker" // then the worker's ID and the number of the part
)

// addCounts adds to the figures of a row, which are its properties of type int64, those of another.
func addCounts(to, from any) {
	others := reflect.ValueOf(from).Elem()
	for field, sum := range reflect.ValueOf(to).Elem().Fields() {
		if _, is := field.Tag.Lookup("row"); is && field.Type == reflect.TypeFor[int64]() {
			sum.SetInt(sum.Int() + others.FieldByIndex(field.Index).Int())
		}
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
