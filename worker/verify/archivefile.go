package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// A shelvedFile is a live file of a day, as the catalog has it.
type shelvedFile struct {
	name   string // in the table's folder
	months []schema.Month
	rows   int64
	first  string // about the first device: no later one
}

// readFiles reads the rows f!DATE!NAME of a day.
func (s *shelf) readFiles(ctx context.Context, day schema.Day) (all []shelvedFile, err error) {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(s.partition()), Rows: tables.KeysWithPrefix("f" +
		schema.Separator + day.String() + schema.Separator)}, Select: []string{"Months", "Stats"}}
	for e, err := range s.Client.Table(s.Names.Catalog()).Entities(ctx, q) {
		if errors.Is(err, tables.ErrNoTable) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		var stats struct {
			Rows   int64
			Ranges map[string]struct{ Min string }
		}
		f := e.Fields()
		errStats := json.Unmarshal([]byte(f.String("Stats")), &stats)
		name := e.RowKey[strings.LastIndex(e.RowKey, schema.Separator)+1:]
		one := shelvedFile{name: "date=" + day.String() + "/" + name + ".parquet", rows: stats.Rows,
			first: stats.Ranges["device"].Min}
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

// An archivedRow is a row of a file.
type archivedRow struct{ device, key string }

func (r archivedRow) compare(o archivedRow) int {
	if c := strings.Compare(r.device, o.device); c != 0 {
		return c
	}
	return strings.Compare(r.key, o.key)
}

// rowsOfFile yields devices and row keys of a Parquet file. It holds a page of each of the two columns.
func rowsOfFile(content []byte) iter.Seq2[archivedRow, error] {
	return func(yield func(archivedRow, error) bool) {
		r, err := file.NewParquetReader(bytes.NewReader(content))
		if err != nil {
			yield(archivedRow{}, err)
			return
		}
		defer r.Close()
		for g := range r.NumRowGroups() {
			devices, err := column(r, g, "device")
			keys, errKeys := column(r, g, "key")
			for left := r.RowGroup(g).NumRows(); left > 0 && err == nil && errKeys == nil; {
				var d, k []string
				d, err = devices(min(left, pageRows))
				k, errKeys = keys(min(left, pageRows))
				if left -= int64(len(d)); len(d) == 0 || len(d) != len(k) {
					err = errors.Join(err, errors.New("the columns device and key have fewer values than the file has rows"))
					break
				}
				for i := range d {
					if !yield(archivedRow{d[i], k[i]}, nil) {
						return
					}
				}
			}
			if err := errors.Join(err, errKeys); err != nil {
				yield(archivedRow{}, err)
				return
			}
		}
	}
}

// column returns a function that reads the next values of a column of texts, which every row has.
func column(r *file.Reader, group int, name string) (func(n int64) ([]string, error), error) {
	i := r.MetaData().Schema.ColumnIndexByName(name)
	if i < 0 {
		return nil, fmt.Errorf("it has no column %s", name)
	}
	chunk, err := r.RowGroup(group).Column(i)
	if err != nil {
		return nil, err
	}
	texts, is := chunk.(*file.ByteArrayColumnChunkReader)
	if !is || texts.Descriptor().MaxDefinitionLevel() > 0 {
		return nil, fmt.Errorf("its column %s is not one of texts", name)
	}
	values := make([]parquet.ByteArray, pageRows)
	return func(n int64) (all []string, err error) {
		for int64(len(all)) < n {
			_, has, err := texts.ReadBatch(n-int64(len(all)), values, nil, nil)
			if err != nil || has == 0 {
				return all, err
			}
			for _, v := range values[:has] {
				all = append(all, string(v))
			}
		}
		return all, nil
	}, nil
}
