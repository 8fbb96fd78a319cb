package verify

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json/jsontext"
)

// Kinds of cells, as columns of the archive are typed.
const (
	double   = "double" // numbers, and integers that a double equals
	long     = "long"   // other integers
	words    = "string"
	binaries = "binary"
	moment   = "timestamp" // the column time
	doubtful = "doubtful"  // the column of that name
)

// A cell is what a row says of a sensor in one kind. Columns that belong to no sensor have kinds of their own.
type cell struct{ sensor, kind string }

func (c cell) compare(o cell) int {
	return cmp.Or(cmp.Compare(c.sensor, o.sensor), cmp.Compare(c.kind, o.kind))
}

// String returns the sensor, or the column that belongs to none.
func (c cell) String() string {
	switch c.kind {
	case moment:
		return "column time"
	case doubtful:
		return "column doubtful"
	}
	return c.sensor
}

// cells are those of a row that are not null, as text.
type cells map[cell]string

// A column is one of a table of readings.
type column struct {
	cell
	about bool // it says something about the device, as it was when the file was made
	more  bool // it has the cells of all sensors without a column
}

// readingsColumns are those of tables of readings that belong to no sensor.
func readingsColumns() map[string]column {
	return map[string]column{"device": {cell: cell{kind: "device"}}, "key": {cell: cell{kind: "key"}},
		"time": {cell: cell{kind: moment}}, "doubtful": {cell: cell{kind: doubtful}}}
}

// readColumns adds the rows c!NAME of the catalog: which sensor and kind each column is of.
func (s *shelf) readColumns(ctx context.Context, table string, all map[string]column) (map[string]column, error) {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(s.partition(table)),
		Rows: tables.KeysWithPrefix("c" + schema.Separator)}}
	for e, err := range s.Client.Table(s.Names.Catalog()).Entities(ctx, q) {
		if err != nil {
			return nil, err
		}
		f := e.Fields()
		all[f.String("Name")] = column{cell{f.String("Sensor"), f.String("Type")}, f.Boolean("About"),
			f.Boolean("More")}
		if err := f.Err(); err != nil {
			return nil, fmt.Errorf("row %s of the archive's catalog: %w", tables.Quote(e.RowKey), err)
		}
	}
	return all, nil
}

// An exactValue is one that neither a number nor a text holds: an integer beyond 2^53, or bytes.
type exactValue struct {
	sensor string
	value  tables.Value
}

// exactly keeps what the value of a sensor cannot hold of v.
func (r *reading) exactly(sensor string, v tables.Value, value Value, is, wrong bool) {
	r.exact = slices.DeleteFunc(r.exact, func(x exactValue) bool { return x.sensor == sensor })
	whole := v.Type() == tables.TypeInt64 && !value.IsText && value.Number == float64(v.Int())
	if !wrong && (is && whole && !equals(value.Number, v.Int()) || !is && v.Type() == tables.TypeBinary) {
		r.exact = append(r.exact, exactValue{sensor, v})
	}
}

// equals reports whether a double is the integer n.
func equals(f float64, n int64) bool { return f < 1<<63 && int64(f) == n }

// cells returns what a row of the archive says of a reading.
func (r *reading) cells() cells {
	all := cells{{kind: moment}: wholeText(r.key.Ticks.Time().UnixMicro())}
	for _, v := range r.values {
		if v.Doubtful {
			all[cell{kind: doubtful}] = doubtful
		}
		if v.IsText {
			all[cell{v.Sensor, words}] = strconv.Quote(v.Text)
		} else {
			all[cell{v.Sensor, double}] = doubleText(v.Number)
		}
	}
	for _, x := range r.exact {
		delete(all, cell{x.sensor, double})
		if x.value.Type() == tables.TypeBinary {
			all[cell{x.sensor, binaries}] = bytesText(x.value.Binary())
		} else {
			all[cell{x.sensor, long}] = wholeText(x.value.Int())
		}
	}
	return all
}

// setMore adds the cells of a JSON object: numbers by the names of their sensors, the others with a suffix.
func (all cells) setMore(text string) error {
	d := jsontext.NewDecoder(strings.NewReader(text))
	for {
		name, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if name.Kind() != '"' { // the object begins or ends
			continue
		}
		of := moreCell(name.String())
		value, err := d.ReadToken()
		if err != nil {
			return err
		}
		if all[of], err = moreText(of.kind, value.String()); err != nil {
			return err
		}
	}
}

// moreCell returns the cell of a name. One of a number has a suffix only where the name of the sensor ends like one.
func moreCell(name string) cell {
	for _, of := range [][2]string{{"_double", double}, {"_long", long}, {"_text", words}, {"_bytes", binaries}} {
		if sensor, is := strings.CutSuffix(name, of[0]); is {
			return cell{sensor, of[1]}
		}
	}
	return cell{name, double}
}

func moreText(kind, text string) (string, error) {
	switch kind {
	case words:
		return strconv.Quote(text), nil
	case long:
		n, err := strconv.ParseInt(text, 10, 64)
		return wholeText(n), err
	case binaries:
		b, err := base64.StdEncoding.DecodeString(text)
		return bytesText(b), err
	}
	n, err := strconv.ParseFloat(text, 64)
	return doubleText(n), err
}
