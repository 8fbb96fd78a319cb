package readings

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"

	"furrow/cmd/internal/tabular"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Row is a line of a file. In the long form it has one value.
type Row struct {
	Line     int
	Device   string // empty if no column names it
	Time     tables.Ticks
	Values   []Value
	Position *schema.Position // nil if it is not in the file
	Site     string           // as it is in the file
}

// A Value is a float64, a bool or a text of a sensor.
type Value struct {
	Sensor int // index for [Reader.Sensors]
	Value  any
}

// A Reader reads a file. Make one with [Open].
type Reader struct {
	Long bool // the form of the file is known after the first Next

	columns Columns
	in      *tabular.Reader
	roles   roles
	known   bool // the roles are
	sensors *names
}

// Open begins to read a file. The caller closes the Reader.
func Open(r io.Reader, c Columns) (*Reader, error) {
	in, err := tabular.Open(r, "")
	if err != nil {
		return nil, err
	}
	return &Reader{columns: c, in: in, sensors: newNames()}, nil
}

// Close frees what the reader holds. The file stays open.
func (r *Reader) Close() error { return r.in.Close() }

// Sensors returns the names of the properties of the sensors that were read so far.
func (r *Reader) Sensors() []string { return r.sensors.fit }

// NamesDevices reports whether a column names the device. It is known after the first Next.
func (r *Reader) NamesDevices() bool { return r.roles.device >= 0 }

// Next reads the next line. At the end of the file it returns io.EOF, and a [*tabular.LineError] for an invalid line,
// whose number is in the Row. Any other error concerns the whole file.
func (r *Reader) Next() (Row, error) {
	cells, err := r.in.Next()
	row := Row{Line: r.in.Line}
	if err != nil {
		return row, err
	}
	rec := typed(r.in, cells)
	if !r.known {
		if r.roles, err = r.columns.guess(r.in.Names, rec); err != nil {
			return row, fmt.Errorf("line %d: %w", r.in.Line, err)
		}
		r.known, r.Long = true, r.roles.value >= 0
	}
	if err := r.read(rec, cells, &row); errors.Is(err, errNames) {
		return row, fmt.Errorf("line %d: %w", r.in.Line, err)
	} else if err != nil {
		return row, tabular.NewLineError(err)
	}
	return row, nil
}

func (r *Reader) read(rec record, cells tabular.Record, row *Row) error {
	at, err := parseTime(rec.at(r.roles.time))
	if err != nil {
		return err
	}
	row.Time = tables.TicksOf(at)
	if row.Values, err = r.values(rec); err != nil {
		return err
	}
	if len(row.Values) == 0 {
		return errors.New("no values")
	}
	if r.roles.device >= 0 {
		if row.Device = r.device(rec, cells); row.Device == "" {
			return errors.New("no device")
		}
	}
	lat, isLat := rec.at(r.roles.lat).(float64)
	lon, isLon := rec.at(r.roles.lon).(float64)
	if isLat && isLon && lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180 {
		row.Position = &schema.Position{Lat: lat, Lon: lon}
	}
	if site := rec.at(r.roles.site); site != nil {
		row.Site = text(site)
	}
	return nil
}

// device returns the name of the device: a number as it is written, because it may begin with zeros or have more digits
// than a float64.
func (r *Reader) device(rec record, cells tabular.Record) string {
	if len(r.roles.inDevice) == 0 {
		if r.roles.device >= len(cells) {
			return ""
		}
		return cells[r.roles.device].Text
	}
	if v := inObject(rec.at(r.roles.device), r.roles.inDevice); v != nil {
		return text(v)
	}
	return ""
}

func (r *Reader) values(rec record) (all []Value, err error) {
	if r.roles.value >= 0 {
		name, v := rec.at(r.roles.sensor), rec.at(r.roles.value)
		if name == nil || v == nil {
			return nil, nil
		}
		sensor, err := r.sensors.number(text(name))
		return []Value{{sensor, v}}, err
	}
	columns := r.in.Names
	for i, v := range rec {
		if v == nil || !r.columns.sensor(r.roles, i, columns[i]) {
			continue
		}
		sensor, err := r.sensors.number(columns[i])
		if err != nil {
			return nil, err
		}
		all = append(all, Value{sensor, v})
	}
	return all, nil
}

// inObject follows the names of members in the text of a JSON object; nil if there is no such member.
func inObject(v any, path []string) any {
	if len(path) == 0 {
		return v
	}
	text, _ := v.(string)
	var object any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil
	}
	for _, name := range path {
		members, _ := object.(map[string]any)
		object = members[name]
	}
	return object
}

// text formats a value as a name.
func text(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64) // without an exponent, because it may be an ID
	}
	return fmt.Sprint(v)
}

// names are the sensors of a file, by numbers.
type names struct {
	index map[string]int // by the name in the file
	fit   []string       // the name that the property has
	taken map[string]bool
}

// mostOfName is how many bytes of a column's name are used.
const mostOfName = 100

func newNames() *names { return &names{index: map[string]int{}, taken: map[string]bool{}} }

// maxNames bounds the sensors of a file: a column of the long form that is taken for the sensor may hold anything.
const maxNames = 100_000

var errNames = fmt.Errorf("the file has more than %d sensors: is the column that names them the right one?", maxNames)

func (n *names) number(name string) (int, error) {
	if i, ok := n.index[name]; ok {
		return i, nil
	}
	if len(n.fit) == maxNames {
		return 0, errNames
	}
	first := schema.PropertyName(name[:min(len(name), mostOfName)])
	fit := first
	for again := 2; n.taken[fit]; again++ {
		fit = fmt.Sprintf("%s_%d", first, again)
	}
	i := len(n.fit)
	n.index[name], n.taken[fit], n.fit = i, true, append(n.fit, fit)
	return i, nil
}
