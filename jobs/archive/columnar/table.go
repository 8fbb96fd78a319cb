package columnar

import (
	"errors"
	"fmt"
	"io"

	"furrow/tables"

	"github.com/parquet-go/parquet-go"
)

// A Type is that of a column of a table.
type Type int

const (
	Words   Type = iota // a string; null where it is empty
	Moments             // tables.Ticks, to the microsecond
	Counts              // an int64
	Doubles             // a float64
)

// A TableColumn is a column of a table.
type TableColumn struct {
	Name string
	Type Type
}

// A TableWriter writes a file with other rows than readings, such as rollups.
type TableWriter struct {
	Rows    int64
	columns []TableColumn
	rows    rowWriter
}

// NewTable returns a writer of a table.
func NewTable(to io.Writer, columns []TableColumn) *TableWriter {
	var names []string
	var nodes []parquet.Node
	for _, c := range columns {
		names, nodes = append(names, c.Name), append(nodes, c.node())
	}
	return &TableWriter{columns: columns, rows: newRowWriter(to, names, nodes)}
}

func (c TableColumn) node() parquet.Node {
	switch c.Type {
	case Moments: // fastparquet reads differences wrongly, and Parquet.Net not at all
		return parquet.Encoded(parquet.Timestamp(parquet.Microsecond), &parquet.RLEDictionary)
	case Counts:
		return parquet.Encoded(parquet.Int(64), &parquet.RLEDictionary)
	case Doubles:
		return parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.RLEDictionary)
	}
	return parquet.Optional(parquet.Encoded(parquet.String(), &parquet.RLEDictionary))
}

// Write adds a row with a value for each column.
func (t *TableWriter) Write(values ...any) error {
	if len(values) != len(t.columns) {
		return fmt.Errorf("writing Parquet: %d values for %d columns", len(values), len(t.columns))
	}
	row, bytes := t.rows.begin(), 8*len(values)
	for i, v := range values {
		switch v := v.(type) {
		case string:
			if v != "" {
				row[i] = parquet.ByteArrayValue([]byte(v)).Level(0, 1, i)
				bytes += len(v)
			}
		case tables.Ticks:
			row[i] = parquet.Int64Value(micros(v)).Level(0, 0, i)
		case int64:
			row[i] = parquet.Int64Value(v).Level(0, 0, i)
		case float64:
			row[i] = parquet.DoubleValue(v).Level(0, 0, i)
		default:
			return fmt.Errorf("writing Parquet: column %s: no column holds a %T", t.columns[i].Name, v)
		}
	}
	t.Rows++
	return t.rows.addRow(row, bytes)
}

// Close ends the file.
func (t *TableWriter) Close() error { return t.rows.close() }

// ReadTable calls row with the values of each row of a table: nil, string, int64 or float64. Times are microseconds
// since 1970.
func ReadTable(file io.ReaderAt, size int64, row func([]any) error) (err error) {
	defer rescue(&err)
	f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("the file is no Parquet: %w", err)
	}
	rows, values := newRowReader(f), make([]any, len(f.Schema().Columns()))
	for {
		next, err := rows.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i, v := range next {
			values[i] = valueOf(v)
		}
		if err := row(values); err != nil {
			return err
		}
	}
}

func valueOf(v parquet.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquet.Int64:
		return v.Int64()
	case v.Kind() == parquet.Double:
		return v.Double()
	}
	return string(v.ByteArray())
}
