package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
)

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("furrow.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

// everything is a file with all keys.
const everything = `
pipelines:
  - name: live
    cadence: 90s
    batch: 99
    settle: 20s
    processors:
      - latest: {}
      - rollup: {windows: [1d, 15m, 60s]}
  - name: slow
    cadence: 2d
    processors: [rollup: {windows: [1h]}, rate: {over: 90m}]
  - name: keep
    processors:
      - archive: {closeAfter: 6h, every: 1h}
sensors: &sensors
  door: state
  temperature: {type: number, unit: °C}
  "debug": ignored
  kwh: {type: number, counter: true}
quality: {sensor: q, good: [good, 192, true, 1.50, "1.50"]}
position: {lat: gps_lat, lon: gps_lon}
sequence: fCnt
models:
  zulu:
    match: {labels.class: Fryer, tenant: [contoso, "1"], device: "fryer:*", site: s, enrollment: e}
    sensors:
      data_oil: {as: oil, type: number, unit: "°F", scale: 1.8, offset: -32}
      "data_*": {as: "*"}
      "*_raw": ignored
      "*": state
    heartbeat: 'oil == nil && action == nil'
  alpha:
    match:
      tenant: contoso
    sensors: *sensors
    long: {name: tagName, value: value}
    quality: {sensor: q, good: [true]}
    position: {lat: y, lon: x}
    sequence: rx_fCnt
  stated: {}
reports: {windows: [1h, 1d], by: [site]}
retention:
  - {match: {model: zulu, labels.class: Fryer}, where: 'oil == nil', readings: 14d, rollups: {60s: 14d, 1h: forever}}
  - {match: {tenant: contoso}, readings: 30d, rejects: 30d, commands: 90d, incidents: 365d, activity: forever}
  - {readings: 30d, buckets: {1h: 9d}, reports: {1h: 730d, 1d: forever}, incidents: 365d, activity: 2w, archive: 60d}
`

func TestShownConfigurationParsesToTheSame(t *testing.T) {
	for _, want := range []*Config{Default(), mustParse(t, everything)} {
		for form, show := range map[string]func() ([]byte, error){"YAML": want.YAML, "JSON": want.JSON} {
			text := must.Have(show())(t)
			if got := mustParse(t, string(text)); !reflect.DeepEqual(got, want) {
				t.Errorf("as %s it is\n%s\nwhich parses to %+v; want %+v", form, text, got, want)
			}
		}
	}
}

// TestFormOfAShownConfigurationStays: people compare what config show prints, and programs read it.
func TestFormOfAShownConfigurationStays(t *testing.T) {
	want := string(must.Have(os.ReadFile("testdata/shown.yaml"))(t))
	c := mustParse(t, want)
	if got := string(must.Have(c.YAML())(t)); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
	want = string(must.Have(os.ReadFile("testdata/shown.json"))(t))
	if got := string(must.Have(c.JSON())(t)) + "\n"; got != want {
		t.Errorf("as JSON it is\n%s\nwant\n%s", got, want)
	}
}

func TestMissingKeysHaveDefaults(t *testing.T) {
	got := mustParse(t, `
pipelines:
  - {name: live, processors: [latest, rollup]}
  - name: archive
    cadence: 1h
    processors:
      - archive:
`)
	if want := Default(); !reflect.DeepEqual(got, want) {
		t.Errorf("it is %+v; want %+v", got, want)
	}
}

func TestLoadReadsTheNamedFileOrTheUsualOneOrTheDefault(t *testing.T) {
	t.Chdir(t.TempDir())
	if c, err := Load(""); err != nil || !reflect.DeepEqual(c, Default()) {
		t.Errorf("without a file: %+v, %v; want the default", c, err)
	}
	if _, err := Load(DefaultPath); err == nil || !strings.Contains(err.Error(), "furrow config init") {
		t.Errorf("a missing file: %v; want an error that says what to do", err)
	}
	write(t, DefaultPath, "pipelines: [{name: there, processors: [latest]}]")
	if c, err := Load(""); err != nil || c.Pipelines[0].Name != "there" {
		t.Errorf("with ./%s: %+v, %v", DefaultPath, c, err)
	}
	write(t, "named", "pipelines: [{name: named, processors: [latest]}]")
	if c, err := Load("named"); err != nil || c.Pipelines[0].Name != "named" {
		t.Errorf("a named file: %+v, %v", c, err)
	}
	write(t, "long", "pipelines: [{name: long, processors: [latest]}]"+strings.Repeat("\n", maxFile))
	if _, err := Load("long"); err == nil || !strings.Contains(err.Error(), "long:1:1: the file has more than") {
		t.Errorf("a long file: %v", err)
	}
	if _, err := Load(filepath.Dir(".")); err == nil {
		t.Error("a directory is read")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
}
