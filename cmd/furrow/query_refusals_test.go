package main

import (
	"strings"
	"testing"
	"time"

	"furrow/tables"
)

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
