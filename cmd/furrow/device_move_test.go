package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/tables"
)

// TestQueryShowsEachTenantItsOwnReadings of a device that was moved there and back within a day, and an operator all of
// them.
func TestQueryShowsEachTenantItsOwnReadings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createTables()
	var rows []tables.Entity
	begun := time.Now().Add(-10 * time.Hour).UTC()
	for n := range 10 {
		rows = append(rows, reading("pump-7", begun.Add(time.Duration(n)*time.Hour), float64(n)))
	}
	f.add(newDevice("pump-7", "acme", 2026, time.November), rows...)
	at := func(hours int) string { return begun.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339Nano) }
	f.must("device move pump-7 --tenant fabrikam --at " + at(3))
	f.must("device move pump-7 --tenant acme --at " + at(7))
	values := func(scope string) (all string) {
		for _, r := range csvRecords(t, f.must("query --raw --last 1d --format csv "+scope)) {
			all += r["value"] + " "
		}
		return all
	}
	for scope, want := range map[string]string{"--tenant acme": "0 1 2 7 8 9 ", "--tenant fabrikam": "3 4 5 6 ",
		"pump-7": "0 1 2 3 4 5 6 7 8 9 "} {
		if got := values(scope); got != want {
			t.Errorf("query %s has %s, want %s", scope, got, want)
		}
	}
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
		return string(jsonOf[deviceLine](t, f.must("device show "+id+" --json"))[0].Tenant)
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
