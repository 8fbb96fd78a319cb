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

// A bucket is the rollup of a device, a sensor and a time.
type bucket struct {
	device, time, sensor               string
	count                              int
	sum, least, greatest, first, final float64
}

// wanted computes rollups from the stored rows, one number after the other.
func (f *fixture) wanted(window time.Duration, devices ...schema.DeviceID) map[string]bucket {
	want := map[string]bucket{}
	for _, id := range devices {
		for _, e := range f.rows[id] {
			ticks, err := strconv.ParseInt(e.RowKey[:19], 10, 64)
			if err != nil || len(e.RowKey) > 19 && e.RowKey[19] != '-' {
				continue
			}
			at := time.Unix(0, (ticks-621355968000000000)*100).UTC().Truncate(window).Format(time.RFC3339)
			for _, p := range e.Properties {
				n, err := strconv.ParseFloat(p.Value.String(), 64)
				if err != nil || math.IsNaN(n) {
					continue
				}
				key := fmt.Sprint(id, " ", at, " ", p.Name)
				b, there := want[key]
				if !there {
					b = bucket{device: string(id), time: at, sensor: p.Name, least: n, greatest: n, first: n}
				}
				b.count, b.sum, b.final = b.count+1, b.sum+n, n
				b.least, b.greatest = math.Min(b.least, n), math.Max(b.greatest, n)
				want[key] = b
			}
		}
	}
	return want
}

// buckets parses an answer of rollups.
func buckets(t *testing.T, text string) map[string]bucket {
	t.Helper()
	got := map[string]bucket{}
	for _, r := range csvRecords(t, text) {
		b := bucket{device: plain(r["device"]), time: r["time"], sensor: r["sensor"]}
		var err error
		b.count, err = strconv.Atoi(r["count"])
		must(t, err)
		for name, to := range map[string]*float64{"sum": &b.sum, "min": &b.least, "max": &b.greatest, "first": &b.first,
			"last": &b.final} {
			*to, err = strconv.ParseFloat(r[name], 64)
			must(t, err)
		}
		if mean, err := strconv.ParseFloat(r["mean"], 64); err != nil || mean != b.sum/float64(b.count) {
			t.Errorf("the mean of %+v is %s", b, r["mean"])
		}
		key := fmt.Sprint(b.device, " ", b.time, " ", b.sensor)
		if _, twice := got[key]; twice {
			t.Errorf("%s is there twice", key)
		}
		got[key] = b
	}
	return got
}

func TestQueriedRollupsMatchTheReadings(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	for text, window := range map[string]time.Duration{"1m": time.Minute, "1h": time.Hour, "1d": 24 * time.Hour} {
		for _, ask := range []struct {
			args    []string
			devices []schema.DeviceID
		}{
			{[]string{"contoso:us-1:a"}, []schema.DeviceID{"contoso:us-1:a"}},
			{[]string{"contoso:us-2:c"}, []schema.DeviceID{"contoso:us-2:c"}},
			{[]string{"--", "-2:odd"}, []schema.DeviceID{"-2:odd"}},
			{[]string{"--prefix", "contoso:us-1"}, []schema.DeviceID{"contoso:us-1:a", "contoso:us-1:b"}},
			{[]string{"--prefix=-"}, []schema.DeviceID{"-2:odd"}},
			{[]string{"--tenant", "contoso"}, []schema.DeviceID{"contoso:us-1:a", "contoso:us-1:b", "contoso:us-2:c", "-2:odd"}},
			{[]string{"--tenant", "fabrikam"}, []schema.DeviceID{"fabrikam:x"}},
		} {
			out := f.query(slices.Concat([]string{"--storage", f.storage, "--window", text}, f.span(), ask.args)...)
			want, got := f.wanted(window, ask.devices...), buckets(t, out)
			if !maps.Equal(got, want) {
				t.Errorf("%s of %q: %d buckets, want %d, or they differ", text, ask.args, len(got), len(want))
			}
		}
	}
}

func TestBucketsThatOverlapTheSpanArePrinted(t *testing.T) {
	f := newOddFleet(t)
	day := f.begin.Add(24 * time.Hour).Truncate(24 * time.Hour)
	from, to := day.Add(5*time.Hour+17*time.Minute), day.Add(36*time.Hour)
	for _, scope := range []string{"contoso:us-1:a", "--prefix=contoso:us-1:a", "--tenant=fabrikam"} {
		id := schema.DeviceID("contoso:us-1:a")
		if scope == "--tenant=fabrikam" {
			id = "fabrikam:x"
		}
		want := f.wanted(time.Hour, id)
		maps.DeleteFunc(want, func(_ string, b bucket) bool {
			at, _ := time.Parse(time.RFC3339, b.time)
			return !at.Add(time.Hour).After(from) || !at.Before(to)
		})
		got := buckets(t, f.query(scope, "--window=1h", "--from", from.Format(time.RFC3339), "--to",
			to.Format(time.RFC3339)))
		if !maps.Equal(got, want) {
			t.Errorf("%s: %d buckets, want %d", scope, len(got), len(want))
		}
	}
}

