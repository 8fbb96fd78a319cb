package replay

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Config says how to read a file.
type Config struct {
	Columns Columns
	Tenant  schema.Tenant             // whose the devices are
	Name    string                    // of the device, where no column tells
	Now     time.Time                 // what lies more than a day later has a wrong clock
	Wrong   func(line int, err error) // is told of lines that are left out; nil: nobody is
}

// maxReadings bounds the memory that a recording takes.
const maxReadings = 5_000_000

// A Recording is a file of readings, in memory.
type Recording struct {
	Readings int
	Wrong    int       // lines
	Oldest   time.Time // of the readings whose clock can be right
	Newest   time.Time

	config  Config
	sensors *names
	devices []*deviceLog // in the order of the file
	byID    map[schema.DeviceID]*deviceLog
	labels  map[int]bool // sensors that are none: they say what a device is
}

// A deviceLog is what a device has recorded.
type deviceLog struct {
	id       schema.DeviceID
	name     string // in the file
	site     string
	position *schema.Position
	readings []recorded // in the order of the file
	texts    map[int]string
}

type recorded struct {
	at     tables.Ticks
	values []value
}

type value struct {
	sensor int
	v      any
}

// Read reads a file. What is wrong in single lines is told; an error is that there is
// nothing to be made of the file.
func Read(r io.Reader, c Config) (*Recording, error) {
	l, err := newLines(r)
	if err != nil {
		return nil, err
	}
	rec := &Recording{config: c, sensors: newNames(), byID: map[schema.DeviceID]*deviceLog{}, labels: map[int]bool{}}
	reader := &reader{Recording: rec, lines: l, times: newTimeReader(), changes: map[int]bool{}}
	if err := reader.all(); err != nil {
		return nil, err
	}
	if rec.Readings == 0 {
		return nil, fmt.Errorf("it has no readings, and %d lines that are wrong", rec.Wrong)
	}
	reader.tell()
	rec.span()
	return rec, nil
}

// A reader makes a Recording.
type reader struct {
	*Recording
	lines *lines
	times *timeReader
	form  form
	roles roles
	known bool // what the columns mean

	changes map[int]bool // sensors that have said a number, or two texts of one device
}

func (r *reader) all() error {
	for {
		line, err := r.lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLong):
			r.wrong(err)
			continue
		case err != nil:
			return fmt.Errorf("line %d: %w", r.lines.number, err)
		case r.form == nil:
			header, err := r.begin(line)
			if err != nil {
				return fmt.Errorf("line %d: %w", r.lines.number, err)
			}
			if header {
				continue
			}
		}
		if err := r.line(line); err != nil {
			return fmt.Errorf("line %d: %w", r.lines.number, err)
		}
	}
}

// begin finds out how the file is written by its first line, and whether that is a header.
func (r *reader) begin(line []byte) (header bool, err error) {
	if line[0] == '{' {
		r.form = &jsonForm{index: map[string]int{}}
		return false, nil
	}
	form, err := newCSV(string(line))
	if err != nil {
		return false, fmt.Errorf("the header: %w", err)
	}
	r.form = form
	return true, nil
}

func (r *reader) wrong(err error) {
	r.Wrong++
	if r.config.Wrong != nil {
		r.config.Wrong(r.lines.number, err)
	}
}

// line takes a line. An error ends the reading.
func (r *reader) line(line []byte) error {
	record, err := r.form.read(line)
	if err != nil {
		r.wrong(err)
		return nil
	}
	if !r.known {
		if r.roles, err = r.config.Columns.guess(r.form.columns(), record); err != nil {
			return err
		}
		r.known = true
	}
	if err := r.take(record); err != nil {
		r.wrong(err)
	}
	if r.Readings > maxReadings {
		return fmt.Errorf("the file has more than %d readings, which are too many to hold; cut it", maxReadings)
	}
	return nil
}

