package readings

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"furrow/cmd/internal/tabular"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Row is a line of a file. In the long form it has one value, and what describes it.
type Row struct {
	Line     int
	Device   string // empty if no column names it
	Time     tables.Ticks
	Key      string // the row key that the file has; empty: none
	Values   []Value
	About    []Value          // of the long form: the quality and the unit, for example
	Position *schema.Position // nil if it is not in the file
	Site     string           // as it is in the file
}

// A Value is a float64, a bool or a text of a sensor.
type Value struct {
	Sensor int // index for [Reader.Sensors]
	Value  any
}

// Joins reports whether a row of the long form belongs to a reading that others have begun: it has another sensor, and
// the same description.
func (r Row) Joins(values, about []Value) bool {
	return slices.Equal(r.About, about) && len(r.Values) > 0 &&
		!slices.ContainsFunc(values, func(v Value) bool { return v.Sensor == r.Values[0].Sensor })
}

// ErrEmpty is in the error of a line without values.
var ErrEmpty = errors.New("no values")

// A Reader reads a file. Make one with [Open].
type Reader struct {
	Long bool // a line has one sensor
	Plan Plan // how the file is read

	options  Columns
	file     File
	size     int64 // of the file at first
	in       *source
	columns  []*column
	names    []string // of the sensors of columns
	bySensor map[string]*column
	roles    roles
	sensors  *names
}

// A File is read several times.
type File interface {
	io.ReaderAt
	io.Seeker
}

// Open reads a file once to find out how to read it, and returns a Reader at its beginning. What is appended to the
// file after that is not read: nothing is known of its columns. The caller closes the Reader.
func Open(file File, c Columns) (_ *Reader, err error) {
	reader := &Reader{options: c, file: file}
	if reader.size, err = file.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = reader.Close()
		}
	}()
	if err = reader.rewind(); err != nil {
		return nil, err
	}
	if reader.in.shape.own { // keys are what they are
		c.Terms.First, c.Terms.Last = 1, 9999
		reader.options = c
	}
	s, err := surveyOf(reader.in, c)
	if err != nil {
		return nil, err
	}
	reader.columns, reader.bySensor, reader.roles = s.columns, s.bySensor, s.roles
	reader.Long, reader.names = s.roles.value >= 0, reader.columnNames()
	if reader.sensors = reader.newNames(); reader.in.Format == tabular.CSV && len(reader.sensors.fits) == 0 {
		return nil, noColumn("no column is left for a sensor", s.columns, "separator")
	}
	if err := reader.plan(s); err != nil {
		return nil, err
	}
	reader.sensors = reader.newNames()
	return reader, reader.rewind()
}

// rewind begins to read the file.
func (r *Reader) rewind() error {
	form := shape{}
	if r.in != nil {
		form = r.in.shape
		if err := r.in.Close(); err != nil {
			return err
		}
	}
	in, err := r.open()
	if err == nil && r.in == nil {
		form = firstShape(in)
		if err = in.Close(); err == nil {
			in, err = r.open()
		}
	}
	if err == nil {
		r.in = newSource(in, form)
	}
	return err
}

func (r *Reader) open() (*tabular.Reader, error) {
	file := r.options.File
	file.Readings = true
	return tabular.Open(io.NewSectionReader(r.file, 0, r.size), file)
}

// Close frees what the reader holds. The file stays open.
func (r *Reader) Close() error {
	if r.in == nil {
		return nil
	}
	return r.in.Close()
}

// Sensors returns the names of the properties of the sensors that were read so far.
func (r *Reader) Sensors() []string { return r.sensors.fit }

// HasKeys reports whether the rows are readings that Furrow has written, and have their keys.
func (r *Reader) HasKeys() bool { return r.in.shape.own }

// NamesDevices reports whether a column names the device.
func (r *Reader) NamesDevices() bool { return r.roles.device.column >= 0 }

// Next reads the next line. At the end of the file it returns io.EOF, and a [*tabular.LineError] for an invalid line,
// whose number is in the Row. Any other error concerns the whole file.
func (r *Reader) Next() (Row, error) {
	cells, err := r.in.next()
	row := Row{Line: r.in.Line}
	if err != nil {
		return row, err
	}
	switch err := r.read(cells, &row); {
	case errors.Is(err, errNames):
		return row, fmt.Errorf("line %d: %w", r.in.Line, err)
	case err != nil:
		return row, tabular.NewLineError(err)
	}
	return row, nil
}

func (r *Reader) read(rec tabular.Record, row *Row) (err error) {
	if row.Time, _, err = r.at(rec); err != nil && !r.in.shape.own {
		return err
	}
	if r.roles.key >= 0 {
		row.Key = rec[r.roles.key].Text
		key, err := schema.ParseRowKey(row.Key)
		if err != nil {
			return err
		}
		row.Time = key.Ticks
	}
	if r.NamesDevices() {
		device := cellOf(rec, r.roles.device)
		if row.Device = device.Text; device.IsBlank() || device.Kind == '{' || device.Kind == '[' {
			return errors.New("no device")
		}
	}
	if row.Values, row.About, err = r.values(rec); err != nil {
		return err
	}
	if r.in.shape.own && isDoubtful(cellOf(rec, role{column: r.roles.doubtful})) {
		sensor, err := r.sensors.number(schema.DoubtfulProperty)
		if err != nil {
			return err
		}
		row.About = append(row.About, Value{sensor, true})
	}
	if len(row.Values) == 0 && !r.in.shape.own {
		return ErrEmpty
	}
	row.Position, _ = position(rec, r.roles)
	if site := cellOf(rec, role{column: r.roles.site}); !site.IsBlank() {
		row.Site = site.Text
	}
	return nil
}

