package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// A shelvedFile is a live file of a day, as the catalog has it.
type shelvedFile struct {
	name   string // in the folder of the tenant's tables
	months []schema.Month
	rows   int64
	first  string // about the first device: no later one
	last   string // and about the last one
}

// readFiles reads the rows f!DATE!NAME of a day of a table.
func (s *shelf) readFiles(ctx context.Context, table string, day schema.Day) (all []shelvedFile, err error) {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(s.partition(table)), Rows: tables.KeysWithPrefix("f" +
		schema.Separator + day.String() + schema.Separator)}, Select: []string{"Months", "Stats"}}
	for e, err := range s.Client.Table(s.Names.Catalog()).Entities(ctx, q) {
		if err != nil {
			return nil, err
		}
		var stats struct {
			Rows   int64
			Ranges map[string]struct{ Min, Max string }
		}
		f := e.Fields()
		errStats := json.Unmarshal([]byte(f.String("Stats")), &stats)
		name := e.RowKey[strings.LastIndex(e.RowKey, schema.Separator)+1:]
		one := shelvedFile{name: table + "/date=" + day.String() + "/" + name + ".parquet", rows: stats.Rows,
			first: stats.Ranges["device"].Min, last: stats.Ranges["device"].Max}
		if d := string(s.Device); d != "" && (d < one.first || d > one.last) {
			continue
		}
		for text := range strings.FieldsSeq(f.String("Months")) {
			m, err := schema.ParseMonth(text)
			if err != nil {
				return nil, err
			}
			one.months = append(one.months, m)
		}
		if err := errors.Join(errStats, f.Err()); err != nil {
			return nil, fmt.Errorf("row %s of the archive's catalog: %w", tables.Quote(e.RowKey), err)
		}
		all = append(all, one)
	}
	return all, nil
}

// together returns the partitions of the fleet that share files with that of the shelf, and these files.
func (s *shelf) together(all []shelvedFile) (months []schema.Month, files []shelvedFile) {
	months = []schema.Month{s.at.Month}
	for more := true; more; {
		more = false
		all = slices.DeleteFunc(all, func(f shelvedFile) bool {
			shares := slices.ContainsFunc(f.months, func(m schema.Month) bool { return slices.Contains(months, m) })
			if shares {
				files, more = append(files, f), true
				months = append(months, f.months...)
			}
			return shares
		})
	}
	slices.SortFunc(months, schema.Month.Compare)
	slices.SortFunc(files, func(a, b shelvedFile) int { return strings.Compare(a.first, b.first) })
	return slices.Compact(months), files
}
