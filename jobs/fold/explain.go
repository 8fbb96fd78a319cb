package fold

import (
	"furrow/tables"
	"furrow/tables/schema"
)

// An Explanation says what became of one value of a reading.
type Explanation struct {
	Property string // its name, or the path of a nested value; in long form the sensor that its row names
	Value    tables.Value
	Quality  bool         // it says how good the reading is
	Became   *SensorValue // nil: it is ignored
}

// Explain converts a reading as Sample does, and says what became of each value that is not refused. A reading without
// values that has some which became something is a heartbeat.
func (s *Sensors) Explain(r schema.Reading) (all []Explanation, sample Sample, refused []Refusal) {
	sample, refused = s.sample(r, func(e Explanation) { all = append(all, e) })
	return all, sample, refused
}

func (w *sampling) explain(e Explanation) {
	if w.became != nil {
		w.became(e)
	}
}
