package columnar

import (
	"fmt"
	"io"

	"furrow/jobs/fold"
	"furrow/tables"

	"github.com/parquet-go/parquet-go"
)

// A Writer writes a file. It holds at most one row group.
type Writer struct {
	columns  Columns
	used     Columns // what values there were
	file     *parquet.GenericWriter[any]
	width    int
	at       map[string]places
	doubtful int // index of its column; 0: none
	device   string
	rows     []parquet.Row // that the library has not got yet
	free     []parquet.Row
	grouped  int // rows of the row group
	bytes    int // of the row group's values
	Readings int64
	Rows     int64
}

// places are the columns of a sensor; 0: none.
type places struct {
	number, text int
	seen         Kinds
}

// NewWriter returns a Writer of a file with the given columns.
func NewWriter(to io.Writer, c Columns) *Writer {
	columns := c.list()
	w := &Writer{columns: c, used: Columns{About: c.About}, width: len(columns), at: map[string]places{},
		file: parquet.NewGenericWriter[any](to, options(&c, columns)...)}
	for i, column := range columns {
		at := w.at[column.sensor]
		switch {
		case column.kind == 0 && i >= fixed+len(c.About):
			w.doubtful = i
		case column.sensor == "":
		case column.kind == Numbers:
			at.number = i
			w.at[column.sensor] = at
		default:
			at.text = i
			w.at[column.sensor] = at
		}
	}
	return w
}

// Write adds a reading of a device. Readings come in the order of devices and row keys, and have no value that the
// columns lack. About has the device's values of the columns about it; an empty one is null.
func (w *Writer) Write(device string, about []string, s *fold.Sample) error {
	if device != w.device {
		if w.grouped >= groupRows {
			if err := w.flush(); err != nil {
				return err
			}
		}
		w.device = device
	}
	w.Readings++
	if !w.columns.Long || len(s.Values) == 0 {
		return w.end(w.wide(w.begin(device, about, s.Key.Ticks, s.Key.String()), s))
	}
	for i := range s.Values {
		if err := w.end(w.long(w.begin(device, about, s.Key.Ticks, s.Key.String()), &s.Values[i])); err != nil {
			return err
		}
	}
	return nil
}

// begin returns a row that has only what every row has.
func (w *Writer) begin(device string, about []string, at tables.Ticks, key string) parquet.Row {
	var row parquet.Row
	if n := len(w.free); n > 0 {
		row, w.free = w.free[n-1], w.free[:n-1]
	} else {
		row = make(parquet.Row, w.width)
	}
	row[0] = parquet.ByteArrayValue([]byte(device)).Level(0, 0, 0)
	row[1] = parquet.Int64Value(micros(at)).Level(0, 0, 1)
	row[2] = parquet.ByteArrayValue([]byte(key)).Level(0, 0, 2)
	for i := fixed; i < w.width; i++ {
		row[i] = parquet.NullValue().Level(0, 0, i)
	}
	for i, value := range about {
		if value != "" {
			row[fixed+i] = textOf(value, fixed+i)
		}
	}
	w.bytes += fixed*8 + len(key)
	return row
}

// micros is the microseconds since 1970. The row key has the seventh digit.
func micros(t tables.Ticks) int64 { return t.Time().UnixMicro() }

func textOf(s string, column int) parquet.Value {
	return parquet.ByteArrayValue([]byte(s)).Level(0, 1, column)
}

// wide sets the values of a reading.
func (w *Writer) wide(row parquet.Row, s *fold.Sample) parquet.Row {
	for i := range s.Values {
		v := &s.Values[i]
		at, kind := w.at[v.Sensor], kindOf(v)
		if at.seen&kind == 0 {
			at.seen |= kind
			w.at[v.Sensor] = at
		}
		if kind == Numbers {
			row[at.number] = parquet.DoubleValue(v.Number).Level(0, 1, at.number)
			w.bytes += 8
		} else {
			row[at.text] = textOf(v.State, at.text)
			w.bytes += 8 + len(v.State)
		}
		w.doubt(row, v)
	}
	return row
}

// long sets a value as a row.
func (w *Writer) long(row parquet.Row, v *fold.SensorValue) parquet.Row {
	w.used.Add(&fold.Sample{Values: []fold.SensorValue{*v}})
	at := fixed + len(w.columns.About)
	row[at] = textOf(v.Sensor, at)
	if kindOf(v) == Numbers {
		row[at+1] = parquet.DoubleValue(v.Number).Level(0, 1, at+1)
	} else {
		row[at+2] = textOf(v.State, at+2)
	}
	w.bytes += 8 + len(v.Sensor) + len(v.State)
	w.doubt(row, v)
	return row
}

func (w *Writer) doubt(row parquet.Row, v *fold.SensorValue) {
	if v.Doubtful {
		w.used.Doubtful = true
		row[w.doubtful] = parquet.BooleanValue(true).Level(0, 1, w.doubtful)
	}
}

// end adds a row. The library gets many rows at a time.
func (w *Writer) end(row parquet.Row) error {
	w.rows = append(w.rows, row)
	w.Rows++
	w.grouped++
	if w.bytes >= groupBytes {
		return w.flush()
	}
	if len(w.rows) < max(1, 8192/w.width) {
		return nil
	}
	return w.pass()
}

// pass passes rows to the library.
func (w *Writer) pass() error {
	if _, err := w.file.WriteRows(w.rows); err != nil {
		return fmt.Errorf("writing Parquet: %w", err)
	}
	w.free, w.rows = append(w.free, w.rows...), w.rows[:0]
	return nil
}

// flush ends a row group.
func (w *Writer) flush() error {
	if err := w.pass(); err != nil {
		return err
	}
	w.grouped, w.bytes = 0, 0
	if err := w.file.Flush(); err != nil {
		return fmt.Errorf("writing Parquet: %w", err)
	}
	return nil
}

// Close ends the file.
func (w *Writer) Close() error {
	if err := w.pass(); err != nil {
		return err
	}
	return w.file.Close()
}

// Used returns the columns that have values.
func (w *Writer) Used() Columns {
	if !w.columns.Long {
		for sensor, at := range w.at {
			if at.seen != 0 {
				if w.used.Sensors == nil {
					w.used.Sensors = map[string]Kinds{}
				}
				w.used.Sensors[sensor] = at.seen
			}
		}
	}
	return w.used
}
