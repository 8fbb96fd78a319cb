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
		", secretFile: /run/secrets/ops}, groupBy: [rule, labels.class]": {"}, groupBy: [rule]", `"secretFile" is missing`},
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
