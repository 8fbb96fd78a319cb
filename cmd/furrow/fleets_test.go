package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"furrow/cmd/internal/config"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// documents returns the rows of a file of the simulated fleets: what devices of that fleet send.
func documents(t *testing.T, file string) (rows [][]tables.Property) {
	t.Helper()
	text, err := os.ReadFile("../internal/lab/simulate/fleets/documents/" + file)
	must(t, err)
	if strings.HasSuffix(file, ".csv") {
		lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		must(t, err)
		for _, line := range lines[1:] {
			var row []tables.Property
			for i, name := range lines[0] {
				row = append(row, tables.Property{Name: name, Value: tables.String(line[i])})
			}
			rows = append(rows, row)
		}
		return rows
	}
	for d := jsontext.NewDecoder(bytes.NewReader(text)); ; {
		var members map[string]jsontext.Value
		if err := json.UnmarshalDecode(d, &members); err != nil {
			return rows
		}
		var row []tables.Property
		for _, name := range slices.Sorted(maps.Keys(members)) {
			row = append(row, tables.Property{Name: name, Value: sentAs(t, members[name])})
		}
		rows = append(rows, row)
	}
}

// sentAs is the value of a property for a JSON value. Storage refuses objects, so devices send them as text.
func sentAs(t *testing.T, v jsontext.Value) tables.Value {
	t.Helper()
	var text string
	var number float64
	switch v.Kind() {
	case '"':
		must(t, json.Unmarshal(v, &text))
		return tables.String(text)
	case '0':
		must(t, json.Unmarshal(v, &number))
		return tables.Double(number)
	}
	return tables.String(string(v))
}

// TestFiveFleetsAreReadAsTheirUsersExpect with the configurations of config init --example.
func TestFiveFleetsAreReadAsTheirUsersExpect(t *testing.T) {
	for _, c := range []struct{ example, file, want string }{
		{"temperatures", "temperatures.jsonl", "temperature=68 °F; temperature=72 °F; temperature=70 °F; temperature=50 °F"},
		{"oil", "oil.csv", "temperature=119.5 °C; rpm=1800 1/min; vibration=55.2?; temperature=121.5 °C"},
		{"bottles", "bottles.jsonl", "action=opened mass_of_contents=45.9 g number_of_pills=27; " +
			"action=closed mass_of_contents=44.25 g number_of_pills=25 pills_taken=2; "},
		{"ground", "ground.jsonl", "temperature_10cm=11 °C temperature_50cm=9.4 °C; " +
			"temperature_10cm=11.5 °C temperature_50cm=9.4 °C; temperature_10cm=13 °C temperature_50cm=9.5 °C"},
	} {
		model := exampleModel(t, c.example)
		var rows []string
		for _, row := range documents(t, c.file) {
			rows = append(rows, sampled(t, model, row))
		}
		if got := strings.Join(rows, "; "); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.example, got, c.want)
		}
	}
}

// TestKitchenHasTheSensorsOfItsData and of nothing around it.
func TestKitchenHasTheSensorsOfItsData(t *testing.T) {
	sensors := exampleModel(t, "kitchens").Meant()
	sample, refused := sensors.Sample(schema.Reading{Properties: documents(t, "kitchen.json")[0]})
	numbers := map[string]float64{}
	var states []string
	for _, v := range sample.Values {
		if v.Is == fold.Number {
			numbers[v.Sensor] = v.Number
		} else {
			states = append(states, v.Sensor+"="+v.State)
		}
	}
	slices.Sort(states)
	if len(refused) > 0 || len(numbers) != 32 || numbers["boardTemp"] != 78.8 || numbers["oilProbeTemp"] != 118.9 ||
		strings.Join(states, " ") != "leftMenuItemString=MANUAL powerCycleID=213876154 rightMenuItemString=MANUAL" {
		t.Errorf("%d numbers %v, states %q, refused %v", len(numbers), numbers, states, refused)
	}
}

// exampleModel returns the only model of a ready configuration, as config init writes it.
func exampleModel(t *testing.T, name string) *config.Model {
	t.Helper()
	file := t.TempDir() + "/" + name + ".yaml"
	if code, _, errs := furrow(t.Context(), "config", "init", "--example", name, file); code != exitOK {
		t.Fatal(errs)
	}
	loaded, err := config.Load(file)
	must(t, err)
	return loaded.Model(schema.Member{})
}

// sampled formats what a row becomes, with units, and a question mark where it is doubtful.
func sampled(t *testing.T, m *config.Model, row []tables.Property) string {
	t.Helper()
	sensors := m.Meant()
	sample, refused := sensors.Sample(schema.Reading{Properties: row})
	var all []string
	for _, v := range sample.Values {
		text := v.Sensor + "=" + v.State
		if v.Is == fold.Number {
			text = strings.TrimSpace(fmt.Sprintf("%s=%v %s", v.Sensor, v.Number, m.Unit(v.Sensor)))
		}
		if v.Doubtful {
			text += "?"
		}
		all = append(all, text)
	}
	for _, r := range refused {
		all = append(all, "refused "+r.Sensor+": "+r.Reason)
	}
	return strings.Join(all, " ")
}
