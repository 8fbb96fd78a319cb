package fold

import (
	"furrow/tables/schema"
)

// Explain converts a reading as Sample does, and says what became of each value that is not refused. A reading without
// values that has some which became something is a heartbeat.
func (s *Sensors) Explain(r schema.Reading) (all []Explanation, sample Sample, refused []Refusal) {
	sample, refused = s.sample(r, func(e Explanation) { all = append(all, e) })
	return all, sample, refused
}
