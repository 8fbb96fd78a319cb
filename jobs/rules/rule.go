package rules

import (
	"fmt"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Rule says what to watch for, and in which devices.
type Rule struct {
	Name  schema.Rule `yaml:",name"`
	Match Match       `yaml:"match"`
	When  Kind        `yaml:"when,required"`
	// Severity is Warning unless the rule says another.
	Severity Severity `yaml:"severity" choice:"info warning critical" default:"warning" want:"info, warning or critical"`
	// Text has {value} and other placeholders; empty: that of the kind.
	Text    string          `yaml:"text" want:"a text such as the oil is {value}"`
	Notify  []schema.Target `yaml:"notify"`
	Command *Command        `yaml:"command" want:"a map like {on: open, body: {heater: \"off\"}, ttl: 10m}"` // may be nil
}

// A Match says which devices a rule watches: those that meet all that it names. The zero Match is for all devices.
type Match struct {
	fold.Match
	Model []string // any of them
}

func (m Match) matches(d schema.Member) bool { return !m.Some() || m.Of(d) }

// Watches reports whether a rule watches a device, as far as its match says without models. The device's labels have
// what the rule takes from them.
func (r *Rule) Watches(d schema.Member) bool {
	k, takes := r.When.(interface{ stated(schema.Member) bool })
	return r.Match.matches(d) && !(d.Revoked && r.expects()) && (!takes || k.stated(d))
}

// A Severity says how bad an incident is.
type Severity string

// The severities.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// Severities returns all of them, the mildest first.
func Severities() []Severity { return []Severity{Info, Warning, Critical} }

// A Kind is one kind of condition on a device: a pointer to one of Kinds. It is checked once and then does not change.
type Kind interface {
	// Name returns the key of the kind in a configuration.
	Name() string
	// String describes the condition, such as oil above 190 for 5m. Conditions with the same text are the same.
	String() string
	// check returns what is wrong with the fields together. Decoding has checked each by its tags.
	check() error
	// sensor returns the sensor that a chart of the rule shows; empty: it is about none.
	sensor() string
	// room returns the maximum number of bytes that it remembers of a device, besides what every rule does.
	room() int
	// begin starts to watch a device.
	begin(w *work, t *tracked)
	// row evaluates a sample.
	row(w *work, t *tracked, s *fold.Sample)
	// next returns the next moment at which time alone may change something, MaxTicks if there is none.
	next(w *work, t *tracked) tables.Ticks
	// judge is called when that moment is over.
	judge(w *work, t *tracked, at tables.Ticks)
	// says describes an incident.
	says(w *work, t *tracked) string
}

// A KindOf is an empty Kind, with what a configuration wants for it.
type KindOf struct {
	Kind
	Want string
}

// Kinds returns all kinds, in the order in which help names them.
func Kinds() []KindOf {
	return []KindOf{
		{&Threshold{}, "a map like {sensor: oil, above: 190, clearBelow: 180, for: 5m}"},
		{&Rate{}, "a map like {sensor: oil, over: 1h, above: 5}"},
		{&Silence{}, "a map like {after: 1h}, or with a sensor, or {} for three of the stated intervals"},
		{&Never{}, "a map like {after: 30d}"},
		{&Condition{}, `a map like {where: 'action == "opened"', for: 5m}`},
		{&Stuck{}, "a map like {sensor: humidity, for: 6h}"},
		{&Schedule{}, "a map like {times: labels.dose, zone: labels.tz, before: 1h, after: 1h, expect: 'action == " +
			"\"closed\"'}"},
		{&Count{}, `a map like {where: 'action == "opened"', times: 5, within: 1h}`},
	}
}

// Sensor returns the sensor that a chart of the rule shows; empty: it is about none.
func (r *Rule) Sensor() string { return r.When.sensor() }

// identity stands for what the rule watches for.
func (r *Rule) identity() string { return r.When.Name() + " " + r.When.String() }

// Check returns what is wrong with a rule, and fills in what is missing.
func (r *Rule) Check() error {
	if _, err := schema.ParseRule(string(r.Name)); err != nil {
		return err
	}
	if r.Severity == "" {
		r.Severity = Warning
	}
	if !slices.Contains(Severities(), r.Severity) {
		return fmt.Errorf("severity %q; want info, warning or critical", r.Severity)
	}
	if err := checkText(r.Text); err != nil {
		return err
	}
	if r.Command != nil {
		if err := r.Command.check(); err != nil {
			return err
		}
	}
	if err := r.When.check(); err != nil {
		return fmt.Errorf("%s: %w", r.When.Name(), err)
	}
	return nil
}

// expects reports whether the rule expects a device to send. One that is revoked cannot.
func (r *Rule) expects() bool {
	switch r.When.(type) {
	case *Silence, *Never, *Schedule:
		return true
	}
	return false
}

// ticks returns a duration in ticks.
func ticks(d time.Duration) tables.Ticks { return tables.Ticks(d / 100) }

// forText returns " for 5m", or nothing without a duration.
func forText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return " for " + schema.FormatDuration(d)
}
