package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
)

const measured = `
pipelines:
  - name: live
    processors:
      - latest
      - rollup: {windows: [1m, 1h, 1d]}
sensors:
  door: state
  temperature: {type: number, unit: °C}
quality: {sensor: q, good: [good, 192]}
`

// live returns the settings of the first pipeline of a text, for devices of no model.
func live(t *testing.T, text string) string {
	t.Helper()
	p := mustParse(t, text).Pipelines[0]
	return p.Settings(&p.Models[len(p.Models)-1])
}

// settings returns those of the only pipeline of a text, by processor.
func settings(t *testing.T, text string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for part := range strings.SplitSeq(live(t, text), ",") {
		name, sum, _ := strings.Cut(part, ":")
		all[name] = sum
	}
	return all
}

func TestSettingsDoNotDependOnTheFormOfTheFile(t *testing.T) {
	want := live(t, measured)
	for what, text := range map[string]string{
		"another form": `{"pipelines": [{"processors": [{"rollup": {"windows": ["24h", "60s", "1h"]}}, "latest"], "name": "live"}],
			"quality": {"good": ["192", "good"], "sensor": "q"}, "sensors": {"temperature": {"type": "number"}, "door": {"type": "state"}}}`,
		"comments":     strings.ReplaceAll(measured, "\n", " # a comment\n"),
		"another unit": strings.Replace(measured, "°C", "K", 1),
		"another name": strings.Replace(measured, "live", "other", 1),
		"another cadence": strings.Replace(measured, "    processors",
			"    cadence: 1h\n    batch: 7\n    settle: 1m\n    processors", 1),
	} {
		for range 20 { // maps have no order
			if got := live(t, text); got != want {
				t.Fatalf("with %s they are %s; want %s", what, got, want)
			}
		}
	}
}

func TestSettingsChangeWithTheOutputs(t *testing.T) {
	before := settings(t, measured)
	for what, c := range map[string]struct {
		text    string
		changed []string
	}{
		"windows":        {strings.Replace(measured, "1h, ", "", 1), []string{"rollup"}},
		"a sensor less":  {strings.Replace(measured, "  door: state\n", "", 1), []string{"latest", "rollup"}},
		"a sensor's":     {strings.Replace(measured, "door: state", "door: number", 1), []string{"latest", "rollup"}},
		"an ignored one": {strings.Replace(measured, "door: state", "door: ignored", 1), []string{"latest", "rollup"}},
		"what is missing": {strings.Replace(measured, "door: state", "door: {type: state, missing: [-1]}", 1),
			[]string{"latest", "rollup"}},
		"quality":      {strings.Replace(measured, "sensor: q,", "sensor: flag,", 1), []string{"latest", "rollup"}},
		"what is good": {strings.Replace(measured, ", 192", "", 1), []string{"latest", "rollup"}},
	} {
		var changed []string
		for name, sum := range settings(t, c.text) {
			if sum != before[name] {
				changed = append(changed, name)
			}
		}
		if slices.Sort(changed); !slices.Equal(changed, c.changed) {
			t.Errorf("with another %s, those of %q change; want %q", what, changed, c.changed)
		}
	}
}

func TestCountersAndThePositionChangeRatesAlone(t *testing.T) {
	with := strings.Replace(measured, "      - latest\n", "      - latest\n      - rate\n", 1)
	before := settings(t, with)
	for _, text := range []string{with + "position: {lat: lat, lon: lon}\n",
		strings.Replace(with, "unit: °C", "counter: true", 1),
		strings.Replace(with, "unit: °C", "counter: {max: 65535}", 1)} {
		after := settings(t, text)
		if after["rate"] == before["rate"] || after["latest"] != before["latest"] || after["rollup"] != before["rollup"] {
			t.Errorf("they are %v and %v", before, after)
		}
	}
}

// TestSensorsThatHideAPatternChangeTheOutputs: the pattern no longer says what their properties mean, even if they have
// nothing but a unit. Other sensors with nothing but a unit change no output.
func TestSensorsThatHideAPatternChangeTheOutputs(t *testing.T) {
	const text = "pipelines: [{name: live, processors: [latest, rollup]}]\nsensors:\n"
	const ignored, short, plain = "  \"debug_*\": ignored\n", "  \"*_raw\": number\n", "  \"t_*\": {unit: °C}\n"
	for _, c := range []struct {
		before, more string
		changes      bool
	}{
		{ignored, "  debug_volts: {unit: V}\n", true},
		{ignored, "  debug_volts: {counter: true}\n", true},
		{ignored, "  volts: {unit: V}\n", false},
		{ignored, "  debug: {unit: V}\n", false},
		{ignored, "  \"debug_t_*\": {unit: °C}\n", true},
		{ignored, "  \"debug_*_t\": {unit: °C}\n", true},
		{ignored, plain, false},
		{ignored, "  \"debu*\": {unit: °C}\n", false},
		{short, "  \"t_long_*\": {unit: °C}\n", true},
		{plain, "  t_air: {unit: K}\n", false},
	} {
		if got := live(t, text+c.before) != live(t, text+c.before+c.more); got != c.changes {
			t.Errorf("to\n%s%schanges the settings: %v", c.before, c.more, got)
		}
	}
}

