package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// plain is a text of CSV without what keeps spreadsheets from running it.
func plain(s string) string { return strings.TrimPrefix(s, "'") }

func TestRawReadingsAreTheStoredRows(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	for args, devices := range map[string][]schema.DeviceID{
		"contoso:us-1:b": {"contoso:us-1:b"}, "--prefix=contoso:us-1": {"contoso:us-1:a",
			"contoso:us-1:b"}, "contoso:us-2:c": {"contoso:us-2:c"},
	} {
		var want, got []string
		for _, id := range devices {
			for _, e := range f.rows[id] {
				slices.SortFunc(e.Properties, func(a, b tables.Property) int { return strings.Compare(a.Name, b.Name) })
				for _, p := range e.Properties {
					want = append(want, fmt.Sprint(id, "|", e.RowKey, "|", p.Name, "|", number(p.Value)))
				}
			}
		}
		for _, r := range csvRecords(t, f.query(append(f.span(), "--raw", args)...)) {
			got = append(got, fmt.Sprint(plain(r["device"]), "|", r["row"], "|", r["sensor"], "|", valueOf(r)))
			if key, err := schema.ParseRowKey(r["row"]); err == nil &&
				r["time"] != key.Ticks.Time().Format("2006-01-02T15:04:05.0000000Z") || err != nil &&
				r["time"] != "" {
				t.Fatalf("the time of %s is %q", r["row"], r["time"])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d values, want %d, or they differ", args, len(got), len(want))
		}
	}
}

func TestSpanHasItsBeginningAndNotItsEnd(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	rows := f.rows["fabrikam:x"]
	from, to := rows[100].RowKey[:19], rows[300].RowKey[:19] // ticks are times, too
	var want, got []string
	for _, e := range rows {
		if e.RowKey >= from && e.RowKey < to {
			want = append(want, e.RowKey)
		}
	}
	for _, r := range csvRecords(t, f.query("fabrikam:x", "--raw", "--sensors=door", "--from", from, "--to", to)) {
		got = append(got, r["row"])
	}
	if !slices.Equal(got, want) {
		t.Errorf("there are %d readings, want %d", len(got), len(want))
	}
}

// valueOf returns the value of a line of CSV, a temperature by its bits.
func valueOf(r map[string]string) string {
	value := r["value"] + plain(r["text"])
	if v, err := strconv.ParseFloat(value, 64); err == nil && r["sensor"] == "temperature" {
		return fmt.Sprint(math.Float64bits(v))
	}
	return value
}

// number formats a value, a double by its bits.
func number(v tables.Value) string {
	if v.Type() == tables.TypeDouble {
		return fmt.Sprint(math.Float64bits(v.Float()))
	}
	return v.String()
}

func TestLatestIsTheNewestOfEverySensor(t *testing.T) {
	f := newOddFleet(t)
	for args, devices := range map[string][]schema.DeviceID{
		"contoso:us-1:b": {"contoso:us-1:b"}, "--prefix=contoso:us-1": {"contoso:us-1:a", "contoso:us-1:b"},
		"--tenant=contoso": {"contoso:us-1:a", "contoso:us-1:b", "contoso:us-2:c", "-2:odd"},
	} {
		want, got := map[string]string{}, map[string]string{}
		for _, id := range devices {
			for _, e := range f.rows[id] {
				key, err := schema.ParseRowKey(e.RowKey)
				if err != nil {
					continue
				}
				for _, p := range e.Properties {
					if p.Value.Text() != "nan" {
						want[fmt.Sprint(id, "|", p.Name)] = fmt.Sprint(key.Ticks.Time().Format("2006-01-02T15:04:05.0000000Z"), "|",
							number(p.Value))
					}
				}
			}
		}
		for _, r := range csvRecords(t, f.query("--latest", args)) {
			got[plain(r["device"])+"|"+r["sensor"]] = r["time"] + "|" + valueOf(r)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s is\n%v\nwant\n%v", args, got, want)
		}
	}
}

func TestNothingInCSVRunsInASpreadsheet(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	hostile := 0
	for _, args := range [][]string{{"--raw", "--prefix=-"}, {"--raw", "--prefix=c"}, {"--window=1h", "--prefix=-"},
		{"--window=1h", "--tenant=contoso"}} {
		for _, r := range csvRecords(t, f.query(append(f.span(), args...)...)) {
			for name, field := range r {
				if _, err := strconv.ParseFloat(field, 64); err == nil || field == "" {
					continue
				}
				if strings.ContainsRune("=+-@\t\r\n", rune(field[0])) {
					t.Fatalf("%s is %q", name, field)
				}
				if field[0] == '\'' {
					hostile++
				}
			}
		}
	}
	if hostile == 0 {
		t.Error("there was nothing hostile in it")
	}
}

func TestEveryFormatHasTheSameValues(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	for kind, args := range map[string][]string{
		"raw": append(f.span(), "--raw", "contoso:us-1:a"), "rollups": append(f.span(), "--window=1h",
			"contoso:us-1:a"), "latest": {"--latest", "contoso:us-1:a"},
	} {
		lines := len(csvRecords(t, f.query(append(args, "--format=csv")...)))
		table := strings.Split(strings.TrimSuffix(f.query(append(args, "--format=table")...), "\n"), "\n")
		if len(table) != lines+1 || !strings.HasPrefix(table[0], "DEVICE ") {
			t.Errorf("%s: a table of %d lines for %d of CSV, that begins with %q", kind, len(table), lines, table[0])
		}
		for _, line := range table {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) {
				t.Fatalf("%s: %q does something to a terminal", kind, line)
			}
		}
		sensors := 0
		for line := range strings.Lines(f.query(append(args, "--format=jsonl")...)) {
			var object struct {
				Device, Time    string
				Values, Sensors map[string]any
			}
			must(t, json.Unmarshal([]byte(line), &object))
			sensors += len(object.Values) + len(object.Sensors)
			if object.Device != "contoso:us-1:a" {
				t.Fatalf("%s: the device is %q", kind, object.Device)
			}
		}
		if sensors != lines {
			t.Errorf("%s: %d sensors in JSON, %d lines of CSV", kind, sensors, lines)
		}
	}
}

