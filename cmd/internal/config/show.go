package config

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"furrow/jobs"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml"
)

// YAML formats c as a file with all keys.
func (c *Config) YAML() ([]byte, error) {
	return yaml.MarshalWithOptions(c.shown(), yaml.IndentSequence(true))
}

// JSON formats c as JSON, which is also YAML.
func (c *Config) JSON() ([]byte, error) { return json.MarshalIndent(c.shown(), "", "  ") }

// The shape of a file.
type (
	shownConfig struct {
		Pipelines []shownPipeline `yaml:"pipelines" json:"pipelines"`
	}
	shownPipeline struct {
		Name       string                 `yaml:"name" json:"name"`
		Cadence    string                 `yaml:"cadence" json:"cadence"`
		Batch      int                    `yaml:"batch" json:"batch"`
		Settle     string                 `yaml:"settle" json:"settle"`
		Processors []map[string]any       `yaml:"processors" json:"processors"`
		Sensors    map[string]shownSensor `yaml:"sensors,omitempty" json:"sensors,omitempty"`
		Quality    *shownQuality          `yaml:"quality,omitempty" json:"quality,omitempty"`
		Position   *shownPosition         `yaml:"position,omitempty" json:"position,omitempty"`
	}
	shownSensor struct {
		Type string `yaml:"type" json:"type"`
		Unit quoted `yaml:"unit,omitempty" json:"unit,omitempty"`

		Counter bool `yaml:"counter,omitempty" json:"counter,omitempty"`
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

func (c *Config) shown() (s shownConfig) {
	for _, p := range c.Pipelines {
		s.Pipelines = append(s.Pipelines, p.shown())
	}
	return s
}

func (p Pipeline) shown() shownPipeline {
	s := shownPipeline{
		Name:    string(p.Name),
		Cadence: schema.FormatDuration(p.Cadence),
		Batch:   p.Batch,
		Settle:  schema.FormatDuration(p.Settle),
		Sensors: map[string]shownSensor{},
	}
	for _, processor := range p.Processors {
		s.Processors = append(s.Processors, map[string]any{processor.Name: processor.settings()})
	}
	for name, sensor := range p.Sensors {
		if sensor.Type != jobs.AsSent {
			s.Sensors[name] = shownSensor{typeName(sensor.Type), quoted(sensor.Unit), sensor.Counter}
		}
	}
	if p.Position != (jobs.Position{}) {
		s.Position = &shownPosition{p.Position.Lat, p.Position.Lon}
	}
	if p.Quality.Sensor != "" {
		s.Quality = &shownQuality{Sensor: p.Quality.Sensor}
		for _, text := range p.Quality.Good {
			s.Quality.Good = append(s.Quality.Good, quoted(text))
		}
	}
	return s
}

// String describes a pipeline in a few words.
func (p Pipeline) String() string {
	var names []string
	for _, processor := range p.Processors {
		names = append(names, processor.Name)
	}
	return fmt.Sprintf("%s (%s; every %s)", p.Name, strings.Join(names, ", "), schema.FormatDuration(p.Cadence))
}
