package config

import (
	"strings"
	"testing"

	"furrow/jobs/notify"
	"furrow/tables/azuretest/must"
)

const notified = `pipelines:
  - {name: live, processors: [latest, rules]}
rules:
  silent: {when: {silence: {after: 1h}}, notify: [ops, patient]}
  hot: {when: {threshold: {sensor: oil, above: 190}}, notify: am}
notify:
  ops: {webhook: {url: "https://ops.example/hook", secretFile: /run/secrets/ops}, groupBy: [rule, labels.class],
    groupWait: 1m, repeat: 24h}
  am: {alertmanager: {url: "http://alertmanager:9093", private: true}, groupBy: rule}
  jobs: {queue: {name: alerts}}
  patient: {smtp: {server: "smtp.example:587", from: furrow@example.com, to: labels.email, passwordFile: /run/smtp}}
`

func TestTargetsAreReadAndShown(t *testing.T) {
	c := must.Have(Parse("furrow.yaml", []byte(notified)))(t)
	if len(c.Notify) != 4 || len(c.Pipelines[0].Notify) != 4 || len(c.Rules[0].Notify) != 2 {
		t.Fatalf("targets %+v, rules %+v", c.Notify, c.Rules)
	}
	if am := c.Notify[1]; am.GroupWait != defaultGroupWait || !am.Kind.(*notify.Alertmanager).Private {
		t.Errorf("am is %+v", am)
	}
	yaml := must.Have(c.YAML())(t)
	again := must.Have(Parse("again", yaml))(t)
	if changes := Changes(c, again); len(changes) > 0 {
		t.Errorf("as shown it has changed: %q\n%s", changes, yaml)
	}
	json := must.Have(c.JSON())(t)
	again = must.Have(Parse("again", json))(t)
	if changes := Changes(c, again); len(changes) > 0 {
		t.Errorf("in JSON it has changed: %q\n%s", changes, json)
	}
	text := strings.NewReplacer("repeat: 24h", "repeat: 12h", "  jobs: {queue: {name: alerts}}\n", "", "notify: am",
		"notify: [am, ops]").Replace(notified)
	other := must.Have(Parse("other", []byte(text)))(t)
	want := "rule hot: notify|target ops: repeat 1d, now 12h|" +
		"target jobs is removed, and what it was still to be told is given up"
	if got := strings.Join(Changes(c, other), "|"); got != want {
		t.Errorf("changes are %s; want %s", got, want)
	}
}

func TestWrongTargetsAreExplained(t *testing.T) {
	for old, becomes := range map[string][2]string{
		"notify: [ops, patient]":   {"notify: [opps]", `4:50: rule "silent": target "opps" is not in notify: of this`},
		"https://ops.example/hook": {"http://ops.example/hook", "with http, so anybody on the way can read"},
		"webhook: {url":            {"webhok: {url", "did you mean webhook?"},
		", secretFile: /run/secrets/ops}, groupBy: [rule, labels.class]": {"}, groupBy: [rule]", "no secretFile, so the"},
		"groupBy: rule}":               {"groupBy: color}", `groupBy "color"; want rule, site, tenant, severity or labels.NAME`},
		"{name: alerts}":               {"{name: Alerts}", "small letters and digits"},
		"to: labels.email":             {"to: nobody", `to "nobody"; want an address`},
		"smtp.example:587":             {"smtp.example", "want a host and a port"},
		"https://ops.":                 {"https://me:secret@ops.", "url with a user or a password"},
		"queue: {name: alerts}":        {"groupWait: 1m, queue: {name: alerts}", "groupWait without groupBy"},
		"jobs: {queue":                 {"Jobs: {queue", "small letters"},
		"jobs: {queue: {name: alerts}": {"jobs: {repeat: 1h", "0 kinds of target; want one: webhook"},
	} {
		_, err := Parse("furrow.yaml", []byte(strings.Replace(notified, old, becomes[0], 1)))
		if err == nil || !strings.Contains(err.Error(), becomes[1]) {
			t.Errorf("with %s: %v; want %s", becomes[0], err, becomes[1])
		}
		if err != nil && strings.Contains(err.Error(), "me:secret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

// TestEveryFaultOfATargetIsReportedAtOnce: nobody has to mend one to learn of the next.
func TestEveryFaultOfATargetIsReportedAtOnce(t *testing.T) {
	for target, want := range map[string][]string{
		`{webhook: {url: "http://me:x@ops.example/h#part", body: "{{.Nothing}}"}, groupBy: [color, rule, rule],
    groupWait: 2d}`: {"no secretFile", "url with a user", "body: ", "groupBy \"color\"", "names rule twice", "groupWait"},
		`{smtp: {server: here, from: me, to: you}, groupWait: 1m}`: {"server \"here\"", "from \"me\"", "to \"you\"",
			"groupWait without groupBy"},
		`{webhook: {preset: slack, url: "https://hooks.slack.com/services/x", secretFile: /s, to: me}}`: {
			"the url of slack is a secret", "slack has no secretFile", "to is for the presets"},
		`{webhook: {preset: telegram}}`:                          {"no secretFile; want a file with the token", "no to; want the chat"},
		`{webhook: {preset: pagerduty, to: x}}`:                  {"no secretFile", "to is for the presets"},
		`{webhook: {preset: slak}}`:                              {`preset "slak"; want slack or teams`},
		`{webhook: {urlFile: /u, url: "https://ops.example/h"}}`: {"url and urlFile; want one"},
		`{webhook: {urlFile: /u, body: '{"a": {{.Title}} x}'}}`:  {"body: it is no JSON"},
		`{webhook: {urlFile: /u, body: '{"a": "{{.Title}"}'}}`:   {"body: template"},
		`{webhook: {urlFile: /u, body: '{{cut 10}}'}}`:           {"body: template"},
	} {
		_, err := Parse("furrow.yaml", []byte(strings.Replace(notified, "{queue: {name: alerts}}", target, 1)))
		for _, want := range want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %s, too", target, err, want)
			}
		}
	}
}

// TestPresetsAndBodiesAreReadAndShown: a body over several lines stays as it is.
func TestPresetsAndBodiesAreReadAndShown(t *testing.T) {
	for _, target := range []string{
		"{webhook: {preset: slack, urlFile: /run/secrets/slack}, groupBy: rule}",
		"{webhook: {preset: teams, urlFile: /run/secrets/teams}}",
		"{webhook: {preset: discord, urlFile: /run/secrets/discord}}",
		"{webhook: {preset: ntfy, to: alerts}}",
		`{webhook: {preset: telegram, secretFile: /run/secrets/bot, to: "-1001234"}}`,
		"{webhook: {preset: pagerduty, secretFile: /run/secrets/pagerduty}}",
		"\n    webhook:\n      urlFile: /u\n      body: |\n        {\"a\": \"{{.Title}}\",\n         \"n\": {{.Open}}}",
	} {
		c, err := Parse("furrow.yaml", []byte(strings.Replace(notified, "{queue: {name: alerts}}", target, 1)))
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		again := must.Have(Parse("again", must.Have(c.YAML())(t)))(t)
		if changes := Changes(c, again); len(changes) > 0 {
			t.Errorf("as shown it has changed: %q", changes)
		}
	}
}