func TestJSONLinesAreStable(t *testing.T) {
	f := newObservedFixture(t)
	at := tables.TicksOf(time.Date(2025, 11, 1, 10, 30, 0, 500, time.UTC))
	e := tables.Entity{PartitionKey: "d", RowKey: at.String() + "-b"}
	for name, v := range map[string]tables.Value{
		"double": tables.Double(1e6), "int": tables.Int64(math.MaxInt64), "bool": tables.Boolean(true),
		"text": tables.String("a\nb"), "bytes": tables.Binary([]byte{1, 2}), "nan": tables.Double(math.NaN()),
		"time": tables.DateTime(at), "id": tables.GUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
	} {
		e.Set(name, v)
	}
	f.add(newDevice("d", "t", 2026, 11), e)
	f.fold()
	span := []string{"d", "--format=jsonl", "--from=2025-11-01", "--to=2025-11-02"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(span, "--raw"), `{"device":"d","time":"2025-11-01T10:30:00.0000005Z","values":{"bool":true,"bytes":"AQI=","double":1000000,"id":"c9da6455-213d-42c9-9a79-3e9149a57833","int":9223372036854775807,"nan":"NaN","text":"a\nb","time":"2025-11-01T10:30:00.0000005Z"},"row":"0638975898000000005-b"}`},
		{append(span, "--window=1h", "--sensors=double"), `{"device":"d","time":"2025-11-01T10:00:00Z","sensors":{"double":{"count":1,"sum":1000000,"min":1000000,"max":1000000,"first":1000000,"last":1000000,"mean":1000000}},"tenant":"t","window":"1h"}`},
		{[]string{"d", "--latest", "--format=jsonl", "--sensors=text,double"},
			`{"device":"d","sensors":{"double":{"time":"2025-11-01T10:30:00.0000005Z","value":1000000},"text":{"time":"2025-11-01T10:30:00.0000005Z","value":"a\nb"}}}`},
	} {
		if got := f.query(c.args...); got != c.want+"\n" {
			t.Errorf("%q gives\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
}

func TestSensorsAndLimit(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	for _, args := range [][]string{{"--raw"}, {"--window=1h"}, {"--latest"}} {
		if args[0] != "--latest" {
			args = append(args, f.span()...)
		}
		all := csvRecords(t, f.query(append(args, "contoso:us-1:a")...))
		var want []map[string]string
		for _, r := range all {
			if r["sensor"] == "humidity" {
				want = append(want, r)
			}
		}
		got := csvRecords(t, f.query(append(args, "contoso:us-1:a", "--sensors", "humidity,nothing")...))
		if len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %d of humidity, want %d", args, len(got), len(want))
		}
		n := min(3, len(want))
		got = csvRecords(t, f.query(append(args, "contoso:us-1:a", "--sensors", "humidity", "--limit", "3")...))
		if fmt.Sprint(got) != fmt.Sprint(want[:n]) {
			t.Errorf("%q: the first 3 are %v", args, got)
		}
	}
}

// stopper presses Ctrl-C at the first line.
type stopper struct {
	io.Writer
	stop func()
}

func (s stopper) Write(p []byte) (int, error) {
	s.stop()
	return s.Writer.Write(p)
}

// TestStoppedQueryIsNoFailure: stopped by Ctrl-C, or by a reader that has enough, such as head.
func TestStoppedQueryIsNoFailure(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	line := append(strings.Fields("furrow query --raw --prefix=c --format=table --storage"), f.storage)
	line = append(line, f.span()...)
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	code := run(ctx, line, nil, stopper{&out, cancel}, &errs)
	if code != exitOK || !strings.Contains(errs.String(), "stopped before the end") || out.Len() == 0 {
		t.Errorf("Ctrl-C: exit %d, %s", code, &errs)
	}
	reader, pipe, err := os.Pipe()
	must(t, err)
	must(t, reader.Close())
	errs.Reset()
	if code := run(t.Context(), line, nil, pipe, &errs); code != exitOK || errs.Len() > 0 {
		t.Errorf("closed pipe: exit %d, %s", code, &errs)
	}
	must(t, pipe.Close())
}

// TestRawSelectsWhatTheModelMeans: a nested value and a value in long form are selected by the name of their sensor,
// and shown as they were sent.
func TestRawSelectsWhatTheModelMeans(t *testing.T) {
	f := newFixture(t)
	f.createTables()
	at := tables.TicksOf(time.Now().Add(-time.Minute))
	nested := tables.Entity{PartitionKey: "nested", RowKey: at.String()}
	nested.Set("data", tables.String(`{"t":215}`))
	long := tables.Entity{PartitionKey: "tall", RowKey: at.String()}
	long.Set("tag", tables.String("temperature"))
	long.Set("reading", tables.Double(21.5))
	other := tables.Entity{PartitionKey: "tall", RowKey: at.Add(time.Second).String()}
	other.Set("tag", tables.String("speed"))
	other.Set("reading", tables.Double(3))
	wide, tall := newDevice("nested", "acme", 2026, 11), newDevice("tall", "acme", 2026, 11)
	wide.Model, tall.Model = "wide", "tall"
	f.add(wide, nested)
	f.add(tall, long, other)
	file := t.TempDir() + "/site.yaml"
	writeFile(t, file, `
pipelines: [{name: live, processors: [latest]}]
models:
  wide: {sensors: {data_t: {as: temperature, type: number, unit: °C, scale: 0.1}}}
  tall: {long: {name: tag, value: reading}}
`)
	f.must("config apply", file)
	for device, want := range map[string]string{"nested": "data_t=215", "tall": "temperature=21.5"} {
		raw := csvRecords(t, f.must("query --raw --format csv --sensors temperature", device))
		if len(raw) != 1 || raw[0]["sensor"]+"="+raw[0]["value"]+raw[0]["text"] != want || raw[0]["unit"] != "" {
			t.Errorf("%s: %v, want %s", device, raw, want)
		}
	}
	f.says(",speed,3,", "query tall --raw --sensors speed --format csv")
	f.says(`"values":{"data_t":215}`, "query nested --raw --sensors temperature --json")
	f.add(newDevice("plain", "acme", 2026, 11), tables.Entity{PartitionKey: "plain", RowKey: at.String(),
		Properties: []tables.Property{{Name: "data", Value: tables.String(
			`{"n":215,"f":-1.5e2,"text":"8","yes":true,"big":9007199254740993,"huge":1e999}`)}}})
	f.says(`"values":{"data_big":9007199254740993,"data_f":-150,"data_huge":"1e999","data_n":215,"data_text":"8",`+
		`"data_yes":true}`, "query plain --raw --json --sensors data_n,data_f,data_text,data_yes,data_big,data_huge")
}

// TestNewestValuesSayWhenADeviceWasHeard: also that it is overdue, and that a new one has not sent.
func TestNewestValuesSayWhenADeviceWasHeard(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must("enrollment add plant1 --tenant acme --send-every 1h")
	f.must("device add pump-7 --enrollment plant1")
	_, errs := f.both("query pump-7 --latest")
	if !strings.Contains(errs, "pump-7 is new: it has not sent a reading yet") {
		t.Errorf("of a new device: %s", errs)
	}
	heard := time.Now().Add(-5 * time.Hour).UTC().Truncate(time.Second)
	_, err := f.client.Table("readings").Do(t.Context(), tables.Insert(oil("pump-7", heard, 20)))
	must(t, err)
	if _, errs = f.both("query pump-7 --latest"); !strings.Contains(errs, "has to fold readings first") {
		t.Errorf("before a run: %s", errs)
	}
	f.must("schedule --once --pipeline live")
	f.work()
	due := heard.Add(3 * time.Hour).Format(time.RFC3339)
	_, errs = f.both("query pump-7 --latest --format table")
	if !strings.Contains(errs, "pump-7 was last heard at "+heard.Format(time.RFC3339)+"; it is overdue since "+due) {
		t.Errorf("of a silent device: %s", errs)
	}
	if out := f.must("query pump-7 --latest --json"); !strings.Contains(out, `"overdueSince":"`+due+`"`) {
		t.Errorf("as JSON: %s", out)
	}
}

// TestADeviceIsNotSilentBeforeItsReadingsAreFolded has a device that is silent since three minutes ago, if what it sent
// since the last run five minutes ago does not count, and one that was silent by then.
func TestADeviceIsNotSilentBeforeItsReadingsAreFolded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createTables()
	f.must("enrollment add plant1 --tenant acme --send-every 3m")
	now := time.Now()
	for name, heard := range map[schema.DeviceID]time.Duration{"pump-7": 12 * time.Minute, "pump-8": 22 * time.Minute} {
		d := newDevice(name, "acme", 2026, 11)
		d.Enrollment = "plant1"
		f.add(d, reading(name, now.Add(-heard), 20))
	}
	f.fold()
	f.largeRun(now.Add(-5*time.Minute), 2)
	if out := f.must("query pump-7 --latest --json"); strings.Contains(out, "overdueSince") {
		t.Errorf("before what it sent is folded: %s", out)
	}
	if out := f.must("query pump-8 --latest --json"); !strings.Contains(out, "overdueSince") {
		t.Errorf("of a silent device: %s", out)
	}
	out := f.must("query --outliers --json")
	if strings.Contains(out, "pump-7") || !strings.Contains(out, "pump-8") {
		t.Errorf("devices that stand out: %s", out)
	}
}