func TestWindowDependsOnTheSpan(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	for last, want := range map[string]string{"3h": "1m", "60h": "1h", "7d": "1h", "100d": "1d"} {
		out := f.query("fabrikam:x", "--last", last, "--format", "jsonl", "--limit", "1")
		if !strings.Contains(out, `"window":"`+want+`"`) {
			t.Errorf("of %s there is %s; want %s", last, out, want)
		}
	}
	f.refused(exitFailed, "no rollups of 15m; it has rollups of 1m, 1h, 1d", "query fabrikam:x --window 15m")
}

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

func TestUnknownDeviceSuggestsSimilarIDs(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	for id, want := range map[string]string{
		"contoso:us-1:zz":      "similar IDs: contoso:us-1:a, contoso:us-1:b\n",
		"contoso:us-1":         "begin with it (--prefix selects all of them): contoso:us-1:a, contoso:us-1:b\n",
		"Contoso":              "similar IDs: contoso:us-1:a, contoso:us-1:b, contoso:us-2:c\n",
		"CONTOSO:us-2:C":       "similar IDs: contoso:us-2:c\n",
		"--prefix=contoso:eu-": "similar IDs: contoso:us-1:a, contoso:us-1:b, contoso:us-2:c\n",
	} {
		f.refused(exitFailed, `no device "`+strings.TrimPrefix(id, "--prefix=")+`"`, "query", id)
		f.refused(exitFailed, want, "query", id)
	}
	f.refused(exitFailed, "similar IDs: fabrikam:x", "rejects fabrikam:y")
	newObservedFixture(t).refused(exitFailed, "the fleet has no devices", "query d")
}

func TestEmptyAnswersAreExplainedAndNoFailure(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	idle := newDevice("idle", "idle", 2026, 1)
	idle.Readings = "never"
	f.add(idle)
	for line, want := range map[string]string{
		"contoso:us-1:a --from 2020-01-01 --to 2020-01-02 --window 1h": "contoso:us-1:a has no 1h " +
			"rollups from 2020-01-01T00:00:00Z to 2020-01-02T00:00:00Z; its newest value is from " +
			f.end.Format(time.RFC3339),
		"contoso:us-1:a --from 2020-01-01 --to 2020-01-02 --raw":                         "has no readings from 2020",
		"contoso:us-1:a --from 2020-01-01 --to 2100-01-02 --sensors nothing --window=1h": `for these sensors; no newest value is of a sensor "nothing": there are `,
		"idle":                      "idle has no rollups yet",
		"idle --raw":                "idle has no readings from",
		"idle --latest":             "idle is new: it has not sent a reading yet",
		"--tenant idle":             "tenant idle has no rollups",
		"--tenant idle --latest":    "tenant idle has no newest values",
		"--tenant idle --window 1h": "tenant idle has no rollups",
	} {
		if out, errs := f.both("query " + line); !strings.Contains(errs, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %q, %s; want %s", line, out, errs, want)
		}
	}
	if out, errs := newObservedFixture(t).both("rejects"); !strings.Contains(errs, "no rejects of any device") {
		t.Errorf("no rejects: %s%s", out, errs)
	}
}

func TestUnknownTenantIsAnError(t *testing.T) {
	t.Parallel()
	f := newFoldedFixture(t)
	for _, line := range []string{"query --latest --tenant", "query --tenant", "query --rate --tenant",
		"query --rate --latest --tenant", "query --window 1h --tenant", "rejects --tenant", "device list --tenant",
		"rewind --to -1h --tenant", "mute add --until 1h --tenant", "archive verify --tenant"} {
		code, _, errs := f.run(line, "acmee")
		if code != exitFailed || !strings.Contains(errs, `no device belongs to tenant "acmee"; did you mean "acme"?`) {
			t.Errorf("furrow %s acmee: exit %d, %s", line, code, errs)
		}
	}
	f.refused(anyFailure, `did you mean "acme"?`, "verify --tenant acmee")
}

