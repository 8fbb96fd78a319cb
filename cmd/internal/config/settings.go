package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"furrow/jobs"
)

// Settings identifies everything that changes the results of folds: for each processor its name and a hash of its
// settings and the sensors, such as latest:0123456789ab,rollup:cdef01234567. Devices with other settings are folded
// again from their beginning, so the input of the hash must not change.
func (p Pipeline) Settings() string {
	var all []string
	for _, processor := range p.Processors {
		hashed := hashed{Processor: processor.Name, Format: processor.Format(p.level()), Settings: processor.hashed()}
		if !processor.Raw {
			hashed.Sensors, hashed.Quality = p.sensorTypes(), p.Quality.Sensor
			hashed.Good = slices.Sorted(slices.Values(p.Quality.Good))
		}
		if processor.Moves {
			hashed.Counters, hashed.Position = p.Meant().Counters, p.Position
		}
		all = append(all, processor.Name+":"+hashed.sum())
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// level returns the format of the pipeline's processors.
func (p Pipeline) level() int { return max(1, int(p.Format)) }

// hashed contains what changes the outputs of a processor. A unit does not.
type hashed struct {
	Processor string            `json:"processor"`
	Format    int               `json:"format"`
	Settings  map[string]any    `json:"settings,omitempty"`
	Sensors   map[string]string `json:"sensors,omitempty"` // JSON sorts them
	Quality   string            `json:"quality,omitempty"`
	Good      []string          `json:"good,omitempty"`
	Counters  map[string]bool   `json:"counters,omitempty"`
	Position  jobs.Position     `json:"position,omitzero"`
}

func (h hashed) sum() string {
	text, err := json.Marshal(h)
	if err != nil {
		panic(err) // impossible for texts, and maps and lists of texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

func (p Pipeline) sensorTypes() map[string]string {
	types := map[string]string{}
	for name, s := range p.Sensors {
		if s.Type != jobs.AsSent {
			types[name] = typeName(s.Type)
		}
	}
	return types
}
