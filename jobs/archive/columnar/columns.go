package columnar

import (
	"maps"
	"slices"
	"strings"

	"furrow/jobs/fold"
)

// MaxColumns is how many columns for sensors a file may have. Beyond that, it has a row for each value.
const MaxColumns = 2000

// Kinds says what values a sensor has in a file.
type Kinds uint8

const (
	Numbers Kinds = 1 << iota
	Texts
)

// Columns says which columns a file has besides device, time and key.
type Columns struct {
	About    []string         `json:"about,omitempty"` // columns about the device, such as site
	Sensors  map[string]Kinds `json:"sensors,omitempty"`
	Doubtful bool             `json:"doubtful,omitzero"` // a column that marks readings of doubtful quality
	Long     bool             `json:"long,omitzero"`     // a row for each value, and no columns for sensors
}

// Add adds the columns that a sample needs, and reports whether one was missing.
func (c *Columns) Add(s *fold.Sample) (added bool) {
	for i := range s.Values {
		v := &s.Values[i]
		if v.Doubtful && !c.Doubtful {
			c.Doubtful, added = true, true
		}
		kind := kindOf(v)
		if c.Long || c.Sensors[v.Sensor]&kind != 0 {
			continue
		}
		if added = true; c.Sensors == nil {
			c.Sensors = map[string]Kinds{}
		}
		c.Sensors[v.Sensor] |= kind
		if len(c.Sensors) > MaxColumns || c.width() > MaxColumns {
			c.Long, c.Sensors = true, nil
		}
	}
	return added
}

func kindOf(v *fold.SensorValue) Kinds {
	if v.Is == fold.State {
		return Texts
	}
	return Numbers
}

// width is how many columns the sensors take.
func (c *Columns) width() (n int) {
	if len(c.Sensors) <= MaxColumns/2 {
		return len(c.Sensors)
	}
	for _, kinds := range c.Sensors {
		n++
		if kinds == Numbers|Texts {
			n++
		}
	}
	return n
}

// Clone copies c.
func (c *Columns) Clone() Columns {
	o := *c
	o.Sensors = maps.Clone(c.Sensors)
	return o
}

// Names of the columns that every file has.
const (
	Device = "device"
	Time   = "time"
	Key    = "key"
)

// Names of further columns: of readings with doubtful quality, and of a row for each value.
const (
	doubtful = "doubtful"
	sensor   = "sensor"
	number   = "number"
	text     = "text"
)

// A column is one column of a file.
type column struct {
	name   string
	sensor string // empty unless it holds values of a sensor
	kind   Kinds  // of a sensor's values
}

// list returns the columns in order. Names differ from each other and from those of a folder's partitions, tenant and
// date, without regard to case, as DuckDB and Spark compare them. A sensor whose name is taken gets an underscore.
func (c *Columns) list() (all []column) {
	taken := map[string]bool{"tenant": true, "date": true}
	add := func(name, sensor string, kind Kinds) {
		for taken[strings.ToLower(name)] {
			name += "_"
		}
		taken[strings.ToLower(name)] = true
		all = append(all, column{name, sensor, kind})
	}
	for _, name := range [...]string{Device, Time, Key} {
		add(name, "", 0)
	}
	for _, name := range c.About {
		add(name, "", 0)
	}
	if c.Long {
		add(sensor, "", Texts)
		add(number, "", Numbers)
		add(text, "", Texts)
	}
	if c.Doubtful {
		add(doubtful, "", 0)
	}
	sensors := slices.Sorted(maps.Keys(c.Sensors))
	for _, name := range sensors { // a second column never takes the name of a sensor
		if kinds := c.Sensors[name]; kinds&Numbers != 0 {
			add(name, name, Numbers)
		} else {
			add(name, name, Texts)
		}
	}
	for _, name := range sensors {
		if c.Sensors[name] == Numbers|Texts {
			add(name+"_text", name, Texts)
		}
	}
	return all
}

// Join adds the columns of another file.
func (c *Columns) Join(o Columns) {
	c.Doubtful, c.Long = c.Doubtful || o.Doubtful, c.Long || o.Long
	for sensor, kinds := range o.Sensors {
		if c.Sensors == nil {
			c.Sensors = map[string]Kinds{}
		}
		c.Sensors[sensor] |= kinds
	}
	if c.Long || c.width() > MaxColumns {
		c.Long, c.Sensors = true, nil
	}
}

// Equal reports whether c and o have the same columns.
func (c *Columns) Equal(o Columns) bool {
	return slices.Equal(c.About, o.About) && maps.Equal(c.Sensors, o.Sensors) && c.Doubtful == o.Doubtful &&
		c.Long == o.Long
}
