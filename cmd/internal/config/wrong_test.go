package config

import (
	"strings"
	"testing"
)

// wrong are files, and all that is said of each.
func wrong() []struct{ text, want string } {
	live := "pipelines:\n  - name: live\n    processors: [latest]\n"
	return []struct{ text, want string }{
		{"", `furrow.yaml:1:1: the file says nothing; want pipelines: and a list of them ('furrow config init' makes a file to begin with)
`},
		{"# nothing yet\n", `furrow.yaml:1:1: the file says nothing; want pipelines: and a list of them ('furrow config init' makes a file to begin with)
`},
		{"pipelines\n", `furrow.yaml:1:1: "pipelines"; want pipelines: and a list of them
`},
		{"- name: live\n", `furrow.yaml:1:1: a list; want pipelines: and a list of them
`},
		{"pipelines:\n", `furrow.yaml:1:12: pipelines: nothing is said; want a list of pipelines
`},
		{"pipelines: []\n", `furrow.yaml:1:12: pipelines: an empty list; want a list of pipelines
`},
		{`pipeline:
  - name: live
`, `furrow.yaml:1:1: key "pipeline" is not known (did you mean pipelines?); want pipelines
`},
		{live + "sensors: {}\n", `furrow.yaml:4:1: key "sensors" is not known; want pipelines
`},
		{live + "pipelines: []\n", `furrow.yaml:4:1: key "pipelines" is there twice, first in line 1
`},
		{live + `---
pipelines:
  - name: live
    processors: [latest]
`, `furrow.yaml:5:1: a second document; want one in a file
`},
		{"pipelines: [\n", `furrow.yaml:1:12: it is not YAML: sequence end token ']' not found
`},
		{"pipelines:\n\t- name: live\n", `furrow.yaml:2:1: it is not YAML: found character '\t' that cannot start any token
`},
		{`pipelines:
  - name: live
   processors: [latest]
`, `furrow.yaml:3:4: it is not YAML: value is not allowed in this context
`},
		{"pipelines: \"\\\n", `furrow.yaml:1:12: it is not YAML: could not find end character of double-quoted text
`},
		{"pipelines:\n  - name: l\xfcve\x01\n", `furrow.yaml:2:12: a character that is not text; want UTF-8 without control characters
`},
		{"pipelines: *all\n", `furrow.yaml:1:12: there is no anchor "&all"
`},
		{"pipelines: &all [*all]\n", `furrow.yaml:1:17: pipeline 1: a list; want a map with name and processors, as every pipeline has
`},
		{"pipelines: !!seq []\n", `furrow.yaml:1:12: tag "!!seq"; want the value alone
`},
		{live + `    sensors: &s {door: state}
    quality: &s {sensor: q, good: [good]}
`, `furrow.yaml:5:14: anchor "&s" is there twice; want each name once
`},
		{`pipelines:
  - <<: {name: live}
    processors: [latest]
`, `furrow.yaml:2:5: pipeline 1: the merge key << is not understood; write out what it stands for, or name a whole value with *
furrow.yaml:2:5: pipeline 1: key "name" is missing; want a map with name and processors, as every pipeline has
`},
		{`pipelines:
  - &live {name: live, processors: [latest]}
  - *live
`, `furrow.yaml:2:18: pipeline live: name live is that of the pipeline in line 2; every pipeline has its own
furrow.yaml:2:37: pipeline live: latest is written by pipeline live already (line 2); an output has one writer
`},
		{`pipelines:
  - live
`, `furrow.yaml:2:5: pipeline 1: "live"; want a map with name and processors, as every pipeline has
`},
		{`pipelines:
  -
`, `furrow.yaml:2:5: pipeline 1: nothing is said; want a map with name and processors, as every pipeline has
`},
		{`pipelines:
  - processors: [latest]
`, `furrow.yaml:2:5: pipeline 1: key "name" is missing; want a map with name and processors, as every pipeline has
`},
		{`pipelines:
  - name: live
`, `furrow.yaml:2:5: pipeline live: key "processors" is missing; want a map with name and processors, as every pipeline has
`},
		{`pipelines:
  - name: Live
    processors: [latest]
`, `furrow.yaml:2:11: pipeline 1: name "Live"; want 1 to 20 small letters and digits, a letter first
`},
		{`pipelines:
  - name: [live]
    processors: [latest]
`, `furrow.yaml:2:11: pipeline 1: name: a list; want 1 to 20 small letters and digits, a letter first
`},
		{`pipelines:
  - name: a2345678901234567890x
    processors: [latest]
`, `furrow.yaml:2:11: pipeline 1: name "a2345678901234567890x"; want 1 to 20 small letters and digits, a letter first
`},
		{live + `  - name: live
    processors: [rollup]
`, `furrow.yaml:4:11: pipeline live: name live is that of the pipeline in line 2; every pipeline has its own
`},
		{live + "    cadense: 1m\n", `furrow.yaml:4:5: pipeline live: key "cadense" is not known (did you mean cadence?); want name, cadence, batch, settle, processors, sensors, quality or position
`},
		{live + "    Cadence: 1m\n", `furrow.yaml:4:5: pipeline live: key "Cadence" is not known (did you mean cadence?); want name, cadence, batch, settle, processors, sensors, quality or position
`},
		{live + "    xyzzy: 1m\n", `furrow.yaml:4:5: pipeline live: key "xyzzy" is not known; want name, cadence, batch, settle, processors, sensors, quality or position
`},
		{live + `    cadence: 1m
    cadence: 2m
`, `furrow.yaml:5:5: pipeline live: key "cadence" is there twice, first in line 4
`},
		{live + `    cadence: 7m
    batch: 100
    settle: 0s
`, `furrow.yaml:4:14: pipeline live: cadence "7m"; want a duration from 1s to 366d that divides a day evenly, or whole days, such as 30s, 1m, 1h or 1d
furrow.yaml:5:12: pipeline live: batch "100"; want a whole number of devices from 1 to 99
furrow.yaml:6:13: pipeline live: settle "0s"; want a duration from 1s to 1h, in whole seconds, such as 90s, 5m, 1h or 1d
`},
		{live + `    cadence: 36h
    batch: 0
    settle: 2h
`, `furrow.yaml:4:14: pipeline live: cadence "36h"; want a duration from 1s to 366d that divides a day evenly, or whole days, such as 30s, 1m, 1h or 1d
furrow.yaml:5:12: pipeline live: batch "0"; want a whole number of devices from 1 to 99
furrow.yaml:6:13: pipeline live: settle "2h"; want a duration from 1s to 1h, in whole seconds, such as 90s, 5m, 1h or 1d
`},
		{live + `    cadence: 1500ms
    batch: five
    settle: 10
`, `furrow.yaml:4:14: pipeline live: cadence "1500ms"; want a duration from 1s to 366d that divides a day evenly, or whole days, such as 30s, 1m, 1h or 1d
furrow.yaml:5:12: pipeline live: batch "five"; want a whole number of devices from 1 to 99
furrow.yaml:6:13: pipeline live: settle "10"; want a duration from 1s to 1h, in whole seconds, such as 90s, 5m, 1h or 1d
`},
		{live + `    cadence: 0s
    batch: 1.5
    settle: 1.5s
`, `furrow.yaml:4:14: pipeline live: cadence "0s"; want a duration from 1s to 366d that divides a day evenly, or whole days, such as 30s, 1m, 1h or 1d
furrow.yaml:5:12: pipeline live: batch "1.5"; want a whole number of devices from 1 to 99
furrow.yaml:6:13: pipeline live: settle "1.5s"; want a duration from 1s to 1h, in whole seconds, such as 90s, 5m, 1h or 1d
`},
		{live + `    cadence:
    batch: [1]
    settle: {}
`, `furrow.yaml:4:13: pipeline live: cadence: nothing is said; want a duration from 1s to 366d that divides a day evenly, or whole days, such as 30s, 1m, 1h or 1d
furrow.yaml:5:12: pipeline live: batch: a list; want a whole number of devices from 1 to 99
furrow.yaml:6:13: pipeline live: settle: a map; want a duration from 1s to 1h, in whole seconds, such as 90s, 5m, 1h or 1d
`},
		{`pipelines:
  - name: live
    processors: latest
`, `furrow.yaml:3:17: pipeline live: processors: "latest"; want a list of processors, such as latest or rollup
`},
		{`pipelines:
  - name: live
    processors: []
`, `furrow.yaml:3:17: pipeline live: processors: an empty list; want a list of processors, such as latest or rollup
`},
		{`pipelines:
  - name: live
    proccessors: [latest]
`, `furrow.yaml:3:5: pipeline live: key "proccessors" is not known (did you mean processors?); want name, cadence, batch, settle, processors, sensors, quality or position
`},
		{`pipelines:
  - name: live
    processors:
      - latst
      - rolup: {windows: [1m]}
      - xyzzy
      - [latest]
      -
`, `furrow.yaml:4:9: pipeline live: processor "latst" is not known (did you mean latest?); want latest, rollup, rate or archive
furrow.yaml:5:9: pipeline live: processor "rolup" is not known (did you mean rollup?); want latest, rollup, rate or archive
furrow.yaml:6:9: pipeline live: processor "xyzzy" is not known; want latest, rollup, rate or archive
furrow.yaml:7:9: pipeline live: processors: a list; want a processor's name, alone or with its settings as in rollup: {windows: [1m, 1h]}
furrow.yaml:8:9: pipeline live: processors: nothing is said; want a processor's name, alone or with its settings as in rollup: {windows: [1m, 1h]}
`},
		{`pipelines:
  - name: live
    processors:
      - {latest: {}, rollup: {}}
      - latest: {windows: [1m]}
      - rollup: {window: [1m]}
`, `furrow.yaml:4:9: pipeline live: 2 keys in one item; want a processor's name, alone or with its settings as in rollup: {windows: [1m, 1h]}
furrow.yaml:5:18: pipeline live: latest: key "windows" is not known; want nothing, as latest has no settings
furrow.yaml:6:18: pipeline live: rollup: key "window" is not known (did you mean windows?); want windows
`},
		{`pipelines:
  - name: live
    processors: [latest, rollup, latest]
`, `furrow.yaml:3:34: pipeline live: processor latest is there twice; want each once
`},
		{`pipelines:
  - name: live
    processors:
      - rollup:
          windows: [1m, 7m, 60s, 2d, x, [1m], 1500ms]
`, `furrow.yaml:5:25: pipeline live: rollup: window "7m"; want whole seconds that divide a day, such as 1m, 15m, 1h or 1d
furrow.yaml:5:29: pipeline live: rollup: window 1m is there twice
furrow.yaml:5:34: pipeline live: rollup: window "2d"; want whole seconds that divide a day, such as 1m, 15m, 1h or 1d
furrow.yaml:5:38: pipeline live: rollup: window "x"; want whole seconds that divide a day, such as 1m, 15m, 1h or 1d
furrow.yaml:5:41: pipeline live: rollup: windows: a list; want a list of windows, such as [1m, 1h, 1d]
furrow.yaml:5:47: pipeline live: rollup: window "1500ms"; want whole seconds that divide a day, such as 1m, 15m, 1h or 1d
`},
		{`pipelines:
  - name: live
    processors: [rollup: {windows: [1s, 2s, 3s, 4s, 5s, 6s, 8s, 9s, 10s]}]
`, `furrow.yaml:3:26: pipeline live: rollup: 9 windows; want 1 to 8
`},
		{`pipelines:
  - name: live
    processors: [rollup: {windows: [&seven 7m, *seven]}]
`, `furrow.yaml:3:44: pipeline live: rollup: window "7m"; want whole seconds that divide a day, such as 1m, 15m, 1h or 1d
`},
		{`pipelines:
  - name: live
    processors: [rollup: {windows: []}]
`, `furrow.yaml:3:36: pipeline live: rollup: windows: an empty list; want a list of windows, such as [1m, 1h, 1d]
`},
		{`pipelines:
  - name: live
    processors: [rollup: 1m]
`, `furrow.yaml:3:26: pipeline live: rollup: "1m"; want a map like {windows: [1m, 1h, 1d]}
`},
		{`pipelines:
  - name: live
    processors: [archive, latest]
`, `furrow.yaml:3:17: pipeline live: processor archive is with others; want it in a pipeline of its own
`},
		{`pipelines:
  - name: live
    processors:
      - archive: {closeafter: 1h}
`, `furrow.yaml:4:19: pipeline live: archive: key "closeafter" is not known (did you mean closeAfter?); want closeAfter
`},
		{`pipelines:
  - name: live
    processors:
      - archive: {closeAfter: 32d}
`, `furrow.yaml:4:31: pipeline live: archive: closeAfter "32d"; want a duration from 1s to 31d, in whole seconds, such as 90s, 5m, 1h or 1d
`},
		{live + `  - name: again
    processors:
      - latest
`, `furrow.yaml:6:9: pipeline again: latest is written by pipeline live already (line 3); an output has one writer
`},
		{`pipelines:
  - name: live
    processors: [rollup: {windows: [1m, 1h]}]
  - name: slow
    processors:
      - rollup: {windows: [3600s, 1d]}
`, `furrow.yaml:6:9: pipeline slow: rollup 1h is written by pipeline live already (line 3); an output has one writer
`},
		{`pipelines:
  - name: one
    processors: [archive]
  - name: two
    processors: [archive]
`, `furrow.yaml:5:18: pipeline two: archive is written by pipeline one already (line 3); an output has one writer
`},
		{live + "    sensors: [door]\n", `furrow.yaml:4:14: pipeline live: sensors: a list; want a map of sensors and what they are, such as door: state
`},
		{live + "    sensors: door\n", `furrow.yaml:4:14: pipeline live: sensors: "door"; want a map of sensors and what they are, such as door: state
`},
		{live + `    sensors:
      door: stat
      wind: [number]
      rain:
      sun: {typ: number}
      sky: {unit: m}
      door: state
`, `furrow.yaml:5:13: pipeline live: sensors: "door": "stat" is not known (did you mean state?); want number, state or ignored, or a map like {type: number, unit: °C}
furrow.yaml:6:13: pipeline live: sensors: "wind": type: a list; want number, state or ignored, or a map like {type: number, unit: °C}
furrow.yaml:7:12: pipeline live: sensors: "rain": type: nothing is said; want number, state or ignored, or a map like {type: number, unit: °C}
furrow.yaml:8:13: pipeline live: sensors: "sun": key "typ" is not known (did you mean type?); want type, unit or counter
furrow.yaml:9:12: pipeline live: sensors: "sky": key "type" is missing; want type: number, state or ignored, and for a number its unit
furrow.yaml:10:7: pipeline live: sensors: key "door" is there twice, first in line 5
`},
		{live + `    sensors:
      9lives: number
      air temp: number
      "": number
      Timestamp: number
      _fence: number
      ` + strings.Repeat("x", 201) + `: number
`, `furrow.yaml:5:7: pipeline live: sensors: sensor "9lives" cannot be the name of a property; want letters, digits and _, not a digit first
furrow.yaml:6:7: pipeline live: sensors: sensor "air temp" cannot be the name of a property; want letters, digits and _, not a digit first
furrow.yaml:7:7: pipeline live: sensors: sensor "" cannot be the name of a property; want letters, digits and _, not a digit first
furrow.yaml:8:7: pipeline live: sensors: sensor "Timestamp" is a key or the timestamp, which are no sensors; leave it out
furrow.yaml:9:7: pipeline live: sensors: sensor "_fence" has a name that outputs have for themselves; leave it out
furrow.yaml:10:7: pipeline live: sensors: sensor "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…" has a name of 201 bytes; want at most 200
`},
		{live + `    sensors:
      door: {type: state, unit: m}
      wind: {type: number, unit: ""}
      rain: {type: number, unit: a unit that is much too long}
`, `furrow.yaml:5:33: pipeline live: sensors: "door": unit "m" of what is state; want units of numbers only
furrow.yaml:6:34: pipeline live: sensors: "wind": unit ""; want a text of 1 to 20 characters that can be printed
furrow.yaml:7:34: pipeline live: sensors: "rain": unit "a unit that is much too long"; want a text of 1 to 20 characters that can be printed
`},
		{live + `    sensors:
      [sky]: number
`, `furrow.yaml:5:12: it is not YAML: found an invalid key for this map
`},
		{live + `    sensors: {q: state}
    quality: {sensor: q, good: [good]}
`, `furrow.yaml:5:23: pipeline live: quality: sensor "q" is among the sensors, too; leave it out there, as processors do not see it
`},
		{live + `    sensors:
      kwh: {type: number, counter: yes}
      door: {type: state, counter: true}
    position: {lat: a b}
`, `furrow.yaml:5:36: pipeline live: sensors: "kwh": counter "yes"; want true, of a number that falls only when it restarts from zero, or false
furrow.yaml:6:36: pipeline live: sensors: "door": counter of what is state; want numbers only
furrow.yaml:7:15: pipeline live: position: key "lon" is missing; want a map like {lat: latitude, lon: longitude}
furrow.yaml:7:21: pipeline live: position: sensor "a b" cannot be the name of a property; want letters, digits and _, not a digit first
`},
		{`pipelines:
  - name: live
    processors: [rate: {over: 25h}]
`, `furrow.yaml:3:31: pipeline live: rate: over "25h"; want a duration from 1m to 1d, in whole seconds, such as 90s, 5m, 1h or 1d
`},
		{live + "    quality: q\n", `furrow.yaml:4:14: pipeline live: quality: "q"; want a map like {sensor: quality, good: [good]}
`},
		{live + "    quality: {sensor: RowKey, good: []}\n", `furrow.yaml:4:23: pipeline live: quality: sensor "RowKey" is a key or the timestamp, which are no sensors; leave it out
furrow.yaml:4:37: pipeline live: quality: good: an empty list; want a list of the values that are good, such as [good, 192]
`},
		{live + "    quality: {good: good}\n", `furrow.yaml:4:14: pipeline live: quality: key "sensor" is missing; want a map like {sensor: quality, good: [good]}
furrow.yaml:4:21: pipeline live: quality: good: "good"; want a list of the values that are good, such as [good, 192]
`},
		{live + "    quality: {sensor: [q], good: [good, [x], good, true, \"true\"]}\n", `furrow.yaml:4:23: pipeline live: quality: sensor: a list; want the name of the sensor that tells the quality
furrow.yaml:4:41: pipeline live: quality: good: a list; want a list of the values that are good, such as [good, 192]
furrow.yaml:4:46: pipeline live: quality: good value "good" is there twice
furrow.yaml:4:58: pipeline live: quality: good value "true" is there twice
`},
	}
}

