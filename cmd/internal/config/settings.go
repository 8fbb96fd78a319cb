package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"furrow/jobs/fold"
)

// Settings identifies everything that changes the results of folds of a model's devices: for each processor its name
// and a hash of its settings and of what rows mean, such as latest:0123456789ab,rollup:cdef01234567. Devices with other
// settings are folded again from their beginning, so the input of the hash must not change.
func (p Pipeline) Settings(m *Model) string {
	var all []string
	for _, processor := range p.Processors {
		if processor.Once {
			continue
		}
		hashed := hashed{Processor: processor.Name, Format: processor.Format(p.level()), Settings: processor.hashed(),
			meaning: m.hashed()}
		if processor.Moves {
			hashed.Counters, hashed.Position = m.Meant().Counters, m.Position
		}
		all = append(all, processor.Name+":"+hashed.sum())
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// level returns the format of the pipeline's processors.
func (p Pipeline) level() int { return max(1, int(p.Format)) }

// hashed contains what changes the outputs of a processor. A unit does not, nor does a model's name.
type hashed struct {
	Processor string         `json:"processor"`
	Format    int            `json:"format"`
	Settings  map[string]any `json:"settings,omitempty"`
	meaning
	Counters map[string]fold.Counter `json:"counters,omitempty"`
	Position fold.Position           `json:"position,omitzero"`
}

// meaning contains what changes the values that processors get. JSON sorts the maps.
type meaning struct {
	Sensors   map[string]string     `json:"sensors,omitempty"`
	Quality   string                `json:"quality,omitempty"`
	Good      []string              `json:"good,omitempty"`
	As        map[string]string     `json:"as,omitempty"`
	Scales    map[string][2]float64 `json:"scales,omitempty"`
	Long      fold.Long             `json:"long,omitzero"`
	Heartbeat string                `json:"heartbeat,omitempty"`
	Missing   map[string][]string   `json:"missing,omitempty"`
}

// identity is equal for models that mean the same.
func (m *Model) identity() string {
	return hashed{meaning: m.hashed(), Counters: m.Meant().Counters, Position: m.Position}.sum()
}

func (m *Model) hashed() meaning {
	all := meaning{Sensors: map[string]string{}, Quality: m.Quality.Sensor, As: map[string]string{},
		Good: slices.Sorted(slices.Values(m.Quality.Good)), Scales: map[string][2]float64{}, Long: m.Long,
		Heartbeat: m.Heartbeat, Missing: map[string][]string{}}
	for name, s := range m.Sensors {
		if s.Type != fold.AsSent {
			all.Sensors[name] = typeName(s.Type)
		}
		if s.As != "" {
			all.As[name] = s.As
		}
		if len(s.Missing) > 0 {
			all.Missing[name] = slices.Sorted(slices.Values(s.Missing))
		}
		if s.Scale != 0 || s.Offset != 0 {
			all.Scales[name] = [2]float64{cmp.Or(s.Scale, 1), s.Offset}
		}
		if s.asSent() && m.hides(name) {
			all.Sensors[name] = "as sent"
		}
	}
	return all
}

// asSent reports whether the sensor has the values of its property, unchanged.
func (s Sensor) asSent() bool {
	return s.As == "" && s.Type == fold.AsSent && s.Scale == 0 && s.Offset == 0 && len(s.Missing) == 0
}

// hides reports whether some properties have the meaning of a name or pattern, and would have that of another pattern
// without it.
func (m *Model) hides(name string) bool {
	others := m.patterns()
	before, after, pattern := strings.Cut(name, "*")
	if pattern {
		others = others[slices.Index(others, name)+1:]
	}
	return slices.ContainsFunc(others, func(other string) bool {
		prefix, suffix, _ := strings.Cut(other, "*")
		switch {
		case m.Sensors[other].asSent():
			return false
		case pattern:
			return (strings.HasPrefix(before, prefix) || strings.HasPrefix(prefix, before)) &&
				(strings.HasSuffix(after, suffix) || strings.HasSuffix(suffix, after))
		}
		rest, begins := strings.CutPrefix(name, prefix)
		return begins && strings.HasSuffix(rest, suffix)
	})
}

func (h hashed) sum() string {
	text, err := json.Marshal(h)
	if err != nil {
		panic(err) // impossible for texts, and maps and lists of texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
