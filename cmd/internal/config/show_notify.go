package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"furrow/jobs/notify"

	"github.com/goccy/go-yaml"
)

// The shape of targets in a file.
type (
	shownTargets []notify.Target

	shownTarget struct {
		Webhook      *shownHook  `yaml:"webhook,omitempty" json:"webhook,omitempty"`
		Alertmanager *shownHook  `yaml:"alertmanager,omitempty" json:"alertmanager,omitempty"`
		Queue        *shownQueue `yaml:"queue,omitempty" json:"queue,omitempty"`
		SMTP         *shownSMTP  `yaml:"smtp,omitempty" json:"smtp,omitempty"`
		GroupBy      []quoted    `yaml:"groupBy,omitempty" json:"groupBy,omitempty"`
		GroupWait    string      `yaml:"groupWait,omitempty" json:"groupWait,omitempty"`
		Repeat       string      `yaml:"repeat,omitempty" json:"repeat,omitempty"`
	}
	shownHook struct {
		URL        quoted `yaml:"url" json:"url"`
		SecretFile quoted `yaml:"secretFile,omitempty" json:"secretFile,omitempty"`
		TokenFile  quoted `yaml:"tokenFile,omitempty" json:"tokenFile,omitempty"`
		Private    bool   `yaml:"private,omitempty" json:"private,omitempty"`
	}
	shownQueue struct {
		Name quoted `yaml:"name" json:"name"`
	}
	shownSMTP struct {
		Server       quoted   `yaml:"server" json:"server"`
		From         quoted   `yaml:"from" json:"from"`
		To           []quoted `yaml:"to" json:"to"`
		User         quoted   `yaml:"user,omitempty" json:"user,omitempty"`
		PasswordFile quoted   `yaml:"passwordFile,omitempty" json:"passwordFile,omitempty"`
		Private      bool     `yaml:"private,omitempty" json:"private,omitempty"`
	}
)

func shownTargetOf(t notify.Target) shownTarget {
	s := shownTarget{GroupBy: allQuoted(t.GroupBy), GroupWait: shownDuration(t.GroupWait), Repeat: shownDuration(t.Repeat)}
	switch k := t.Kind.(type) {
	case *notify.Webhook:
		s.Webhook = &shownHook{URL: quoted(k.URL), SecretFile: quoted(k.SecretFile), Private: k.Private}
	case *notify.Alertmanager:
		s.Alertmanager = &shownHook{URL: quoted(k.URL), TokenFile: quoted(k.TokenFile), Private: k.Private}
	case *notify.Queue:
		s.Queue = &shownQueue{quoted(k.Queue)}
	case *notify.SMTP:
		s.SMTP = &shownSMTP{quoted(k.Server), quoted(k.From), allQuoted(k.To), quoted(k.User), quoted(k.PasswordFile),
			k.Private}
	}
	return s
}

func allQuoted(texts []string) (all []quoted) {
	for _, text := range texts {
		all = append(all, quoted(text))
	}
	return all
}

// MarshalYAML keeps the order.
func (all shownTargets) MarshalYAML() (any, error) {
	var ordered yaml.MapSlice
	for _, t := range all {
		ordered = append(ordered, yaml.MapItem{Key: string(t.Name), Value: shownTargetOf(t)})
	}
	return ordered, nil
}

// MarshalJSON keeps the order, too.
func (all shownTargets) MarshalJSON() ([]byte, error) {
	var parts []string
	for _, t := range all {
		text, err := json.Marshal(shownTargetOf(t))
		if err != nil {
			return nil, err
		}
		parts = append(parts, strconv.Quote(string(t.Name))+":"+string(bytes.TrimSpace(text)))
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

// changedTargets describes the differences between targets, with an entry for each.
func changedTargets(old, new []notify.Target) (all []string) {
	for _, t := range new {
		at := slices.IndexFunc(old, func(o notify.Target) bool { return o.Name == t.Name })
		switch {
		case at < 0:
			all = append(all, fmt.Sprintf("target %s is new", t.Name))
		case !reflect.DeepEqual(shownTargetOf(old[at]), shownTargetOf(t)):
			all = append(all, fmt.Sprintf("target %s: %s", t.Name,
				strings.Join(changedKeys(shownTargetOf(old[at]), shownTargetOf(t)), ", ")))
		}
	}
	for _, o := range old {
		if !slices.ContainsFunc(new, func(t notify.Target) bool { return t.Name == o.Name }) {
			all = append(all, fmt.Sprintf("target %s is removed, and what it was still to be told is given up", o.Name))
		}
	}
	return all
}
