package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"furrow/tables"
)

const kitchens = `
pipelines: [{name: live, processors: [latest]}]
models:
  fryer:
    match: {device: "fryer*"}
    sensors:
      data_oil: {as: oil, type: number, unit: °F, scale: 2}
      "data_*": {as: "*"}
      "metadata_*": ignored
    quality: {sensor: ok, good: [true]}
    heartbeat: oil == nil and mode == nil
  strict:
    sensors: {data_mode: number}
sensors: {debug: ignored}
`

// TestModelsAreTriedOnRowsThatAreStored: before a model is applied, people see what it makes of each value.
func TestModelsAreTriedOnRowsThatAreStored(t *testing.T) {
	f := newObservedFixture(t)
	d := newDevice("fryer-1", "acme", 2026, 11)
	var rows []tables.Entity
	for i, of := range []map[string]tables.Value{
		{"data_oil": tables.String("59.5"), "metadata_id": tables.Int32(1), "ok": tables.Boolean(true)},
		{"data_oil": tables.String("off"), "data_mode": tables.String("idle"), "plain": tables.Int32(7)},
		{"battery": tables.Int32(9)},
	} {
		e := reading("fryer-1", f.begin.Add(time.Duration(i)*time.Minute), 0)
		e.Properties = nil
		for _, name := range []string{"battery", "data_mode", "data_oil", "metadata_id", "ok", "plain"} {
			if v, ok := of[name]; ok {
				e.Set(name, v)
			}
		}
		rows = append(rows, e)
	}
	f.add(d, rows...)
	file := t.TempDir() + "/site.yaml"
	must(t, os.WriteFile(file, []byte(kitchens), 0o600))
	for _, c := range []struct {
		flags, want, sum string
	}{
		{"--device fryer-1", `
battery,9,,,heartbeat
data_mode,idle,mode,idle,renamed
plain,7,plain,7,kept
data_oil,,,,rejected: it is no number
data_oil,59.5,oil,119,renamed
metadata_id,1,,,ignored
ok,true,,,quality`, "model fryer: 3 rows; values kept 1, renamed 2, ignored 1, missing 0, of heartbeats 1, rejected 1"},
		{"--device fryer-1 --rows 2 --model strict", `
battery,9,battery,9,kept
data_oil,off,data_oil,off,kept
plain,7,plain,7,kept
data_mode,,,,rejected: it is no number`, "model strict: 2 rows; values kept 3, renamed 0, ignored 0, missing 0, of heartbeats 0, rejected 1"},
	} {
		out, errs := f.both("model try --format csv "+c.flags, file)
		var got strings.Builder
		for _, line := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
			cells := strings.Split(line, ",")
			got.WriteString("\n" + strings.Join(cells[1:len(cells)-1], ","))
		}
		if got.String() != c.want || !strings.Contains(errs, c.sum) {
			t.Errorf("model try %s:%s\n%s\nwant%s\n%s", c.flags, got.String(), errs, c.want, c.sum)
		}
	}
	if out := f.must("model list --format csv " + file); !strings.Contains(out,
		`fryer,device fryer*,3,wide`) ||
		!strings.Contains(out, "\n,,1,wide\n") {
		t.Errorf("model list: %s", out)
	}
	if out := f.must("model show fryer --config " + file); !strings.Contains(out, "  fryer:\n    match:\n") {
		t.Errorf("model show: %s", out)
	}
	f.refused(exitFailed, `there is no model "frier"; there are fryer, strict`, "model show frier --config", file)
	f.refused(exitFailed, `there is no model "x"; the configuration has none`, "model show x")
	f.refused(exitFailed, `there is no model "x"`, "model try --device fryer-1 --model x", file)
	f.refused(exitUsage, "name the device with --device", "model try", file)
	f.refused(anyFailure, "no-such", "model try --device no-such", file)
}
