package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inDirectoryOf changes to a directory that has files that were reported.
func inDirectoryOf(t *testing.T, names ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("..", "internal", "readings", "testdata", "cases", name))
		must(t, err)
		writeFile(t, filepath.Join(dir, name), string(text))
	}
	t.Setenv("FURROW_CONFIG", "")
	t.Chdir(dir)
}

// importAll imports files and folds them.
func (f *fixture) importAll(names ...string) {
	f.t.Helper()
	for _, name := range names {
		f.must("import " + name + " --enrollment e1")
	}
	f.must("schedule --once")
	f.work()
}

// verifies demands that verify computes what is stored.
func (f *fixture) verifies(span string) {
	f.t.Helper()
	if out := f.must("verify --all --values" + span); !strings.Contains(out, "Nothing differs.") {
		f.t.Errorf("verify finds\n%s", out)
	}
}

// TestCountersLoseNothing imports meters that dip, restart, wrap, pause and are read once a day. A change of the
// setting folds the past again, and verify computes the same by itself.
func TestCountersLoseNothing(t *testing.T) {
	f := newFixture(t)
	inDirectoryOf(t, "r12-counter.csv", "r13-daily-meter.csv")
	f.must("enrollment add e1 --tenant contoso")
	const site = "pipelines: [{name: live, cadence: 1s, processors: [latest, rollup, rate]}]\n" // each run has a slot
	writeFile(t, "site.yaml", site+"sensors: {energy: {counter: true}}\n")
	f.must("config apply site.yaml")
	f.importAll("r12-counter.csv", "r13-daily-meter.csv")
	rises := func(window, device, span string) (all []string) {
		out := f.must("query " + device + " --rate --format csv --window " + window + span)
		for _, line := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
			all = append(all, strings.Split(line, ",")[4])
		}
		return all
	}
	const november = " --from 2026-11-01 --to 2026-11-28"
	check := func(window, device, want string) {
		t.Helper()
		if got := strings.Join(rises(window, device, november), " "); got != want {
			t.Errorf("%s rises by %s in windows of %s; want %s", device, got, window, want)
		}
	}
	check("1h", "meter-2", "0.20000000000001705")
	check("1h", "meter-3", "9")
	check("1h", "meter-4", "20")
	check("1h", "meter-5", "4 6")
	check("1d", "meter-6", "12 12 12 12 12 12")
	check("1h", "meter-7", "2 2 2 94 2 2 2")
	got := rises("1h", "meter-7", " --from 2026-11-11T17:30:00Z --to 2026-11-11T19:00:00Z")
	if len(got) != 1 || got[0] != "94" {
		t.Errorf("asked for the hour after the pause alone, it is %s", got)
	}
	if out := f.must("query meter-6 --rate --latest --format csv"); !strings.Contains(out, ",1072,12,") {
		t.Errorf("the newest rate of a meter that is read once a day is %s", out)
	}
	writeFile(t, "site.yaml", site+"sensors: {energy: {counter: {max: 65535}}}\n")
	if out := f.must("config apply site.yaml"); !strings.Contains(out, "folded again") {
		t.Errorf("the change says %s", out)
	}
	f.must("schedule --once")
	f.work()
	check("1h", "meter-5", "10 6")
	f.verifies(november)
}

// TestMissingValuesAreInNoOutput imports words and numbers that stand for none.
func TestMissingValuesAreInNoOutput(t *testing.T) {
	f := newFixture(t)
	inDirectoryOf(t, "r14-missing.csv")
	f.must("enrollment add e1 --tenant contoso")
	writeFile(t, "site.yaml", "pipelines: [{name: live, processors: [latest, rollup]}]\n"+
		"sensors: {temp: number, hum: {type: number, missing: [-9999]}}\n")
	f.must("config apply site.yaml")
	f.importAll("r14-missing.csv")
	const span = " --from 2025-01-01 --to 2025-01-02"
	out := f.must("query n1 --window 1d --format csv" + span)
	if !strings.Contains(out, "n1,2025-01-01T00:00:00Z,hum,2,81,40,41,40,41,40.5,") ||
		!strings.Contains(out, "n1,2025-01-01T00:00:00Z,temp,1,21.5,21.5,21.5,21.5,21.5,") {
		t.Errorf("the rollups are\n%s", out)
	}
	out = f.must("query n1 --latest --format csv")
	if !strings.Contains(out, "temp,21.5,") || !strings.Contains(out, "hum,41,") {
		t.Errorf("the newest values are\n%s", out)
	}
	if _, errs := f.both("model try --device n1"); !strings.Contains(errs, "missing 1, of heartbeats 0, rejected 0") {
		t.Errorf("model try says %s", errs)
	}
	f.verifies(span)
}

// TestNamesThatMeetAreRejected: of values that become one sensor of a row, none is chosen in silence.
func TestNamesThatMeetAreRejected(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	f.must("enrollment add e1 --tenant contoso")
	writeFile(t, "site.yaml", "pipelines: [{name: live, processors: [latest, rollup]}]\n"+
		"sensors: {t1: {as: t}, t2: {as: t}}\n")
	f.must("config apply site.yaml")
	writeFile(t, "rows.csv", "device,time,t1,t2,obj\n"+`d1,2025-01-01T00:00:00Z,1,2,"{""a-b"":1,""a.b"":2,""c"":3}"`+"\n"+
		"d1,2025-01-01T00:01:00Z,7,7,\n")
	f.importAll("rows.csv")
	out := f.must("query d1 --latest --format csv")
	if !strings.Contains(out, ",t,7,") || !strings.Contains(out, ",obj_c,3,") || strings.Contains(out, "a_b") {
		t.Errorf("the newest values are\n%s", out)
	}
	const reason = "several values of its row have this name, and they differ"
	for _, ask := range []string{"rejects d1 --format csv", "model try --device d1 --format csv"} {
		if out := f.must(ask); strings.Count(out, reason) != 2 {
			t.Errorf("%s prints\n%s", ask, out)
		}
	}
	f.verifies(" --from 2025-01-01 --to 2025-01-02")
}
