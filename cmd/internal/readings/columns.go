package readings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"furrow/cmd/internal/tabular"
	"furrow/cmd/internal/times"
)

// Columns say how a file is read. What is not said is guessed, and a guess that is not safe is a
// [*tabular.UnclearError].
type Columns struct {
	Device      string
	Time        []string // the column of the time, or those of date and clock
	Sensor      []string // columns whose values together name the sensor of the long form
	Value       string   // the column of its values
	Sensors     []string // to send; empty: all columns that mean nothing else
	OneDevice   bool     // no column names the device
	NeedsDevice bool     // a column must name it
	Format      times.Format
	Terms       times.Terms
	Decimal     rune // of all numbers; zero: of each column by its values
	File        tabular.Options
}

// A role is a column with a meaning, or a member of an object in a column.
type role struct {
	column int // -1 if there is none
	path   string
}

func none() role { return role{column: -1} }

// roles are the columns by their meaning.
type roles struct {
	device    role
	time      []role
	format    times.Format
	sensor    []int // whose values together name it
	value     int
	key, text int // of what Furrow writes
	doubtful  int // of what Furrow writes
	lat, lon  int
	site      int
	ignored   map[int]string // columns that are left out, and why
}

// Common names of columns, without case and punctuation. Those of the first list say what they mean. The others need
// values that agree.
func deviceNames() (sure, likely, weak []string) {
	return []string{"device", "deviceid", "deviceuid", "deviceuuid", "deveui", "devicename"},
		[]string{"sensorid", "nodeid", "node", "stationid", "stationsid", "station", "thing", "thingid", "mac", "serial",
			"serialnumber", "meterid", "entityid", "host", "hostname"},
		[]string{"id", "name", "sensor", "sensorname"}
}

func timeNames() (sure, likely []string) {
	return []string{"timestamp", "timestamputc", "time", "timeutc", "utctime", "datetime", "datetimeutc", "utc", "ts",
			"when",
			"at", "recordedat", "measuredat", "observedat", "eventtime", "epoch", "unixtime", "zeitstempel", "messdatum"},
		[]string{"date", "dt", "createdat", "receivedat", "lastchanged", "lastupdated", "zeit", "datum", "zeitpunkt", "fecha",
			"horodatage", "hour", "uhrzeit", "heure", "hora", "clock", "timeofday"}
}

func sensorNames() (sensor, value, lat, lon []string) {
	return []string{"sensor", "sensorname", "metric", "measurement", "parameter", "variable", "quantity", "field",
			"channel", "property", "tag", "tagname", "measurename", "signal", "point", "pointname"},
		[]string{"value", "val", "reading", "measurevaluedouble"},
		[]string{"lat", "latitude"}, []string{"lon", "lng", "long", "longitude"}
}

// hourNames are names of columns of hours beside a date, and zoneNames of columns that say in which zone times are.
func hourNames() []string {
	return []string{"hour", "hh", "hr", "hours", "stunde", "heure", "hora", "uur"}
}

func zoneNames() []string {
	return []string{"tz", "tzcd", "tzcode", "timezone", "zone", "timezoneabbreviation", "utcoffset", "utcoffsetseconds"}
}

// plain returns a name without case and punctuation.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// mayBeTime reports whether the name of a column says that it is a time.
func mayBeTime(name string) bool {
	sure, likely := timeNames()
	return slices.Contains(append(sure, likely...), plain(name))
}

// find returns the first column with one of the names, or -1.
func find(columns []*column, names []string) int {
	for _, name := range names {
		for i, c := range columns {
			if plain(c.name) == name {
				return i
			}
		}
	}
	return -1
}

// all returns the columns with one of the names that have values.
func all(columns []*column, names []string) (found []int) {
	for _, name := range names {
		for i, c := range columns {
			if plain(c.name) == name && c.values > 0 {
				found = append(found, i)
			}
		}
	}
	return found
}

