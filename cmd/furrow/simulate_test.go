package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/tables"
)

// simulated runs a simulation and returns its summary.
func (f *fixture) simulated(line string, args ...string) (sum simulationLine, stderr string) {
	f.t.Helper()
	out, errs := f.both("simulate --json "+line, args...)
	return jsonOf[simulationLine](f.t, out)[0], errs
}

// readings counts the rows of the readings table.
func (f *fixture) readings() (n int64) {
	f.t.Helper()
	for page, err := range f.client.Table(f.names.Readings()).Rows(f.t.Context(), tables.Query{}) {
		must(f.t, err)
		n += int64(len(page.Rows))
	}
	return n
}

func TestSimulatedFleetIsStoredAndRegistered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	startEndpoint(t, "--storage", f.storage)
	line, _ := f.simulated("--devices 12 --history 1h --for 2s --dirt some")
	if line.Devices != 12 || line.Booted != 12 || line.Tenants != 2 || line.Seed != 1 || line.Waiting != 0 ||
		line.Made < 12*30 || line.Stored != f.readings() {
		t.Errorf("%+v; %d rows", line, f.readings())
	}
	out := f.must("device list --json")
	if strings.Count(out, "simcontoso") != 6 || strings.Count(out, "simfabrikam") != 6 ||
		!strings.Contains(out, `"continent":`) {
		t.Errorf("the devices are %s", out)
	}

	before := line.Stored
	if line, _ = f.simulated("--devices 12 --history 1h --for 2s"); line.Stored >= before/4 {
		t.Errorf("repeated, %d readings are sent after %d", line.Stored, before)
	}

	// A longer history widens the enrollment; a fleet that grows keeps its devices.
	line, _ = f.simulated("--devices 16 --history 8d --every 6h --for 2s")
	if line.Devices != 16 || line.Made < 16*20 || line.Stored != line.Made {
		t.Errorf("%+v", line)
	}
}

// TestKitchensSendNestedDocuments, which are stored flat, and faults, which the simulation lists.
func TestKitchensSendNestedDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	startEndpoint(t, "--storage", f.storage)
	line, _ := f.simulated("--fleet kitchens --devices 10 --every 1m --history 2h --for 2s")
	if line.Devices != 10 || line.Booted != 10 || line.Tenants != 2 || line.Made < 600 || line.Stored != line.Made ||
		line.Refused != 0 || f.readings() != line.Stored {
		t.Errorf("%+v; %d rows", line, f.readings())
	}
	const tenant = "43f4b965-aa85-405a-43d7-08d958688822"
	if out := f.must("device list --format csv --tenant", tenant); !strings.Contains(out,
		tenant+":US-5260:Giles-7163712301905,") || !strings.Contains(out, "Fryer") {
		t.Errorf("the kitchens are %s", out)
	}
	out := f.must("query --raw --last 1h --limit 300 --format csv", tenant+":US-5260:Giles-7163712301905")
	for _, want := range []string{",data_oilProbeTemp,,3", ",headers_tenant_id,," + tenant,
		",siteClassId,,US-5260$$$Fryer"} {
		if !strings.Contains(out, want) {
			t.Errorf("the raw readings have no %q: %.3000s", want, out)
		}
	}
	if text := line.text(); len(line.Faults) == 0 || !strings.Contains(text, "Faults that were put in") ||
		!strings.Contains(text, "stuck sensor") {
		t.Errorf("the faults are %v\n%s", line.Faults, text)
	}
}

func TestReplayStoresTheFile(t *testing.T) {
	f := newFixture(t)
	startEndpoint(t, "--storage", f.storage)
	file := filepath.Join(t.TempDir(), "pumps.csv")
	writeFile(t, file, "pump,at,bar\np1,2009-05-01T10:00:00Z,1\np1,2009-05-01T10:00:00Z,1\np1,2009-05-01T09:59:00Z,2\n"+
		"p1,soon,3\np2,1970-01-01T00:00:00Z,4\np2,2009-05-01T10:00:00Z,5\n")
	line, errs := f.simulated("--device-column pump --years 1970-2100 --tenant acme --for 20s --replay", file)
	if line.Devices != 2 || line.Made != 5 || line.Stored != 4 || line.SetAside["outside window"] != 1 ||
		line.Wrong != 1 || f.readings() != 4 || !strings.Contains(errs, `line 5: "soon" is not a time`) {
		t.Errorf("%+v; %d rows; %s", line, f.readings(), errs)
	}
	f.refused(exitFailed, "no token admits rows of more than 3660d; without --keep-times",
		"simulate --device-column pump --years 1970-2100 --keep-times --replay", file)
	recent := time.Now().Add(-48 * time.Hour).UTC().Truncate(time.Second)
	writeFile(t, file, "device,at,bar\np3,"+recent.Format(time.RFC3339)+",1\n")
	if line, _ = f.simulated("--keep-times --tenant acme --for 20s --replay", file); line.Stored != 1 {
		t.Errorf("%+v", line)
	}
	f.says(recent.Format("2006-01-02T15:04:05"), "query acme:p3 --raw --last 3d --format csv")
}

func TestSimulateAndDemoRefuseInvalidFlags(t *testing.T) {
	for line, want := range map[string]string{
		"simulate --devices 0":                       "--devices is 0; it must be between 1 and",
		"simulate --sensors 13":                      "--sensors is 13; it must be between 1 and 12",
		"simulate --every soon":                      `invalid value "soon" for --every: "soon" is not a duration`,
		"simulate --every 0":                         "--every: it must be at least 1s",
		"simulate --history 3660d":                   "--history: it must be at most 87839h",
		"simulate --dirt lots":                       "it takes some or much",
		"simulate --for ever":                        `invalid value "ever" for --for: "ever" is not a duration`,
		"simulate --keep-times":                      "--keep-times needs --replay",
		"simulate --fleet oils":                      "it takes temperatures, kitchens, oil, bottles, ground",
		"simulate --fleet oil --dirt some":           "--dirt does not go with --fleet, which has its own",
		"simulate --fleet oil --keep-times":          "--keep-times needs --replay",
		"simulate --fleet oil --devices 0":           "--devices is 0",
		"simulate --fleet oil --replay x.csv":        "--fleet does not go with --replay",
		"simulate --replay x.csv --devices 3":        "--devices does not go with --replay",
		"simulate --replay x.csv --tenant=":          "--tenant: ",
		"simulate --endpoint pump --storage a=b;c=d": "--endpoint: ",
		"demo --devices 1":                           "--devices is 1; it must be between 2 and 20000",
		"demo --devices 100 --readings 100":          "--readings is 100, which is 1 for each device",
		"demo --keep-times":                          "--keep-times needs --replay",
		"demo --replay x.csv --devices 5":            "--devices does not go with --replay",
		"demo --storage /tmp":                        "--storage is a directory",
		"demo --storage https://a.example/x?sv=":     "--storage: ",
		"demo --storage env:NO_SUCH_VARIABLE":        "NO_SUCH_VARIABLE holds nothing",
		"demo more":                                  `takes no arguments; "more" is one`,
	} {
		refused(t, exitUsage, want, line)
	}
	refused(t, exitFailed, "nosuch.csv: no such file", "simulate --replay nosuch.csv --storage /tmp")
	refused(t, exitFailed, "nosuch.csv: no such file", "demo --replay nosuch.csv")
}
