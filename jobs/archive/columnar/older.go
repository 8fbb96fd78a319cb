package columnar

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"furrow/jobs/fold"
	"furrow/tables/schema"

	"github.com/parquet-go/parquet-go"
)

// olderKey is the metadata with the columns of a file that an earlier release wrote, as JSON.
const olderKey = "furrow.columns"

// olderColumns says which columns such a file has besides device, time and key.
type olderColumns struct {
	About    []string       `json:"about"`    // about the device, such as site
	Sensors  map[string]int `json:"sensors"`  // 1: numbers, 2: texts, 3: a column of each
	Doubtful bool           `json:"doubtful"` // a column that marks readings of doubtful quality
	Long     bool           `json:"long"`     // a row for each value, and no columns for sensors
}

// An olderColumn is one of its columns.
type olderColumn struct {
	name   string
	sensor string // empty: the column holds something else, or, in a long file, values of any sensor
	text   bool
}

// list returns the columns in order, as the earlier release named them: a name that was taken, whatever its case, got
// an underscore.
func (c *olderColumns) list() (all []olderColumn) {
	taken := map[string]bool{"tenant": true, "date": true}
	add := func(name, sensor string, text bool) {
		for taken[strings.ToLower(name)] {
			name += "_"
		}
		taken[strings.ToLower(name)] = true
		all = append(all, olderColumn{name, sensor, text})
	}
	for _, name := range append([]string{Device, Time, Key}, c.About...) {
		add(name, "", false)
	}
	if c.Long {
		add("sensor", "", true)
		add("number", "", false)
		add("text", "", true)
	}
	if c.Doubtful {
		add(Doubtful, "", false)
	}
	sensors := slices.Sorted(maps.Keys(c.Sensors))
	for _, name := range sensors {
		add(name, name, c.Sensors[name] == 2)
	}
	for _, name := range sensors {
		if c.Sensors[name] == 3 {
			add(name+"_text", name, true)
		}
	}
	return all
}

// An OlderReader reads a file of readings that an earlier release wrote.
type OlderReader struct {
	has     olderColumns
	columns []olderColumn
	rows    *rowReader
	row     parquet.Row // that comes next; nil: it is to be read
}

// OpenOlder opens a file.
func OpenOlder(file io.ReaderAt, size int64) (r *OlderReader, err error) {
	defer rescue(&err)
	r = &OlderReader{}
	f, err := open(file, size, olderKey, &r.has)
	if err != nil {
		return nil, err
	}
	r.rows, r.columns = newRowReader(f), r.has.list()
	named := func(path []string, c olderColumn) bool { return len(path) == 1 && path[0] == c.name }
	if !slices.EqualFunc(f.Schema().Columns(), r.columns, named) {
		return nil, errors.New("the file has other columns than it says")
	}
	return r, nil
}

// Next returns the next reading, without properties of the device, or io.EOF.
func (r *OlderReader) Next() (read StoredReading, err error) {
	defer rescue(&err)
	if err := r.peek(); err != nil {
		return read, err
	}
	read.Device = schema.DeviceID(r.row[0].ByteArray())
	key := string(r.row[2].ByteArray())
	if read.Sample.Key, err = schema.ParseRowKey(key); err != nil {
		return read, fmt.Errorf("the Parquet file is damaged: %w", err)
	}
	for {
		r.values(&read.Sample)
		r.row = nil
		if !r.has.Long {
			return read, nil
		}
		if err := r.peek(); errors.Is(err, io.EOF) {
			return read, nil
		} else if err != nil {
			return read, err
		}
		if string(r.row[0].ByteArray()) != string(read.Device) || string(r.row[2].ByteArray()) != key {
			return read, nil
		}
	}
}

// peek reads the next row, unless it was read.
func (r *OlderReader) peek() (err error) {
	if r.row == nil {
		r.row, err = r.rows.next()
	}
	return err
}

// values adds the values of the row.
func (r *OlderReader) values(s *fold.Sample) {
	doubtful, first, named := false, len(s.Values), ""
	for i := 3 + len(r.has.About); i < len(r.row); i++ {
		c, v := r.columns[i], r.row[i]
		if v.IsNull() {
			continue
		}
		if c.sensor == "" && c.name == "sensor" && r.has.Long {
			named = string(v.ByteArray())
			continue
		}
		if c.sensor == "" && v.Kind() == parquet.Boolean {
			doubtful = v.Boolean()
			continue
		}
		value := fold.SensorValue{Sensor: c.sensor, Is: fold.Number}
		if r.has.Long {
			value.Sensor = named
		}
		if c.text {
			value.Is, value.State = fold.State, string(v.ByteArray())
		} else {
			value.Number = v.Double()
		}
		s.Values = append(s.Values, value)
	}
	for i := first; doubtful && i < len(s.Values); i++ {
		s.Values[i].Doubtful = true
	}
}