func TestWrongFilesAreToldAllThatIsWrongAndWhere(t *testing.T) {
	for _, c := range wrong() {
		got := ""
		if _, err := Parse("furrow.yaml", []byte(c.text)); err != nil {
			for _, p := range err.(Problems) {
				got += p.String() + "\n"
			}
		}
		if got != c.want {
			t.Errorf("of\n%s\nit is said\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

func TestOneProblemIsALineAndSeveralAreCounted(t *testing.T) {
	one := Problems{{"f", 1, 2, "a"}}
	if got := one.Error(); got != "f:1:2: a" {
		t.Errorf("one is %q", got)
	}
	if got := make(Problems, maxProblems).Count(); got != "1000 problems or more" {
		t.Errorf("as many as are said are %s", got)
	}
	if got := append(one, Problem{"f", 3, 4, "b"}).Error(); got != "the configuration has 2 problems:\nf:1:2: a\nf:3:4: b" {
		t.Errorf("two are %q", got)
	}
}

func TestFilesThatAreTooMuchAreRefusedSoon(t *testing.T) {
	aliases := "pipelines:\n  - name: a\n    processors:\n      - rollup: {windows: &w [" + strings.Repeat("1m, ", 2000) +
		"1h]}\n" +
		strings.Repeat("  - processors: [rollup: {windows: *w}]\n", 900)
	for what, c := range map[string]struct{ text, want string }{
		"bytes":    {strings.Repeat("#\n", maxFile/2+1), "1:1: the file has more than 983040 bytes"},
		"brackets": {"pipelines: " + strings.Repeat("[", 5000), "1:32: it is nested more than 20 deep"},
		"dashes":   {"pipelines:\n  " + strings.Repeat("- ", 5000), "2:43: it is nested more than 20 deep"},
		"words": {"pipelines:\n" + strings.Repeat("- a\n", maxTokens),
			"15001:1: the file has more than 30000 words and signs"},
		"aliases": {aliases, "1:1: the aliases of the file stand for more than 100000 values"},
	} {
		_, err := Parse("furrow.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), "furrow.yaml:"+c.want) || !strings.Contains(err.Error(),
			"which is the most that is read") {
			t.Errorf("too many %s: %.300v; want %q", what, err, c.want)
		}
	}
}
