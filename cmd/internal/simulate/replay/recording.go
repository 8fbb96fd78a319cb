package replay

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/go-json-experiment/json"

	"furrow/cmd/internal/tabular"
	"furrow/tables"
	"furrow/tables/schema"
)

// Config says how to read a file.
type Config struct {
	Columns Columns
	Tenant  schema.Tenant             // that owns the devices
	Name    string                    // of the device, if no column names it
	Now     time.Time                 // times more than a day later come from a wrong clock
	Wrong   func(line int, err error) // called for lines that are skipped; may be nil
}

// maxReadings bounds the memory that a recording takes.
const maxReadings = 5_000_000

// A Recording is a file of readings, in memory.
type Recording struct {
	Readings int
	Wrong    int       // lines
	Oldest   time.Time // of the readings whose time is plausible
	Newest   time.Time

	config  Config
	sensors *names
	devices []*deviceLog // in the order of the file
	byID    map[schema.DeviceID]*deviceLog
	labels  map[int]bool // sensors that describe the device instead of measuring
}

// A deviceLog is what one device has recorded.
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

// Read reads a file. It reports single lines that are invalid to c.Wrong; an error means that the
// whole file cannot be read.
func Read(r io.Reader, c Config) (*Recording, error) {
	in, err := tabular.Open(r, "")
	if err != nil {
		return nil, err
	}
	rec := &Recording{config: c, sensors: newNames(), byID: map[schema.DeviceID]*deviceLog{}, labels: map[int]bool{}}
	reader := &reader{Recording: rec, in: in, changes: map[int]bool{}}
	if err := reader.all(); err != nil {
		return nil, err
	}
	if rec.Readings == 0 {
		return nil, fmt.Errorf("the file has no readings, and %s", english.Plural(rec.Wrong, "invalid line", ""))
	}
	reader.setLabels()
	rec.span()
	return rec, nil
}

// A reader makes a Recording.
type reader struct {
	*Recording
	in    *tabular.Reader
	roles roles
	known bool // the roles are

	changes map[int]bool // sensors with a number, or with two texts of one device
}

func (r *reader) all() error {
	for {
		cells, err := r.in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = r.line(typed(r.in, cells))
		}
		if wrong, ok := errors.AsType[*tabular.LineError](err); ok {
			r.Wrong++
			if r.config.Wrong != nil {
				r.config.Wrong(r.in.Line, wrong)
			}
		} else if err != nil {
			return err
		}
		if r.Readings > maxReadings {
			return fmt.Errorf("line %d: the file has more than %d readings, which do not fit into memory; cut it", r.in.Line,
				maxReadings)
		}
	}
}

// line adds a line. A LineError concerns it alone.
func (r *reader) line(rec record) (err error) {
	if !r.known {
		if r.roles, err = r.config.Columns.guess(r.in.Names, rec); err != nil {
			return fmt.Errorf("line %d: %w", r.in.Line, err)
		}
		r.known = true
	}
	if err := r.take(rec); err != nil {
		return tabular.NewLineError(err)
	}
	return nil
}

// take adds a record, or reports why it is invalid.
func (r *reader) take(rec record) error {
	at, err := parseTime(rec.at(r.roles.time))
	if err != nil {
		return err
	}
	values := r.values(rec)
	if len(values) == 0 {
		return errors.New("no values")
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

// joins reports whether a value of the long form belongs to this reading. A second value of the
// same sensor begins another reading, even at the same time.
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
	columns := r.in.Names
	for i, v := range rec {
		if v != nil && r.config.Columns.sensor(r.roles, i, columns[i]) {
			all = append(all, value{r.sensors.number(columns[i]), v})
		}
	}
	return all
}

// device returns the device of a record.
func (r *reader) device(rec record) (*deviceLog, error) {
	name := r.config.Name
	if r.roles.device >= 0 {
		v := inObject(rec.at(r.roles.device), r.roles.inDevice)
		if v == nil {
			return nil, errors.New("no device")
		}
		name = text(v)
	}
	tenant := idPart(string(r.config.Tenant), 64) + ":"
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

// place records where the device is.
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

// watch finds the columns that describe a device instead of measuring something: those
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

// Labels returns the names of the columns that describe devices instead of measuring something.
func (r *Recording) Labels() (names []string) {
	for i, is := range r.labels {
		if is {
			names = append(names, r.sensors.fit[i])
		}
	}
	slices.Sort(names)
	return names
}

// setLabels turns the columns that watch has found into labels.
func (r *reader) setLabels() {
	if len(r.config.Columns.Sensors) > 0 || r.roles.value >= 0 || len(r.changes) == 0 {
		return
	}
	for i := range r.sensors.fit {
		r.labels[i] = !r.changes[i]
	}
}

// text formats a value as a name.
func text(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64) // without an exponent, because it may be an ID
	}
	return fmt.Sprint(v)
}

// names are the sensors of a recording, by numbers.
type names struct {
	index map[string]int // by the name in the file
	fit   []string       // the name that the property has
	taken map[string]bool
}

// mostOfName is how many bytes of a column's name are used.
const mostOfName = 100

func newNames() *names { return &names{index: map[string]int{}, taken: map[string]bool{}} }

func (n *names) number(name string) int {
	i, ok := n.index[name]
	if !ok {
		first := schema.PropertyName(name[:min(len(name), mostOfName)])
		fit := first
		for again := 2; n.taken[fit]; again++ {
			fit = fmt.Sprintf("%s_%d", first, again)
		}
		i = len(n.fit)
		n.index[name], n.taken[fit], n.fit = i, true, append(n.fit, fit)
	}
	return i
}