// named returns the column of a flag, or the member of an object.
func named(columns []*column, name string) (role, error) {
	for i, c := range columns {
		if c.name == name {
			return role{column: i}, nil
		}
	}
	for i, c := range columns {
		if path, ok := strings.CutPrefix(name, c.name+"."); ok && c.name != "" {
			return role{i, path}, nil
		}
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = tabular.Printable(c.name, 40)
	}
	return none(), fmt.Errorf("there is no column %q (the columns are %s)", name, tabular.Printable(
		strings.Join(names, ", "), 500))
}

// device finds the column of the device.
func (s *survey) device() (role, error) {
	c := s.options
	switch {
	case c.Device != "":
		return named(s.columns, c.Device)
	case c.OneDevice:
		return none(), nil
	case s.shape.device != "":
		return named(s.columns, s.shape.device)
	}
	sure, likely, weak := deviceNames()
	if found := all(s.columns, sure); len(found) > 0 {
		return role{column: found[0]}, nil
	}
	var doubtful []int
	for _, names := range [][]string{likely, weak} {
		found := all(s.columns, names)
		found = slices.DeleteFunc(found, func(i int) bool {
			return s.isSensor(i) || plain(s.columns[i].name) == "name" && find(s.columns, []string{"tags"}) >= 0 // InfluxQL
		})
		if len(found) == 1 && len(doubtful) == 0 && s.columns[found[0]].repeats() && s.columns[found[0]].points == "" {
			return role{column: found[0]}, nil
		}
		doubtful = append(doubtful, found...)
	}
	if i := find(s.columns, []string{"deviceinfo"}); i >= 0 && strings.Contains(s.columns[i].first, `"devEui"`) {
		return role{i, "devEui"}, nil
	}
	if len(doubtful) == 0 && !c.NeedsDevice {
		return none(), nil
	}
	unclear := &tabular.UnclearError{What: "no column names the device for sure", Flag: "device-column"}
	for _, i := range doubtful {
		means := "its values never repeat"
		if s.columns[i].repeats() {
			means = fmt.Sprintf("%d values in %d rows", len(s.columns[i].seen), s.columns[i].values)
		}
		unclear.Choices = append(unclear.Choices, tabular.Choice{Value: s.columns[i].name, Means: means})
	}
	if len(doubtful) == 0 {
		unclear.What = "no column names the device"
	}
	if c.NeedsDevice {
		unclear.What += "; name the only device of the file with --device ID, or its column"
	}
	return none(), unclear
}

// isSensor reports whether a column may name the sensor of the long form.
func (s *survey) isSensor(i int) bool {
	sensor, value, _, _ := sensorNames()
	return slices.Contains(sensor, plain(s.columns[i].name)) && find(s.columns, value) >= 0 && len(s.options.Sensors) == 0
}

// long finds the columns of the long form: the name of the sensor, and the value.
func (s *survey) long(r *roles) error {
	c := s.options
	if r.key = -1; s.shape.key != "" {
		r.key = slices.IndexFunc(s.columns, func(c *column) bool { return c.name == s.shape.key })
	}
	sensor, value, _, _ := sensorNames()
	switch {
	case len(c.Sensor) > 0 || c.Value != "":
		if len(c.Sensor) == 0 || c.Value == "" && find(s.columns, value) < 0 {
			return errors.New("--sensor-column and --value-column belong together")
		}
		for _, name := range c.Sensor {
			found, err := named(s.columns, name)
			if err != nil {
				return err
			}
			r.sensor = append(r.sensor, found.column)
		}
		if r.value = find(s.columns, value); c.Value != "" {
			found, err := named(s.columns, c.Value)
			r.value = found.column
			return err
		}
	case len(c.Sensors) > 0:
	default:
		if s.shape.sensor != "" {
			sensor = []string{s.shape.sensor}
		}
		if v, n := find(s.columns, value), find(s.columns, sensor); v >= 0 && n >= 0 && s.shape.expand == nil {
			r.sensor, r.value = []int{n}, v
		}
	}
	if r.text = -1; s.shape.own && r.value >= 0 {
		r.text = find(s.columns, []string{"text"})
	}
	return nil
}

func letterOrDigit(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// IDPart turns a name into a part of a device ID.
func IDPart(name string, most int) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case b.Len() >= most:
		case letterOrDigit(r) || strings.ContainsRune("-._:", r):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.TrimRight(b.String(), "-")
}
