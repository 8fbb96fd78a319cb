package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/jobs/condition"
	"furrow/jobs/rules"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml"
)

// The shape of rules in a file.
type (
	shownRules []rules.Rule

	shownRule struct {
		Match    map[string][]quoted `yaml:"match,omitempty" json:"match,omitempty"`
		When     map[string]any      `yaml:"when" json:"when"`
		Severity string              `yaml:"severity" json:"severity"`
		Text     quoted              `yaml:"text,omitempty" json:"text,omitempty"`
		Notify   []schema.Target     `yaml:"notify,omitempty" json:"notify,omitempty"`
		Command  *shownCommand       `yaml:"command,omitempty" json:"command,omitempty"`
	}
	shownCommand struct {
		On   string `yaml:"on" json:"on"`
		Body any    `yaml:"body" json:"body"`
		TTL  string `yaml:"ttl" json:"ttl"`
	}
	shownLimit struct {
		Sensor     string    `yaml:"sensor" json:"sensor"`
		Over       string    `yaml:"over,omitempty" json:"over,omitempty"`
		Above      *float64  `yaml:"above,omitempty" json:"above,omitempty"`
		Below      *float64  `yaml:"below,omitempty" json:"below,omitempty"`
		Outside    []float64 `yaml:"outside,omitempty" json:"outside,omitempty"`
		ClearBelow *float64  `yaml:"clearBelow,omitempty" json:"clearBelow,omitempty"`
		ClearAbove *float64  `yaml:"clearAbove,omitempty" json:"clearAbove,omitempty"`
		For        string    `yaml:"for,omitempty" json:"for,omitempty"`
	}
	shownSilence struct {
		After  string `yaml:"after" json:"after"`
		Sensor string `yaml:"sensor,omitempty" json:"sensor,omitempty"`
	}
	shownCondition struct {
		Where quoted `yaml:"where" json:"where"`
		For   string `yaml:"for,omitempty" json:"for,omitempty"`
	}
	shownSchedule struct {
		Times  []quoted `yaml:"times" json:"times"`
		Zone   quoted   `yaml:"zone" json:"zone"`
		Before string   `yaml:"before,omitempty" json:"before,omitempty"`
		After  string   `yaml:"after" json:"after"`
		Expect quoted   `yaml:"expect" json:"expect"`
	}
	shownCount struct {
		Where  quoted `yaml:"where" json:"where"`
		Times  int    `yaml:"times" json:"times"`
		Within string `yaml:"within" json:"within"`
	}
)

// MarshalYAML keeps the order.
func (all shownRules) MarshalYAML() (any, error) {
	var ordered yaml.MapSlice
	for i := range all {
		ordered = append(ordered, yaml.MapItem{Key: string(all[i].Name), Value: shownRuleOf(&all[i])})
	}
	return ordered, nil
}

// MarshalJSON keeps the order, too.
func (all shownRules) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range all {
		text, err := json.Marshal(shownRuleOf(&all[i]))
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(string(all[i].Name)) + ":")
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func shownRuleOf(r *rules.Rule) shownRule {
	s := shownRule{Match: shownMatch(r.Match.Match), Severity: string(r.Severity), Text: quoted(r.Text),
		Notify: r.Notify}
	for _, name := range r.Match.Model {
		s.Match["model"] = append(s.Match["model"], quoted(name))
	}
	if c := r.Command; c != nil {
		s.Command = &shownCommand{On: c.On, TTL: schema.FormatDuration(c.TTL)}
		if err := json.Unmarshal([]byte(c.Body), &s.Command.Body); err != nil {
			panic(err) // it was checked when it was read
		}
	}
	s.When = map[string]any{r.When.Name(): shownKind(r.When)}
	return s
}

func shownKind(k rules.Kind) any {
	where := func(c *condition.Condition) quoted { return quoted(c.String()) }
	switch k := k.(type) {
	case *rules.Threshold:
		return shownLimitOf(k.Sensor, k.Limit, 0, k.For)
	case *rules.Rate:
		return shownLimitOf(k.Sensor, k.Limit, k.Over, k.For)
	case *rules.Silence:
		return shownSilence{shownDuration(k.After), k.Sensor}
	case *rules.Condition:
		return shownCondition{where(k.Where), shownDuration(k.For)}
	case *rules.Stuck:
		return shownLimit{Sensor: k.Sensor, For: shownDuration(k.For)}
	case *rules.Schedule:
		s := shownSchedule{nil, quoted(k.Zone), shownDuration(k.Before), shownDuration(k.After), where(k.Expect)}
		for one := range strings.SplitSeq(k.Times, ",") {
			s.Times = append(s.Times, quoted(strings.TrimSpace(one)))
		}
		return s
	case *rules.Count:
		return shownCount{where(k.Where), k.Times, shownDuration(k.Within)}
	}
	panic(fmt.Sprintf("config: no rule can be a %T", k))
}

func shownLimitOf(sensor string, l rules.Limit, over, held time.Duration) shownLimit {
	s := shownLimit{sensor, shownDuration(over), l.Above, l.Below, nil, l.ClearBelow, l.ClearAbove, shownDuration(held)}
	if l.Outside != nil {
		s.Outside = l.Outside[:]
	}
	return s
}

// shownDuration formats a duration, and leaves out none.
func shownDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return schema.FormatDuration(d)
}

// RuleYAML formats a rule as in a file.
func RuleYAML(r *rules.Rule) ([]byte, error) {
	return yaml.MarshalWithOptions(map[string]any{"rules": shownRules{*r}}, yaml.IndentSequence(true))
}

// ShownRule returns a rule for JSON, as in a file.
func ShownRule(r *rules.Rule) any { return shownRules{*r} }

// RuleMatch describes which devices a rule is for, in one line; empty: all.
func RuleMatch(r *rules.Rule) string {
	match := shownRuleOf(r).Match
	if len(match) == 0 {
		return ""
	}
	text, err := json.Marshal(match)
	if err != nil {
		panic(err) // impossible for texts
	}
	return string(text)
}

// changedRules describes the differences between rules, with an entry for each.
func changedRules(old, new []rules.Rule) (all []string) {
	for i := range new {
		r := &new[i]
		at := slices.IndexFunc(old, func(o rules.Rule) bool { return o.Name == r.Name })
		switch {
		case at < 0:
			all = append(all, fmt.Sprintf("rule %s is new", r.Name))
		case !reflect.DeepEqual(shownRuleOf(&old[at]), shownRuleOf(r)):
			all = append(all, fmt.Sprintf("rule %s: %s", r.Name,
				strings.Join(changedKeys(shownRuleOf(&old[at]), shownRuleOf(r)), ", ")))
		}
	}
	for i := range old {
		if !slices.ContainsFunc(new, func(n rules.Rule) bool { return n.Name == old[i].Name }) {
			all = append(all, fmt.Sprintf("rule %s is removed, and its open incidents close", old[i].Name))
		}
	}
	return all
}
