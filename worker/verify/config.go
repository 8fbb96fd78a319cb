package verify

import (
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Config is what to verify, and how the fleet is configured.
type Config struct {
	Client    *tables.Client
	Names     schema.Names
	Pipelines []Pipeline
	Model     func(schema.Member) *Model // what the rows of a device mean
	// Kept tells how long an output is kept; zero: for ever. It may be nil.
	Kept func(schema.Member, Table, schema.Window) time.Duration

	Archive *Archive // nil: there is none

	Device schema.DeviceID // only this one
	Tenant schema.Tenant   // only its devices
	After  schema.Place    // only devices after this one, in the order of months and keys
	Share  float64         // of devices, by a hash of their IDs; zero: all
	Begin  float64         // where among the hashes the share begins, from 0 to below 1

	From, To tables.Ticks // whole days
	Values   bool         // compares values, and not only counts

	// Pause waits before a device is looked at again, which is done several times for the later looks. It may be nil.
	Pause func()

	admits admission // as enrollments said when this began
}

// A Table is a table of outputs that retention deletes from.
type Table int

// The tables of outputs.
const (
	Rollups Table = iota + 1
	Buckets
	Rejects
	Archived // days of the archive, which have no window
)

// A Pipeline is what is to be known of one.
type Pipeline struct {
	Name     schema.Pipeline
	Settle   time.Duration
	Cadence  time.Duration              // between its runs; zero: it is not known
	Settings func(schema.Member) string // of the last fold, if that was done under this configuration
	Outputs  []Output
}

// A Model is what the properties of rows mean.
type Model struct {
	Named     map[string]Meaning // by property, or by the path of a nested value
	Patterns  []Pattern          // for the others: the first that matches holds
	LongName  string             // in long form, the property that names the sensor
	LongValue string             // and the one that holds its value
	Quality   string             // property that tells how good a row is
	Good      []string
	// Heartbeat reports whether a row only says that the device lives; may be nil.
	Heartbeat func(value func(sensor string) (Value, bool)) bool
	Counters  map[string]Counter // by sensor
	Lat, Lon  string             // sensors that tell the position
	Sequence  string             // property with the number of a reading, which counts where its row key has none
}

// A Kind says how values are taken.
type Kind int

// The kinds of sensors.
const (
	AsSent Kind = iota
	Number
	State
	Ignored
)

// A Meaning is what a property means.
type Meaning struct {
	As            string // name of the sensor; empty: that of the property
	Kind          Kind
	Scale, Offset float64 // first times Scale, unless that is zero, then plus Offset
	Missing       []string
}

// A Counter is a sensor that falls only when it begins again at Zero, or by less than a share of what it has counted,
// or goes on with Zero after the last of its Numbers. It may have no such end: Numbers is 0.
type Counter struct{ Zero, Numbers, Dips float64 }

// A Pattern gives a meaning to all properties that begin and end so. A * in As stands for what is between.
type Pattern struct {
	Prefix, Suffix string
	Meaning
}
