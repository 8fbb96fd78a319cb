package columnar

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"furrow/jobs/fold"

	"github.com/go-json-experiment/json"
	"github.com/parquet-go/parquet-go"
)

// A Reading is one reading of a file.
type Reading struct {
	Device string
	Key    string
	Time   time.Time // to the microsecond
	About  []string  // values of Columns.About
	Values []fold.SensorValue
}

// A Reader reads the readings of a file.
type Reader struct {
	Columns Columns
	columns []column
	groups  []parquet.RowGroup
	last    []string // device of each of them; empty: unknown
	rows    parquet.Rows
	buffer  []parquet.Row
	ahead   []parquet.Row
}

// Open opens a file that a Writer wrote.
func Open(file io.ReaderAt, size int64) (r *Reader, err error) {
	defer rescue(&err)
	f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("the file is no Parquet: %w", err)
	}
	r = &Reader{groups: f.RowGroups()}
	for _, group := range f.Metadata().RowGroups {
		last := ""
		if len(group.Columns) > 0 {
			last = string(group.Columns[0].MetaData.Statistics.MaxValue)
		}
		r.last = append(r.last, last)
	}
	layout, _ := f.Lookup(layoutKey)
	if err := json.Unmarshal([]byte(layout), &r.Columns); err != nil {
		return nil, errors.New("the file does not say which columns it has; furrow did not write it")
	}
	r.columns = r.Columns.list()
	has := f.Schema().Columns()
	named := func(path []string, c column) bool { return len(path) == 1 && path[0] == c.name }
	if !slices.EqualFunc(has, r.columns, named) {
		return nil, errors.New("the file has other columns than it says")
	}
	r.buffer = make([]parquet.Row, max(1, 8192/len(has)))
	return r, nil
}

// Has reports whether the file has readings of a device. Next then continues anywhere behind them.
func (r *Reader) Has(device string) (bool, error) {
	for len(r.last) > 0 && r.last[0] != "" && r.last[0] < device {
		r.groups, r.last = r.groups[1:], r.last[1:]
	}
	for {
		one, err := r.Next()
		if errors.Is(err, io.EOF) || err == nil && one.Device > device {
			return false, nil
		}
		if err != nil || one.Device == device {
			return err == nil, err
		}
	}
}

// Next returns the next reading, or io.EOF.
func (r *Reader) Next() (read Reading, err error) {
	defer rescue(&err)
	row, err := r.peek()
	if err != nil {
		return read, err
	}
	read = r.begin(row)
	for {
		r.values(row, &read)
		r.ahead = r.ahead[1:]
		if !r.Columns.Long {
			return read, nil
		}
		row, err = r.peek()
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil || string(row[0].ByteArray()) != read.Device || string(row[2].ByteArray()) != read.Key {
			return read, err
		}
	}
}

// peek returns the next row.
func (r *Reader) peek() (parquet.Row, error) {
	for len(r.ahead) == 0 {
		if r.rows == nil {
			if len(r.groups) == 0 {
				return nil, io.EOF
			}
			r.rows, r.groups = r.groups[0].Rows(), r.groups[1:]
		}
		n, err := r.rows.ReadRows(r.buffer)
		r.ahead = r.buffer[:n]
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("the Parquet file is damaged: %w", err)
		}
		if err != nil {
			err = r.rows.Close()
			r.rows = nil
		}
		if err != nil {
			return nil, err
		}
	}
	if row := r.ahead[0]; len(row) == len(r.columns) {
		return row, nil
	}
	return nil, errors.New("the Parquet file is damaged: a row lacks columns")
}

func (r *Reader) begin(row parquet.Row) Reading {
	read := Reading{Device: string(row[0].ByteArray()), Time: time.UnixMicro(row[1].Int64()).UTC(),
		Key: string(row[2].ByteArray())}
	for i := range r.Columns.About {
		value := ""
		if v := row[fixed+i]; !v.IsNull() {
			value = string(v.ByteArray())
		}
		read.About = append(read.About, value)
	}
	return read
}

// values adds the values of a row.
func (r *Reader) values(row parquet.Row, read *Reading) {
	isDoubtful, first := false, len(read.Values)
	named := "" // by the column sensor
	for i := fixed + len(r.Columns.About); i < len(row); i++ {
		c, v := r.columns[i], row[i]
		if v.IsNull() {
			continue
		}
		name := c.sensor
		switch {
		case c.kind == 0:
			isDoubtful = v.Boolean()
			continue
		case r.Columns.Long && c.name == sensor:
			named = string(v.ByteArray())
			continue
		case r.Columns.Long:
			name = named
		}
		value := fold.SensorValue{Sensor: name, Is: fold.State}
		if c.kind == Numbers {
			value.Is, value.Number = fold.Number, v.Double()
		} else {
			value.State = string(v.ByteArray())
		}
		read.Values = append(read.Values, value)
	}
	for i := first; isDoubtful && i < len(read.Values); i++ {
		read.Values[i].Doubtful = true
	}
}

// rescue makes a panic of the library about a damaged file an error.
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the Parquet file is damaged: %v", r)
	}
}