// TestRawKnowsTheSensorsOfLatest: a device may send objects, whose parts are sensors.
func TestRawKnowsTheSensorsOfLatest(t *testing.T) {
	f := newFixture(t)
	f.createTables()
	row := reading("pump-7", time.Now().Add(-time.Minute), 21.5)
	row.Set("air_now", tables.String(`{"hum":48.25,"wind":{"max":3}}`))
	f.add(newDevice("pump-7", "acme", 2026, 11), row)
	f.fold()
	sensors := map[string]bool{}
	for _, r := range csvRecords(t, f.must("query pump-7 --latest --format csv")) {
		sensors[r["sensor"]] = true
		raw := csvRecords(t, f.must("query pump-7 --raw --format csv --sensors", r["sensor"]))
		if len(raw) != 1 || raw[0]["sensor"] != r["sensor"] || raw[0]["value"]+raw[0]["text"] != r["value"] {
			t.Errorf("--latest has %s, --raw %s", r, raw)
		}
	}
	if !sensors["air_now_wind_max"] || !sensors["temperature"] || len(sensors) != 3 {
		t.Errorf("the sensors are %v", sensors)
	}
	f.says("air_now,", "query pump-7 --raw --format csv --sensors air_now")
}

func TestQueryRefusesContradictoryFlags(t *testing.T) {
	for line, want := range map[string]string{
		"query":                                  "name one DEVICE, a --prefix of IDs, or a --tenant",
		"query a b":                              "too many: furrow query [DEVICE]",
		"query a --tenant b":                     "name one DEVICE",
		"query a --raw --latest":                 "exclude each other",
		"query a --raw --window 1h":              "--window applies to rollups",
		"query a --latest --last 1h":             "--latest takes no --from",
		"query a --raw --where x>1":              "--where with --raw reads every row of a span: give it with --last",
		"query a --raw --where x>1 --to -1h":     "--where with --raw reads every row of a span: give it with --last",
		"query a --tail 3 --where x>1":           "--tail and --where exclude each other",
		"query a --rate --where x>1":             "--rate and --where exclude each other",
		"query a --states --where x>1":           "--states and --where exclude each other",
		"query a --states --raw":                 "--states and --raw exclude each other",
		"query a --gaps --states":                "--gaps and --states exclude each other",
		"query a --gaps --tail 3":                "--tail and --gaps exclude each other",
		"query a --gaps --window 1h":             "--window applies to rollups and rates, not to --gaps",
		"query a --states --window 1h":           "--window applies to rollups and rates, not to --states",
		"query a --row-key 0 --tail 3":           "--row-key and --tail exclude each other",
		"query a --row-key 0 --last 3h":          "--row-key takes no --from, --to or --last",
		"query --prefix a --row-key 0":           "--row-key is of one reading of one DEVICE",
		"query a --row-key=":                     "--row-key is of one reading of one DEVICE",
		"query a --site s":                       "--site, --label and --model select among devices",
		"query a --label x=y":                    "--site, --label and --model select among devices",
		"query a --where oil":                    "--where: oil is no condition",
		"query a --where oil.top>1":              "--where: oil.top; sensors have the members count, sum, min,",
		"query a --latest --where oil.max>1":     "--where: oil.max; only labels have members",
		"query --tenant t --site=":               "--site: site is empty",
		"query --tenant t --label x":             `--label "x": write NAME=TEXT`,
		"query a --format cvs":                   `invalid value "cvs" for --format: it takes table, csv, jsonl`,
		"query a --limit 0":                      "--limit is 0",
		"query a --limit many":                   "--limit",
		"query a --window 7m":                    "--window: window",
		"query a --last yesterday":               "--last",
		"query a --last 1h --from 2026-01-01":    "exclude each other",
		"query a --from tomorrow":                `"tomorrow" is not a time`,
		"query a --from 2026-01-02 --to -9999d":  "is not before --to",
		"query a --from 2026-01-02 --to nowhere": "--to:",
		"query a --sensors temp!":                "not the name of a sensor",
		"query a --sensors ,":                    "--sensors is empty",
		"query a --snsors x":                     `did you mean "--sensors"?`,
		"query a/b":                              `character '/'`,
		"query --prefix=a?":                      `character '?'`,
		"query --prefix=":                        "--prefix is empty",
		"query --tenant=":                        "tenant is empty",
		"rejects a b":                            "too many: furrow rejects [DEVICE]",
		"rejects a --prefix b":                   "name one DEVICE",
		"rejects a --format x":                   "--format",
		"rejects a --from x":                     "--from",
		"rejects a/b":                            `character '/'`,
	} {
		refused(t, exitUsage, want, line, "--storage", "http://127.0.0.1:1/acme?sig=x")
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
