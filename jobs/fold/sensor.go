package fold

import (
	"furrow/tables"
	"furrow/tables/schema"
)

// A Sample is a reading as processors fold it: a finite number or a state of each sensor.
type Sample struct {
	Key    schema.RowKey
	Values []SensorValue // each sensor once, in the order of the reading
	Bytes  int           // that storage charges for the row; 0 where the row is not the device's own, or unknown
	Exact  []ExactValue  // what values cannot hold, each sensor once
	Past   bool          // an import wrote it about a time long ago: no Watcher acts on it
}

// Compare orders samples by their keys.
func (s Sample) Compare(o Sample) int { return s.Key.Compare(o.Key) }

// An ExactValue is a value that no double and no text equals: an integer beyond 2^53, whose double is among the values,
// too, or bytes, which no fold but the archive takes.
type ExactValue struct {
	Sensor string
	Value  tables.Value // Int64 or Binary
}

// A SensorValue is the value of one sensor.
type SensorValue struct {
	Sensor   string
	Number   float64 // finite; unused for a state
	State    string
	Is       SensorKind // Number or State
	Doubtful bool       // its quality is not good: it counts in latest, but in no rollup
}

// A SensorKind says how to read a sensor's values.
type SensorKind uint8

const (
	AsSent  SensorKind = iota // numbers, numeric texts and booleans are numbers; other texts are states
	Number                    // other values are refused
	State                     // every value is taken as text
	Ignored                   // the sensor is ignored
)

// An Explanation says what became of one value of a reading.
type Explanation struct {
	Property string // its name, or the path of a nested value; in long form the sensor that its row names
	Value    tables.Value
	Quality  bool         // it says how good the reading is
	Missing  bool         // it stands for no value
	Became   *SensorValue // nil: it is ignored, or missing
}

// A Refusal is a value that could not be folded, or a whole row. It becomes a reject, and the rest of the row and the
// device are still folded.
type Refusal struct {
	Row    string // RowKey of the reading
	Sensor string // empty for the whole row
	Reason string
}
