package config

import (
	"bytes"
	"encoding/json"
	"strconv"

	"furrow/jobs/fold"

	"github.com/goccy/go-yaml"
)

// The shape of models in a file.
type (
	shownModels []Model

	shownModel struct {
		Match        map[string][]quoted `yaml:"match,omitempty" json:"match,omitempty"`
		shownMeaning `yaml:",inline"`
	}
	shownMeaning struct {
		Sensors   map[quoted]shownSensor `yaml:"sensors,omitempty" json:"sensors,omitempty"`
		Long      *shownLong             `yaml:"long,omitempty" json:"long,omitempty"`
		Quality   *shownQuality          `yaml:"quality,omitempty" json:"quality,omitempty"`
		Heartbeat quoted                 `yaml:"heartbeat,omitempty" json:"heartbeat,omitempty"`
		Position  *shownPosition         `yaml:"position,omitempty" json:"position,omitempty"`
		Sequence  string                 `yaml:"sequence,omitempty" json:"sequence,omitempty"`
	}
	shownSensor struct {
		As      string  `yaml:"as,omitempty" json:"as,omitempty"`
		Type    string  `yaml:"type,omitempty" json:"type,omitempty"`
		Unit    quoted  `yaml:"unit,omitempty" json:"unit,omitempty"`
		Scale   float64 `yaml:"scale,omitempty" json:"scale,omitempty"`
		Offset  float64 `yaml:"offset,omitempty" json:"offset,omitempty"`
		Counter bool    `yaml:"counter,omitempty" json:"counter,omitempty"`
	}
	shownLong struct {
		Name  string `yaml:"name" json:"name"`
		Value string `yaml:"value" json:"value"`
	}
	shownPosition struct {
		Lat string `yaml:"lat" json:"lat"`
		Lon string `yaml:"lon" json:"lon"`
	}
	shownQuality struct {
		Sensor string   `yaml:"sensor" json:"sensor"`
		Good   []quoted `yaml:"good" json:"good"`
	}
)

// quoted is a user's text, which may look like anything: the encoder does not quote all texts that need it.
type quoted string

func (q quoted) MarshalYAML() ([]byte, error) { return []byte(strconv.Quote(string(q))), nil }

// MarshalYAML keeps the order, which decides what model a device has.
func (all shownModels) MarshalYAML() (any, error) {
	var ordered yaml.MapSlice
	for _, m := range all {
		ordered = append(ordered, yaml.MapItem{Key: m.Name, Value: m.shownWhole()})
	}
	return ordered, nil
}

// MarshalJSON keeps the order, too.
func (all shownModels) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range all {
		text, err := json.Marshal(m.shownWhole())
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(m.Name) + ":")
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Shown returns the model for JSON, as in a file.
func (m *Model) Shown() any { return shownModels{*m} }

// YAML formats the model as in a file.
func (m *Model) YAML() ([]byte, error) {
	return yaml.MarshalWithOptions(map[string]any{"models": shownModels{*m}}, yaml.IndentSequence(true))
}

// MatchText describes which devices are of the model, in one line; empty: those that state it, or no other.
func (m *Model) MatchText() string {
	if len(m.shownWhole().Match) == 0 {
		return ""
	}
	text, err := json.Marshal(m.shownWhole().Match)
	if err != nil {
		panic(err) // impossible for texts
	}
	return string(text)
}

func (m *Model) shownWhole() shownModel { return shownModel{shownMatch(m.Match), m.shown()} }

func shownMatch(m fold.Match) map[string][]quoted {
	match := map[string][]quoted{}
	add := func(name string, values []string) {
		for _, v := range values {
			match[name] = append(match[name], quoted(v))
		}
	}
	add("enrollment", m.Enrollment)
	add("tenant", m.Tenant)
	add("site", m.Site)
	add("device", m.Device)
	for label, values := range m.Labels {
		add("labels."+label, values)
	}
	return match
}

func (m *Model) shown() (s shownMeaning) {
	s.Heartbeat, s.Sequence = quoted(m.Heartbeat), m.Sequence
	for name, sensor := range m.Sensors {
		if s.Sensors == nil {
			s.Sensors = map[quoted]shownSensor{}
		}
		s.Sensors[quoted(name)] = sensor.shown()
	}
	if m.Long != (fold.Long{}) {
		s.Long = &shownLong{m.Long.Name, m.Long.Value}
	}
	if m.Position != (fold.Position{}) {
		s.Position = &shownPosition{m.Position.Lat, m.Position.Lon}
	}
	if m.Quality.Sensor != "" {
		s.Quality = &shownQuality{Sensor: m.Quality.Sensor}
		for _, text := range m.Quality.Good {
			s.Quality.Good = append(s.Quality.Good, quoted(text))
		}
	}
	return s
}

func (s Sensor) shown() shownSensor {
	shown := shownSensor{s.As, "", quoted(s.Unit), s.Scale, s.Offset, s.Counter}
	if s.Type != fold.AsSent {
		shown.Type = typeName(s.Type)
	}
	return shown
}
