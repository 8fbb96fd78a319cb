package readings

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"furrow/cmd/internal/tabular"
	"furrow/cmd/internal/times"
	"furrow/tables"
)

// A Plan says how a file is read, before anything is done with it.
type Plan struct {
	Format    string       `json:"format"`
	Form      string       `json:"form,omitempty"` // a program that is known to write such files
	Encoding  string       `json:"encoding,omitempty"`
	Separator string       `json:"separator,omitempty"`
	Device    string       `json:"device,omitempty"` // the column that names it
	Time      string       `json:"time"`             // the column, or columns
	TimeForm  string       `json:"timeFormat"`
	Zone      string       `json:"zone,omitempty"` // of times without one
	ZoneGuess bool         `json:"zoneGuessed,omitempty"`
	Sensor    string       `json:"sensorColumn,omitempty"` // of the long form
	Value     string       `json:"valueColumn,omitempty"`
	Times     []PlanTime   `json:"times"`
	Rows      []PlanRow    `json:"rows"`
	Columns   []PlanColumn `json:"columns"`
	Notes     []string     `json:"notes,omitempty"`
}

// A PlanTime is a time of the file as it is understood.
type PlanTime struct {
	Which string `json:"which"` // first, earliest or latest
	Text  string `json:"text,omitempty"`
	UTC   string `json:"utc"`
}

// A PlanRow is a row as it would be stored.
type PlanRow struct {
	Line   int            `json:"line"`
	Device string         `json:"device,omitempty"`
	Time   string         `json:"time"`
	Values map[string]any `json:"values"`
}

// A PlanColumn is a column, or a sensor of the long form.
type PlanColumn struct {
	Column  string `json:"column"`
	Sensor  string `json:"sensor,omitempty"` // empty if it is none
	Type    string `json:"type"`
	Values  int    `json:"values"`
	Misfits int    `json:"misfits"` // values that do not fit the type
	Misfit  string `json:"misfit,omitempty"`
	Missing int    `json:"missing"` // words that mean that there is no value
	About   string `json:"about,omitempty"`
}

// A survey is what the values of a file have in common.
type survey struct {
	options  Columns
	shape    shape
	columns  []*column
	bySensor map[string]*column
	nested   map[role]*times.Guess
	roles    roles
	rows     int
	homes    map[string]string // measurement of a field of InfluxDB
	badPlace int
	wrong    error // of the first invalid line
}

// surveyOf reads the whole file.
func surveyOf(in *source, c Columns) (*survey, error) {
	s := &survey{options: c, shape: in.shape, bySensor: map[string]*column{}, nested: map[role]*times.Guess{},
		homes: map[string]string{}, roles: roles{sensor: nil, value: -1, text: -1, key: -1}}
	s.grow(in)
	for {
		rec, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if _, wrong := errors.AsType[*tabular.LineError](err); wrong {
			s.wrong = cmp.Or(s.wrong, fmt.Errorf("line %d: %w", in.Line, err))
			continue
		}
		if err != nil {
			return nil, err
		}
		if s.rows++; len(s.columns) < len(in.columns()) {
			s.grow(in)
		}
		if s.rows == 1 {
			if err := s.long(&s.roles); err != nil {
				return nil, err
			}
		}
		if err := s.add(rec); err != nil {
			return nil, err
		}
	}
	s.grow(in)
	return s, s.decide()
}

// grow adds the columns that the file has shown since.
func (s *survey) grow(in *source) {
	sure, likely, weak := deviceNames()
	device := slices.Concat(sure, likely, weak)
	for _, name := range in.columns()[len(s.columns):] {
		c := &column{name: name, typed: in.Format != tabular.CSV && s.shape.form != thingsBoard}
		if slices.Contains(device, plain(name)) {
			c.seen = map[string]bool{}
		}
		s.columns = append(s.columns, c)
	}
	_, _, lat, lon := sensorNames()
	if s.roles.lat, s.roles.lon = find(s.columns, lat), find(s.columns, lon); s.shape.own {
		s.roles.lat, s.roles.lon = -1, -1
	}
	for _, path := range s.options.Time {
		if of, err := named(s.columns, path); err == nil && of.path != "" && s.nested[of] == nil {
			s.nested[of] = s.newGuess()
		}
	}
}

// newGuess begins to look at the times of a column. If the format is known, it only finds their span.
func (s *survey) newGuess() *times.Guess {
	if s.options.Format.Name != "" {
		return times.NewGuess(s.options.Terms, s.options.Format)
	}
	return times.NewGuess(s.options.Terms)
}