// position returns where the device is, and reports whether what the line says of it makes sense.
func position(rec tabular.Record, r roles) (p *schema.Position, fits bool) {
	lat, lon := cellOf(rec, role{column: r.lat}), cellOf(rec, role{column: r.lon})
	if lat.IsBlank() && lon.IsBlank() {
		return nil, true
	}
	y, isLat := number(lat.Text, decimalOf(lat.Text))
	x, isLon := number(lon.Text, decimalOf(lon.Text))
	if isLat && isLon && y >= -90 && y <= 90 && x >= -180 && x <= 180 {
		return &schema.Position{Lat: y, Lon: x}, true
	}
	return nil, false
}

// decimalOf returns the separator of degrees, which have no thousands.
func decimalOf(text string) rune {
	for _, r := range text {
		if r == ',' {
			return ','
		}
	}
	return '.'
}

// values returns the values of a line, and in the long form what describes its only one.
func (r *Reader) values(rec tabular.Record) (all, about []Value, err error) {
	if r.Long {
		all, err = r.longValue(rec)
		if err != nil || len(all) == 0 {
			return nil, nil, err
		}
	}
	for i, cell := range rec {
		if cell.Kind == 0 || !r.isSensor(i) {
			continue
		}
		for _, of := range append(r.roles.time, r.roles.device) { // the rest of an object is kept
			if of.column == i {
				_, cell = tabular.Member(cell, of.path)
			}
		}
		v := r.valueOf(r.columns[i], cell)
		if v == nil {
			continue
		}
		sensor, err := r.sensors.number(r.names[i])
		if err != nil {
			return nil, nil, err
		}
		if r.Long {
			about = append(about, Value{sensor, v})
		} else {
			all = append(all, Value{sensor, v})
		}
	}
	return all, about, nil
}

// longValue returns the value of a line of the long form, if it has one.
func (r *Reader) longValue(rec tabular.Record) ([]Value, error) {
	name, cell := sensorOf(rec, r.roles), valueOf(rec, r.roles)
	if cell.Kind == 0 && r.in.shape.own {
		cell.Kind = '"' // each line has a value: it is the empty text
	}
	if name == "" || cell.Kind == 0 {
		return nil, nil
	}
	v := r.valueOf(r.bySensor[name], cell)
	if v == nil {
		return nil, nil
	}
	sensor, err := r.sensors.number(name)
	return []Value{{sensor, v}}, err
}

// valueOf returns what a cell means: nil if it has no value.
func (r *Reader) valueOf(c *column, cell tabular.Cell) any {
	if r.in.shape.own {
		return ownValue(cell)
	}
	return c.value(cell)
}

// columnNames returns the names of the sensors of columns. They differ: one that an earlier column has, too, or in the
// long form a sensor, is numbered.
func (r *Reader) columnNames() []string {
	names, had, used := make([]string, len(r.columns)), map[string]bool{}, map[string]bool{}
	for _, c := range r.columns {
		used[c.name] = true
	}
	for i, c := range r.columns {
		sensor, is := strings.CutPrefix(c.name, ofSensor)
		if is && r.in.shape.own {
			names[i] = sensor
			continue
		}
		first, again := c.name, had[c.name] || r.bySensor[c.name] != nil
		if had[c.name] = true; first == "" {
			first = fmt.Sprintf("column%d", i+1)
			again = used[first]
		}
		names[i] = first
		for n := 2; again; n++ {
			names[i] = fmt.Sprintf("%s_%d", first, n)
			again = used[names[i]] || r.bySensor[names[i]] != nil
		}
		used[names[i]] = true
	}
	return names
}

// newNames returns the names of all sensors of the file. None is read yet.
func (r *Reader) newNames() *names {
	known := slices.Collect(maps.Keys(r.bySensor))
	for i, name := range r.names {
		if r.isSensor(i) {
			known = append(known, name)
		}
	}
	return newNames(known...)
}

// isSensor reports whether a column holds a sensor, or in the long form what describes one.
func (r *Reader) isSensor(i int) bool {
	if len(r.options.Sensors) > 0 {
		return slices.Contains(r.options.Sensors, r.columns[i].name)
	}
	if r.in.shape.own {
		return strings.HasPrefix(r.columns[i].name, ofSensor)
	}
	if _, ignored := r.roles.ignored[i]; ignored || i == r.roles.value || slices.Contains(r.roles.sensor, i) ||
		i == r.roles.text || i == r.roles.key || i == r.roles.lat || i == r.roles.lon || i == r.roles.site {
		return false
	}
	return !slices.ContainsFunc(append(r.roles.time, r.roles.device), func(of role) bool {
		return of.column == i && of.path == ""
	})
}