// take takes what a record says, or says why it is wrong.
func (r *reader) take(rec record) error {
	at, err := r.times.read(rec.at(r.roles.time))
	if err != nil {
		return err
	}
	values := r.values(rec)
	if len(values) == 0 {
		return errors.New("it has no values")
	}
	d, err := r.device(rec)
	if err != nil {
		return err
	}
	d.place(rec, r.roles)
	for _, v := range values {
		r.watch(d, v)
	}
	ticks := tables.TicksOf(at)
	if last := len(d.readings) - 1; r.roles.value >= 0 && last >= 0 && d.readings[last].joins(ticks, values[0]) {
		d.readings[last].values = append(d.readings[last].values, values...)
		return nil
	}
	d.readings = append(d.readings, recorded{ticks, values})
	r.Readings++
	return nil
}

// joins tells whether a value of the long form is another one of this reading. A sensor
// that says something again begins a reading of its own, though it is of the same time.
func (r recorded) joins(at tables.Ticks, v value) bool {
	for _, own := range r.values {
		if own.sensor == v.sensor {
			return false
		}
	}
	return r.at == at
}

func (r *reader) values(rec record) (all []value) {
	if r.roles.value >= 0 {
		name, v := rec.at(r.roles.sensor), rec.at(r.roles.value)
		if name == nil || v == nil {
			return nil
		}
		return []value{{r.sensors.number(text(name)), v}}
	}
	columns := r.form.columns()
	for i, v := range rec {
		if v != nil && r.config.Columns.sensor(r.roles, i, columns[i]) {
			all = append(all, value{r.sensors.number(columns[i]), v})
		}
	}
	return all
}

// device is the one that a record is of.
func (r *reader) device(rec record) (*deviceLog, error) {
	name := r.config.Name
	if r.roles.device >= 0 {
		v := rec.at(r.roles.device)
		if v == nil {
			return nil, errors.New("it names no device")
		}
		name = text(v)
	}
	tenant := string(r.config.Tenant) + ":"
	id, err := schema.ParseDeviceID(tenant + idPart(name, 128-len(tenant)))
	if err != nil || len(id) == len(tenant) {
		return nil, fmt.Errorf("%.40q cannot name a device", name)
	}
	d := r.byID[id]
	if d == nil {
		d = &deviceLog{id: id, name: name, texts: map[int]string{}}
		r.byID[id], r.devices = d, append(r.devices, d)
	}
	if d.name != name {
		return nil, fmt.Errorf("device %.40q would have the same id as %.40q: %s", name, d.name, id)
	}
	return d, nil
}

// place takes where the device is.
func (d *deviceLog) place(rec record, r roles) {
	lat, isLat := rec.at(r.lat).(float64)
	lon, isLon := rec.at(r.lon).(float64)
	if isLat && isLon && lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180 {
		d.position = &schema.Position{Lat: lat, Lon: lon}
	}
	if site := rec.at(r.site); site != nil {
		d.site = idPart(text(site), 64)
	}
}

// watch finds out which columns say what a device is, and not what it measures: those
// whose text never changes.
func (r *reader) watch(d *deviceLog, v value) {
	s, isText := v.v.(string)
	if !isText {
		r.changes[v.sensor] = true
		return
	}
	if before, said := d.texts[v.sensor]; said && before != s {
		r.changes[v.sensor] = true
	} else if !said && !r.changes[v.sensor] {
		d.texts[v.sensor] = s
	}
}

// tell makes labels of those columns.
func (r *reader) tell() {
	if len(r.config.Columns.Sensors) > 0 || r.roles.value >= 0 || len(r.changes) == 0 {
		return
	}
	for i := range r.sensors.fit {
		r.labels[i] = !r.changes[i]
	}
}

// text is a value as a name.
func text(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64) // an id of digits is no power of ten
	}
	return fmt.Sprint(v)
}

// names are the sensors of a recording, by numbers.
type names struct {
	index map[string]int // by the name in the file
	fit   []string       // the name that the property has
	taken map[string]bool
}

func newNames() *names { return &names{index: map[string]int{}, taken: map[string]bool{}} }

func (n *names) number(name string) int {
	i, ok := n.index[name]
	if !ok {
		fit := propertyName(name)
		for again := 2; n.taken[fit]; again++ {
			fit = fmt.Sprintf("%s_%d", propertyName(name), again)
		}
		i = len(n.fit)
		n.index[name], n.taken[fit], n.fit = i, true, append(n.fit, fit)
	}
	return i
}