func (s *survey) add(rec tabular.Record) error {
	for i, cell := range rec {
		c := s.columns[i]
		if c.values == 0 && cell.Kind != 0 && cell.Kind != '{' && cell.Kind != '[' {
			c.typed = c.typed || cell.Kind != '"'
			_, ignored := s.shape.ignored[c.name]
			if !ignored && (mayBeTime(c.name) || slices.Contains(s.options.Time, c.name) || s.shape.time == c.name ||
				numeralOf(cell.Text) == numeral{} && (times.IsTime(cell.Text) || times.IsClock(cell.Text))) {
				c.guess = s.newGuess()
			}
		}
		if s.roles.value < 0 || i != s.roles.value {
			c.add(cell, s.rows)
		}
	}
	if _, fits := position(rec, s.roles); !fits {
		s.badPlace++
	}
	for of, g := range s.nested {
		if cell := cellOf(rec, of); cell.Kind != 0 {
			g.Add(cell.Text)
		}
	}
	if s.roles.value < 0 {
		return nil
	}
	name, cell := sensorOf(rec, s.roles), valueOf(rec, s.roles)
	c := s.bySensor[name]
	if c == nil {
		if len(s.bySensor) == maxNames {
			return errNames
		}
		c = &column{name: name, typed: s.columns[s.roles.value].typed}
		s.bySensor[name] = c
	}
	c.typed = c.typed || cell.Kind != '"' && cell.Kind != 0
	c.add(cell, 0)
	s.columns[s.roles.value].values++
	return s.measured(rec, name)
}

// measured refuses a field of InfluxDB that two measurements have.
func (s *survey) measured(rec tabular.Record, field string) error {
	i := slices.IndexFunc(s.columns, func(c *column) bool { return c.name == "_measurement" })
	if s.shape.form != "InfluxDB" || i < 0 || i >= len(rec) || slices.Contains(s.roles.sensor, i) {
		return nil
	}
	if home, known := s.homes[field]; known && home != rec[i].Text {
		return &tabular.UnclearError{What: fmt.Sprintf("field %q is in the measurements %q and %q", field, home, rec[i].Text),
			Flag: "sensor-column", Choices: []tabular.Choice{{Value: "_measurement,_field", Means: "a sensor of each"},
				{Value: "_field", Means: "one sensor"}}}
	}
	s.homes[field] = rec[i].Text
	return nil
}

// sensorOf returns the name of the sensor of a line of the long form.
func sensorOf(rec tabular.Record, r roles) string {
	parts := make([]string, 0, 2)
	for _, i := range r.sensor {
		if i < len(rec) && !rec[i].IsBlank() {
			parts = append(parts, rec[i].Text)
		}
	}
	return strings.Join(parts, "_")
}

// valueOf returns the value of such a line. What Furrow writes has texts in a column of their own.
func valueOf(rec tabular.Record, r roles) tabular.Cell {
	if c := cellOf(rec, role{column: r.value}); c.Kind != 0 {
		return c
	}
	return cellOf(rec, role{column: r.text})
}

// decide finds the meaning of all columns.
func (s *survey) decide() (err error) {
	r := &s.roles
	if s.rows == 0 {
		return cmp.Or(s.wrong, errors.New("the file has no records"))
	}
	if r.device, err = s.device(); err != nil {
		return err
	}
	if err := s.time(r); err != nil {
		return err
	}
	if r.lat < 0 || r.lon < 0 {
		r.lat, r.lon = -1, -1 // of a place, both are known
	}
	r.site = find(s.columns, []string{"site"})
	r.doubtful = slices.IndexFunc(s.columns, func(c *column) bool { return c.name == "doubtful" })
	r.ignored = map[int]string{}
	for i, c := range s.columns {
		if why, is := s.shape.ignored[c.name]; is && (c.name != "" || s.shape.form == "InfluxDB") {
			r.ignored[i] = why
		} else if c.name == "" && c.values == 0 {
			r.ignored[i] = "it is empty"
		} else if c.name == "" && c.counts == c.values && c.values == s.rows {
			r.ignored[i] = "it counts the rows"
		}
	}
	for _, name := range s.options.Sensors {
		if _, err := named(s.columns, name); err != nil {
			return err
		}
	}
	deciding := slices.Collect(maps.Values(s.bySensor))
	if s.shape.own { // each value says what it is
		for _, c := range slices.Concat(deciding, s.columns) {
			c.kind = typed
		}
		return nil
	}
	for i, c := range s.columns {
		if i != r.value {
			deciding = append(deciding, c)
		}
	}
	return decideAll(deciding, s.options.Decimal)
}

// plan describes the survey, and reads the file once more for times and rows.
func (r *Reader) plan(s *survey) error {
	p := &r.Plan
	p.Format, p.Form, p.Encoding, p.Notes = string(r.in.Format), s.shape.form, r.in.Encoding, r.in.Notes
	if r.in.Format == tabular.CSV {
		p.Separator = string(r.in.Comma)
	}
	p.Device, p.TimeForm = r.nameOfRole(r.roles.device), r.roles.format.Name
	for i, of := range r.roles.time {
		p.Time += map[bool]string{false: ","}[i == 0] + r.nameOfRole(of)
	}
	if r.Long {
		p.Value = r.columns[r.roles.value].name
		for _, i := range r.roles.sensor {
			p.Sensor += map[bool]string{false: ","}[p.Sensor == ""] + r.columns[i].name
		}
	}
	if err := r.sample(s); err != nil {
		return err
	}
	r.describe(s)
	return nil
}

