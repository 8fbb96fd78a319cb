package columnar

import (
	"errors"
	"fmt"
	"io"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json"
	"github.com/parquet-go/parquet-go"
)

// A StoredReading is one reading of a file.
type StoredReading struct {
	Device schema.DeviceID
	About  map[string]string
	Sample fold.Sample
}

// A ReadingsReader reads a file that a ReadingsWriter wrote.
type ReadingsReader struct {
	Series []NamedSeries
	rows   *rowReader
}

// OpenReadings opens a file.
func OpenReadings(file io.ReaderAt, size int64) (r *ReadingsReader, err error) {
	defer rescue(&err)
	r = &ReadingsReader{}
	f, err := open(file, size, SeriesKey, &r.Series)
	if err != nil {
		return nil, err
	}
	r.rows = newRowReader(f)
	has := f.Schema().Columns()
	if len(has) != firstSeries+len(r.Series) {
		return nil, errors.New("the file has other columns than it says")
	}
	for i, s := range r.Series {
		if path := has[firstSeries+i]; len(path) != 1 || path[0] != s.Name {
			return nil, errors.New("the file has other columns than it says")
		}
	}
	return r, nil
}

// open opens a file of readings, and reads which columns it says it has.
func open(file io.ReaderAt, size int64, key string, columns any) (*parquet.File, error) {
	f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("the file is no Parquet: %w", err)
	}
	told, _ := f.Lookup(key)
	if err := json.Unmarshal([]byte(told), columns); err != nil {
		return nil, errors.New("the file does not say which columns it has; furrow did not write it")
	}
	return f, nil
}

// Next returns the next reading, or io.EOF.
func (r *ReadingsReader) Next() (read StoredReading, err error) {
	defer rescue(&err)
	row, err := r.rows.next()
	if err != nil {
		return read, err
	}
	if read.Sample.Key, err = schema.ParseRowKey(string(row[2].ByteArray())); err != nil {
		return read, fmt.Errorf("the Parquet file is damaged: %w", err)
	}
	read.Device = schema.DeviceID(row[0].ByteArray())
	doubtful := !row[3].IsNull() && row[3].Boolean()
	for i, s := range r.Series {
		v := row[firstSeries+i]
		switch {
		case v.IsNull():
		case s.Kind == More:
			err := readMore(v.ByteArray(), func(s Series, v parquet.Value) { read.set(s, v, doubtful) })
			if err != nil {
				return read, fmt.Errorf("the Parquet file is damaged: column %s: %w", s.Name, err)
			}
		default:
			read.set(s.Series, v, doubtful)
		}
	}
	return read, nil
}

// set sets the value of a series.
func (read *StoredReading) set(s Series, v parquet.Value, doubtful bool) {
	value := fold.SensorValue{Sensor: s.Sensor, Is: fold.Number, Doubtful: doubtful}
	switch {
	case s.About:
		if read.About == nil {
			read.About = map[string]string{}
		}
		read.About[s.Sensor] = string(v.ByteArray())
		return
	case s.Kind == Binary:
		read.Sample.Exact = append(read.Sample.Exact, fold.ExactValue{Sensor: s.Sensor,
			Value: tables.Binary([]byte(string(v.ByteArray())))})
		return
	case s.Kind == Long:
		read.Sample.Exact = append(read.Sample.Exact, fold.ExactValue{Sensor: s.Sensor, Value: tables.Int64(v.Int64())})
		value.Number = float64(v.Int64())
	case s.Kind == Text:
		value.Is, value.State = fold.State, string(v.ByteArray())
	default:
		value.Number = v.Double()
	}
	read.Sample.Values = append(read.Sample.Values, value)
}

// A rowReader reads the rows of a file, group after group.
type rowReader struct {
	groups []parquet.RowGroup
	rows   parquet.Rows
	buffer []parquet.Row
	ahead  []parquet.Row
	ended  bool // the group has no more rows than those ahead
	width  int
}

func newRowReader(f *parquet.File) *rowReader {
	width := len(f.Schema().Columns())
	return &rowReader{groups: f.RowGroups(), width: width, buffer: make([]parquet.Row, max(1, 8192/width))}
}

// next returns the next row, which is valid until the next call, or io.EOF.
func (r *rowReader) next() (parquet.Row, error) {
	for len(r.ahead) == 0 {
		if r.ended { // values of rows lie in what the group holds
			err := r.rows.Close()
			if r.rows, r.ended = nil, false; err != nil {
				return nil, err
			}
		}
		if r.rows == nil {
			if len(r.groups) == 0 {
				return nil, io.EOF
			}
			r.rows, r.groups = r.groups[0].Rows(), r.groups[1:]
		}
		n, err := r.rows.ReadRows(r.buffer)
		r.ahead = r.buffer[:n]
		if r.ended = errors.Is(err, io.EOF); err != nil && !r.ended {
			return nil, fmt.Errorf("the Parquet file is damaged: %w", err)
		}
	}
	row := r.ahead[0]
	if r.ahead = r.ahead[1:]; len(row) != r.width {
		return nil, errors.New("the Parquet file is damaged: a row lacks columns")
	}
	return row, nil
}

// rescue makes a panic of the library about a damaged file an error.
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the Parquet file is damaged: %v", r)
	}
}
