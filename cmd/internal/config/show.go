package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"furrow/tables/schema"

	"github.com/goccy/go-yaml"
)

// YAML formats c as a file with all keys.
func (c *Config) YAML() ([]byte, error) {
	return yaml.MarshalWithOptions(c.shown(), yaml.IndentSequence(true))
}

// JSON formats c as JSON, which is also YAML.
func (c *Config) JSON() ([]byte, error) { return json.Marshal(c.shown()) }

// The shape of a file.
type (
	shownConfig struct {
		Pipelines    []shownPipeline `yaml:"pipelines" json:"pipelines"`
		Models       shownModels     `yaml:"models,omitempty" json:"models,omitzero"`
		Rules        shownRules      `yaml:"rules,omitempty" json:"rules,omitzero"`
		Notify       shownTargets    `yaml:"notify,omitempty" json:"notify,omitzero"`
		Reports      *shownReports   `yaml:"reports,omitempty" json:"reports,omitzero"`
		Retention    []shownKeep     `yaml:"retention,omitempty" json:"retention,omitempty"`
		Budget       *shownBudget    `yaml:"budget,omitempty" json:"budget,omitempty"`
		Verify       *shownVerify    `yaml:"verify,omitempty" json:"verify,omitempty"`
		shownMeaning `yaml:",inline"`
	}
	shownPipeline struct {
		Name       string           `yaml:"name" json:"name"`
		Cadence    string           `yaml:"cadence" json:"cadence"`
		Batch      int              `yaml:"batch" json:"batch"`
		Settle     string           `yaml:"settle" json:"settle"`
		Processors []map[string]any `yaml:"processors" json:"processors"`
	}
)

func (c *Config) shown() (s shownConfig) {
	for _, p := range c.InFile() {
		s.Pipelines = append(s.Pipelines, p.shown())
	}
	last := len(c.Models) - 1
	s.Models, s.shownMeaning = c.Models[:last], c.Models[last].shown()
	s.Rules, s.Notify, s.Reports = c.Rules, c.Notify, c.Reports.shown()
	s.Retention, s.Verify = shownRetention(c.Retention), c.Verify.shown()
	if c.Budget > 0 {
		s.Budget = &shownBudget{c.Budget}
	}
	return s
}

func (p Pipeline) shown() shownPipeline {
	s := shownPipeline{
		Name:    string(p.Name),
		Cadence: schema.FormatDuration(p.Cadence),
		Batch:   p.Batch,
		Settle:  schema.FormatDuration(p.Settle),
	}
	for _, processor := range p.Processors {
		s.Processors = append(s.Processors, map[string]any{processor.Name: processor.settings()})
	}
	return s
}

// String describes a pipeline in a few words.
func (p Pipeline) String() string {
	if p.Retains() {
		return fmt.Sprintf("%s (every %s)", p.Name, schema.FormatDuration(p.Cadence))
	}
	var names []string
	for _, processor := range p.Processors {
		names = append(names, processor.Name)
	}
	return fmt.Sprintf("%s (%s; every %s)", p.Name, strings.Join(names, ", "), schema.FormatDuration(p.Cadence))
}
