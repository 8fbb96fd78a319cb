package readings

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Columns names the columns of a file. The meaning of those that are not named is guessed.
type Columns struct {
	Device, Time string
	Sensors      []string // to send; empty: all columns that mean nothing else
}

// roles are the indexes of columns by their meaning; -1 if there is none.
type roles struct {
	device, time, lat, lon, site int
	sensor, value                int      // of the long form
	inDevice                     []string // members that lead to the ID within the device's column
}

// usual returns common names of columns, without case and punctuation, the best first.
func usual() (device, when, sensor, value, lat, lon []string) {
	return []string{"device", "deviceid", "deviceuid", "devicename", "sensorid", "nodeid", "node", "stationid", "station",
			"thing", "thingid", "mac", "serial", "serialnumber", "id", "name", "sensor", "sensorname"},
		[]string{"timestamp", "timestamputc", "time", "timeutc", "utctime", "datetime", "datetimeutc", "utc", "ts", "when",
			"at", "recordedat", "measuredat", "observedat", "createdat", "eventtime", "epoch", "unixtime", "date"},
		[]string{"sensor", "sensorname", "metric", "measurement", "parameter", "variable", "quantity", "field", "channel",
			"property"},
		[]string{"value", "val", "reading"},
		[]string{"lat", "latitude"}, []string{"lon", "lng", "long", "longitude"}
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

// guess finds the roles of columns by their names. If none is named like a time, it looks for one in
// the first record. A file without a column for the device is from a single device.
func (c Columns) guess(columns []string, first record) (r roles, err error) {
	find := func(names []string, not ...int) int {
		for _, name := range names {
			if i := slices.IndexFunc(columns, func(c string) bool { return plain(c) == name }); i >= 0 &&
				!slices.Contains(not, i) {
				return i
			}
		}
		return -1
	}
	device, when, sensor, value, lat, lon := usual()
	r = roles{device: find(device), time: find(when), lat: find(lat), lon: find(lon), site: find([]string{"site"}),
		sensor: -1, value: -1}
	if path := strings.Split(c.Device, "."); len(path) > 1 && !slices.Contains(columns, c.Device) {
		c.Device, r.inDevice = path[0], path[1:]
	}
	if r.device, err = named(columns, c.Device, r.device); err != nil {
		return r, err
	}
	if r.time, err = named(columns, c.Time, r.time); err != nil {
		return r, err
	}
	for i := 0; r.time < 0 && i < len(first); i++ {
		if text, ok := first[i].(string); ok {
			if _, err := parseTimeText(text); err == nil {
				r.time = i
			}
		}
	}
	if r.time < 0 {
		return r, fmt.Errorf("no column looks like a time; name it with --time-column (the columns are %s)",
			strings.Join(columns, ", "))
	}
	if v, s := find(value), find(sensor, r.device); v >= 0 && s >= 0 && r.device >= 0 && len(c.Sensors) == 0 {
		r.sensor, r.value = s, v
	}
	for _, name := range c.Sensors {
		if _, err := named(columns, name, -1); err != nil {
			return r, err
		}
	}
	return r, nil
}

// named returns the index of a column, or otherwise for an empty name.
func named(columns []string, name string, otherwise int) (int, error) {
	if name == "" {
		return otherwise, nil
	}
	if i := slices.Index(columns, name); i >= 0 {
		return i, nil
	}
	return -1, fmt.Errorf("there is no column %q (the columns are %s)", name, strings.Join(columns, ", "))
}

// sensor reports whether a column holds a sensor.
func (c Columns) sensor(r roles, column int, name string) bool {
	if len(c.Sensors) > 0 {
		return slices.Contains(c.Sensors, name)
	}
	return !slices.Contains([]int{r.device, r.time, r.lat, r.lon, r.site}, column) && r.value < 0
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
