package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

// TestQueryShowsEachTenantItsOwnReadings of a device that was moved there and back within a day, and an operator all of
// them: before the runs have followed the moves, afterwards, and with rows that arrive late.
func TestQueryShowsEachTenantItsOwnReadings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createTables()
	var rows []tables.Entity
	begun := time.Now().UTC().Truncate(24 * time.Hour).Add(-24*time.Hour + 30*time.Minute)
	for n := range 10 {
		rows = append(rows, reading("pump-7", begun.Add(time.Duration(n)*time.Hour), float64(n)))
	}
	d := newDevice("pump-7", "acme", 2026, time.November)
	d.Site = "hall-1"
	f.add(d, rows...)
	f.fold()
	at := func(hours float64) string {
		return begun.Add(time.Duration(hours * float64(time.Hour))).Format(time.RFC3339Nano)
	}
	f.must("device move pump-7 --tenant fabrikam --at " + at(2.2))
	f.must("device set pump-7 --site hall-2")
	f.must("device move pump-7 --tenant acme --at " + at(7))
	f.must("device set pump-7 --site hall-3")
	all, acme, fabrikam := "0 1 2 3 4 5 6 7 8 9", "0 1 2 7 8 9", "3 4 5 6"
	want := func() map[string]string {
		return map[string]string{"pump-7": all, "--prefix pump": all, "--tenant acme": acme, "--tenant fabrikam": fabrikam,
			"--tenant acme --site hall-3": acme, "--tenant fabrikam --site hall-2": fabrikam,
			"--prefix pump --site hall-2": fabrikam, "--prefix pump --site hall-3": acme, "--prefix pump --site hall-1": ""}
	}
	check := func(what, flags, column string, want map[string]string) {
		t.Helper()
		for scope, want := range want {
			var got []string
			last := ""
			for _, r := range csvRecords(t, f.must("query --format csv "+flags+" "+scope)) {
				got = append(got, strings.TrimPrefix(strings.TrimSuffix(r[column], ":00:00Z"), begun.Format("2006-01-02T")))
				if r["time"] < last && scope == "pump-7" {
					t.Errorf("%s: %s comes after %s", what, r["time"], last)
				}
				last = r["time"]
			}
			slices.Sort(got)
			if strings.Join(got, " ") != want {
				t.Errorf("%s of %s: %q, want %q", what, scope, got, want)
			}
		}
	}
	from := " --from " + at(-0.5)
	check("readings before the run", "--raw"+from, "value", want())
	check("buckets before the run", "--window 1h"+from, "mean", map[string]string{"pump-7": all, "--tenant acme": all,
		"--tenant fabrikam": ""})
	newest := map[string]string{"pump-7": "9", "--prefix pump": "9", "--tenant acme": "9", "--tenant fabrikam": ""}
	f.followMove("acme", "fabrikam")
	check("readings", "--raw"+from, "value", want())
	check("buckets", "--window 1h"+from, "mean", want())
	check("rates", "--rate --window 1h"+from, "time", map[string]string{"pump-7": "01 02 04 05 06 07 08 09",
		"--prefix pump": "01 02 04 05 06 07 08 09", "--tenant acme": "01 02 07 08 09", "--tenant fabrikam": "04 05 06",
		"--prefix pump --site hall-2": "04 05 06"})
	check("newest values", "--latest", "value", newest)

	late := reading("pump-7", begun.Add(6*time.Hour+45*time.Minute), 6.5) // in the hour of the second move
	_, err := f.client.Table(f.names.Readings()).Do(t.Context(), tables.Insert(late))
	must(t, err)
	all, fabrikam = strings.Replace(all, "6 ", "6 6.5 ", 1), fabrikam+" 6.5"
	check("readings with a late one", "--raw"+from, "value", want())
	f.followMove("acme", "fabrikam")
	check("buckets with a late reading", "--window 1h"+from, "mean", want())
	check("newest values with a late reading", "--latest", "value", newest)
}

// followMove has jobs follow a device that has moved between tenants, and find its late rows.
func (f *fixture) followMove(tenants ...schema.Tenant) {
	f.t.Helper()
	moved := f.devices[0]
	for _, tenant := range tenants {
		d := moved
		d.Tenant = tenant
		f.devices = append(f.devices, d)
	}
	f.fold()
	p := f.pipeline()
	for _, d := range f.devices {
		at := d.Member().Place()
		_, err := p.Do(f.t.Context(), jobs.Message{Kind: jobs.Audit, Audit: refold.Full, Pipeline: p.Name,
			Run: tables.TicksOf(time.Now()), First: at, Last: at}, jobstest.NoPut{}, nil)
		must(f.t, err)
	}
	f.fold()
	f.devices = f.devices[:1]
}

// TestMoveByFileWithAWrongLineMovesNothing, and names all wrong lines.
func TestMoveByFileWithAWrongLineMovesNothing(t *testing.T) {
	f := newFixture(t)
	f.must("enrollment add plant1 --tenant acme")
	for _, id := range []string{"pump-1", "pump-2", "pump-3"} {
		f.must("device add " + id)
	}
	file := filepath.Join(t.TempDir(), "moves.csv")
	tenant := func(id string) string {
		return string(jsonOf[answers.Record](t, f.must("device show "+id+" --json"))[0].Tenant)
	}
	for _, c := range []struct {
		lines string
		want  []string
	}{
		{"pump-1,fabrikam,-2h\npump-2,,-2h\npump 3,fabrikam,-2h\n", []string{"line 3", "name the tenant", "line 4"}},
		{"pump-1,fabrikam,-2h\npump-1,contoso,-1h\npump-2,fabrikam,soon\n", []string{"line 3", "is on line 2", "line 4",
			"soon"}},
		{"pump-1,fabrikam,-2h\npump-9,fabrikam,-2h\npump-2,fabrikam,2999-01-01\n", []string{"line 3", "not registered",
			"line 4", "in the future"}},
	} {
		writeFile(t, file, "id,tenant,at\n"+c.lines)
		code, out, errs := f.run("device move --file " + file)
		if code == exitOK || out != "" || tenant("pump-1") != "acme" {
			t.Errorf("%s: exit %d, %s, and pump-1 belongs to %s", c.lines, code, out, tenant("pump-1"))
		}
		for _, want := range c.want {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: %s does not say %q", c.lines, errs, want)
			}
		}
	}
	for _, column := range []string{"At", "since"} { // not now, at a time that cannot be taken back
		writeFile(t, file, "id,tenant,"+column+"\npump-1,fabrikam,-2h\n")
		f.refused(exitFailed, "column \""+column+"\" is none of id, tenant and at", "device move --file "+file)
	}
	if tenant("pump-1") != "acme" {
		t.Error("with a column of another name, pump-1 was moved")
	}
	writeFile(t, file, "id,tenant,at\npump-1,fabrikam,2026-11-20T08:00:00Z\npump-2,fabrikam,-1h\n")
	f.must("device move --file " + file)
	out := f.must("device move --file " + file)
	if tenant("pump-1") != "fabrikam" || tenant("pump-2") != "fabrikam" || tenant("pump-3") != "acme" ||
		strings.Count(out, "already") != 2 {
		t.Errorf("after the move: %s", out)
	}
	f.refused(exitUsage, "excludes", "device move pump-3 --file "+file)
	f.refused(exitUsage, "name the tenant", "device move pump-3")
	f.refused(exitFailed, "in the future", "device move pump-3 --tenant fabrikam --at 2999-01-01")
	f.refused(exitFailed, "not registered", "device move pump-9 --tenant fabrikam")
}