// TestTwoCountersOfOneNameAreOne whatever the order in which a map gives their properties: if each process took another
// one, history would be folded again for ever.
func TestTwoCountersOfOneNameAreOne(t *testing.T) {
	const text = `
pipelines: [{name: live, processors: [latest, rate]}]
sensors:
  kwh: {as: energy, unit: kWh, counter: true}
  wh: {as: energy, unit: Wh, scale: 0.001, counter: {max: 65535}}
`
	want := settings(t, text)
	for range 50 { // maps have no order
		if got := settings(t, text); !maps.Equal(got, want) {
			t.Fatalf("the settings are %v and %v", got, want)
		}
		if unit := mustParse(t, text).Models[0].Unit("energy"); unit != "kWh" {
			t.Fatalf("the unit is %s", unit)
		}
	}
}

func TestUnitOfManyModelsIsTheOneThatTheyAgreeOn(t *testing.T) {
	p := mustParse(t, `
pipelines: [{name: live, processors: [latest]}]
sensors: {oil: state}
models:
  paris: {match: {site: paris}, sensors: {oil: {unit: °C}, power: {unit: kW}}}
  boston: {match: {site: boston}, sensors: {oil: {unit: °F}, power: {unit: kW}}}
`).Pipelines[0]
	for _, c := range []struct {
		sensor, want string
		models       []string
	}{{"oil", "", nil}, {"oil", "°C", []string{"paris"}}, {"oil", "°F", []string{"boston"}}, {"oil", "", []string{""}},
		{"power", "kW", nil}, {"power", "", []string{""}}, {"rpm", "", nil}} {
		if unit := p.Unit(c.sensor, c.models...); unit != c.want {
			t.Errorf("%s of models %q has the unit %q, want %q", c.sensor, c.models, unit, c.want)
		}
	}
}

func TestSequenceChangesNoOutput(t *testing.T) {
	if a, b := settings(t, measured), settings(t, measured+"sequence: fCnt\n"); !maps.Equal(a, b) {
		t.Errorf("they are %v and %v", a, b)
	}
}

// A change of these values folds every device of every fleet again.
func TestSettingsOfTheDefaultNeverChange(t *testing.T) {
	for edition, rollups := range map[Edition]string{Minutes: "571b24aa7c85", Newest: "aa83121c6688"} {
		for i, want := range []string{"latest:d559e8c04c7c,rollup:" + rollups, "archive:366ae21e8d1d"} {
			if got := edition.Default().Pipelines[i].Settings(&Model{}); got != want {
				t.Errorf("in edition %d they are %s; want %s", edition, got, want)
			}
		}
	}
}

// TestWindowsThatAreNotNamedAreThoseOfTheEdition in whichever form they are left out.
func TestWindowsThatAreNotNamedAreThoseOfTheEdition(t *testing.T) {
	for edition, windows := range map[Edition]string{Minutes: "[1m, 1h, 1d]", Newest: "[15m, 1h, 1d]"} {
		named := strings.Replace(measured, "[1m, 1h, 1d]", windows, 1)
		want := must.Have(edition.Parse("named", []byte(named)))(t).Pipelines[0].Settings(&Model{})
		for _, left := range []string{"rollup", "rollup:", "rollup: {}"} {
			text := strings.Replace(measured, "rollup: {windows: [1m, 1h, 1d]}", left, 1)
			got := must.Have(edition.Parse("left out", []byte(text)))(t).Pipelines[0].Settings(&Model{})
			if got != want {
				t.Errorf("with %q in edition %d they are %s; want %s", left, edition, got, want)
			}
		}
	}
}

// TestNewFormatOfAProcessorFoldsAgainOnceTheFleetHasIt: until then, two versions of the program fold alike.
func TestNewFormatOfAProcessorFoldsAgainOnceTheFleetHasIt(t *testing.T) {
	p := mustParse(t, measured).Pipelines[0]
	old := p.Settings(&p.Models[0])
	newer := *p.Processors[0].Processor
	newer.Formats = []int{1, 2}
	p.Processors[0].Processor = &newer
	if got := p.Settings(&p.Models[0]); got != old {
		t.Errorf("in a fleet of format 1 they are %s, want %s", got, old)
	}
	p.Format = 2
	now := strings.Split(p.Settings(&p.Models[0]), ",")
	changed := 0
	for i, was := range strings.Split(old, ",") {
		if now[i] != was {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("in a fleet of format 2 they are %v, before %s", now, old)
	}
}

// TestLimitsAreNumbersOrLabels as a file has them.
func TestLimitsAreNumbersOrLabels(t *testing.T) {
	const file = "pipelines: [{name: live, processors: [latest, rules]}]\n" +
		"rules: {hot: {when: {threshold: {sensor: oil, above: %s}}}}\n"
	for text, want := range map[string]string{"190": "oil above 190", "0": "oil above 0",
		"labels.max": "oil above labels.max"} {
		c := must.Have(Parse("site.yaml", fmt.Appendf(nil, file, text)))(t)
		if got := c.Rules[0].When.String(); got != want {
			t.Errorf("above %s is %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"labels.", "much", ".inf"} {
		if _, err := Parse("site.yaml", fmt.Appendf(nil, file, text)); err == nil ||
			!strings.Contains(err.Error(), "want a number, such as 190 or -0.5, or labels.NAME") {
			t.Errorf("above %s: %v", text, err)
		}
	}
}
