package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/dustin/go-humanize/english"

	"furrow/cmd/internal/readings"
	"furrow/cmd/internal/tabular"
	"furrow/tables"
	"furrow/tables/schema"
)

// Config says how to read a file.
type Config struct {
	Columns readings.Columns
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
	sensors []string     // names of their properties
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
	values []readings.Value
	about  []readings.Value // of the long form
}

// Read reads a file. It reports single lines that are invalid to c.Wrong; an error means that the
// whole file cannot be read.
func Read(r readings.File, c Config) (*Recording, error) {
	in, err := readings.Open(r, c.Columns)
	if err != nil {
		return nil, err
	}
	defer in.Close() // it was only read
	rec := &Recording{config: c, byID: map[schema.DeviceID]*deviceLog{}, labels: map[int]bool{}}
	reader := &reader{Recording: rec, in: in, changes: map[int]bool{}}
	if err := reader.all(); err != nil {
		return nil, err
	}
	if rec.Readings == 0 {
		return nil, fmt.Errorf("the file has no readings, and %s", english.Plural(rec.Wrong, "invalid line", ""))
	}
	rec.sensors = in.Sensors()
	reader.setLabels()
	rec.span()
	return rec, nil
}

// A reader makes a Recording.
type reader struct {
	*Recording
	in *readings.Reader

	changes map[int]bool // sensors with a number, or with two texts of one device
}

func (r *reader) all() error {
	for {
		row, err := r.in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = r.addLine(row)
		}
		if wrong, ok := errors.AsType[*tabular.LineError](err); ok {
			r.Wrong++
			if r.config.Wrong != nil {
				r.config.Wrong(row.Line, wrong)
			}
		} else if err != nil {
			return err
		}
		if r.Readings > maxReadings {
			return fmt.Errorf("line %d: the file has more than %d readings, which do not fit into memory; cut it", row.Line,
				maxReadings)
		}
	}
}

// addLine adds a line, or reports why it is invalid.
func (r *reader) addLine(row readings.Row) error {
	d, err := r.device(row)
	if err != nil {
		return tabular.NewLineError(err)
	}
	if row.Position != nil {
		d.position = row.Position
	}
	if row.Site != "" {
		d.site = readings.IDPart(row.Site, 64)
	}
	for _, v := range row.Values {
		r.watch(d, v)
	}
	if last := len(d.readings) - 1; r.in.Long && last >= 0 && d.readings[last].joins(row) {
		d.readings[last].values = append(d.readings[last].values, row.Values...)
		return nil
	}
	d.readings = append(d.readings, recorded{row.Time, row.Values, row.About})
	r.Readings++
	return nil
}

// joins reports whether a value of the long form belongs to this reading. A second value of the
// same sensor begins another reading, even at the same time.
func (r recorded) joins(row readings.Row) bool {
	return r.at == row.Time && row.Joins(r.values, r.about)
}

// device returns the device of a line.
func (r *reader) device(row readings.Row) (*deviceLog, error) {
	name := cmp.Or(row.Device, r.config.Name)
	tenant := readings.IDPart(string(r.config.Tenant), 64) + ":"
	id, err := schema.ParseDeviceID(tenant + readings.IDPart(name, 128-len(tenant)))
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

// watch finds the columns that describe a device instead of measuring something: those
// whose text never changes.
func (r *reader) watch(d *deviceLog, v readings.Value) {
	s, isText := v.Value.(string)
	if !isText {
		r.changes[v.Sensor] = true
		return
	}
	if before, said := d.texts[v.Sensor]; said && before != s {
		r.changes[v.Sensor] = true
	} else if !said && !r.changes[v.Sensor] {
		d.texts[v.Sensor] = s
	}
}

// Labels returns the names of the columns that describe devices instead of measuring something.
func (r *Recording) Labels() (names []string) {
	for i, is := range r.labels {
		if is {
			names = append(names, r.sensors[i])
		}
	}
	slices.Sort(names)
	return names
}

// setLabels turns the columns that watch has found into labels.
func (r *reader) setLabels() {
	if len(r.config.Columns.Sensors) > 0 || r.in.Long || len(r.changes) == 0 {
		return
	}
	for i := range r.sensors {
		r.labels[i] = !r.changes[i]
	}
}