func (r *Reader) nameOfRole(of role) string {
	if of.column < 0 {
		return ""
	}
	return strings.TrimSuffix(r.columns[of.column].name+"."+of.path, ".")
}

// sampleRows is how many rows a plan shows.
const sampleRows = 3

// sample reads the first rows, and the first, the earliest and the latest time.
func (r *Reader) sample(s *survey) error {
	if err := r.rewind(); err != nil {
		return err
	}
	var first, early, late tables.Ticks
	text, zoneless, known := "", false, false
	if g := s.guess(r.roles.time[0]); g != nil && len(r.roles.time) == 1 {
		for _, c := range g.Found() {
			if known = c.Name == r.roles.format.Name; known {
				first, early, late, text, zoneless = c.First, c.Early, c.Last, c.FirstText, c.Zoned < c.Fits
				break
			}
		}
	}
	for !known || len(r.Plan.Rows) < sampleRows {
		rec, err := r.in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if _, wrong := errors.AsType[*tabular.LineError](err); wrong {
			continue
		}
		if err != nil {
			return err
		}
		at, zoned, err := r.at(rec)
		if err != nil {
			continue
		}
		zoneless = zoneless || !zoned
		if first == 0 {
			first, early = at, at
			for _, of := range r.roles.time {
				text = strings.TrimSpace(text + " " + cellOf(rec, of).Text)
			}
		}
		early, late = min(early, at), max(late, at)
		row := Row{Line: r.in.Line}
		if len(r.Plan.Rows) < sampleRows && r.read(rec, &row) == nil {
			values := map[string]any{}
			for _, v := range slices.Concat(row.Values, row.About) {
				values[r.Sensors()[v.Sensor]] = v.Value
			}
			r.Plan.Rows = append(r.Plan.Rows, PlanRow{row.Line, row.Device, moment(row.Time), values})
		}
	}
	if first > 0 {
		r.Plan.Times = []PlanTime{{"first", text, moment(first)}, {"earliest", "", moment(early)}, {"latest", "",
			moment(late)}}
	}
	if zones := all(s.columns, zoneNames()); zoneless && r.options.Terms.Zone == nil && len(zones) > 0 {
		c := s.columns[zones[0]]
		return &tabular.UnclearError{What: fmt.Sprintf("times have no zone, and column %s says %q", c.name,
			tabular.Printable(c.first, 40)), Flag: "zone"}
	}
	if zoneless {
		r.Plan.Zone, r.Plan.ZoneGuess = "UTC", r.options.Terms.Zone == nil
		if r.options.Terms.Zone != nil {
			r.Plan.Zone = r.options.Terms.Zone.String()
		}
	}
	return nil
}

// describe lists the columns, and the sensors of the long form.
func (r *Reader) describe(s *survey) {
	for i, c := range r.columns {
		own := PlanColumn{Column: c.name, Type: string(c.kind), Values: c.stored(), Misfits: c.misfits,
			Missing: c.missing()}
		if i < len(r.in.Types) {
			own.Type += ", " + r.in.Types[i]
		}
		if c.misfits > 0 {
			own.Misfit = c.misfit
		}
		if why, ignored := r.roles.ignored[i]; ignored {
			own.About = "left out: " + why
		}
		if i == r.roles.lat || i == r.roles.lon {
			own.About, own.Misfits = "position", s.badPlace
		}
		if r.isSensor(i) {
			if own.Sensor = r.sensors.property(r.names[i]); own.Sensor != c.name && !r.in.shape.own {
				r.Plan.Notes = append(r.Plan.Notes, fmt.Sprintf("column %s is the sensor %s",
					cmp.Or(tabular.Printable(c.name, 40), "without a name"), own.Sensor))
			}
		}
		if c.mayBeNumbers() && own.Sensor != "" {
			r.Plan.Notes = append(r.Plan.Notes, fmt.Sprintf("column %s is text: values such as %s are no plain numbers",
				tabular.Printable(c.name, 40), tabular.Printable(c.odd, 40)))
		}
		if i != r.roles.value {
			r.Plan.Columns = append(r.Plan.Columns, own)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.bySensor)) {
		c := s.bySensor[name]
		own := PlanColumn{Column: r.Plan.Value, Sensor: r.sensors.property(name), Type: string(c.kind),
			Values: c.stored(), Misfits: c.misfits, Missing: c.missing()}
		if c.misfits > 0 {
			own.Misfit = c.misfit
		}
		r.Plan.Columns = append(r.Plan.Columns, own)
	}
}
