package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// mustBeRanges fails for requests that do more than read, or that name no partition and no bounds of
// partitions.
func mustBeRanges(t *testing.T, line string, asked []*http.Request) {
	t.Helper()
	for _, r := range asked {
		filter := r.URL.Query().Get("$filter")
		get := strings.Contains(r.URL.Path, "(PartitionKey=")
		if r.Method != http.MethodGet || !get && !strings.Contains(filter, "PartitionKey") {
			t.Errorf("furrow %s sends %s %s with the filter %q", line, r.Method, r.URL.Path, filter)
		}
	}
}

// newHerd has devices with the same few readings; every tenth has another tenant, and every third another
// month.
func newHerd(t *testing.T, devices int) *fixture {
	t.Helper()
	f := newObservedFixture(t)
	for i := range devices {
		d := newDevice(schema.DeviceID(fmt.Sprintf("d%04d", i)), "most", 2026, time.Month(8-i%3))
		if i%10 == 9 {
			d.Tenant = "few"
		}
		var rows []tables.Entity
		for at := f.begin; at.Before(f.end); at = at.Add(20 * time.Hour) {
			rows = append(rows, reading(d.ID, at, float64(i)))
		}
		f.add(d, rows...)
	}
	f.fold()
	return f
}

// TestQueryReadsRangesAndNoMoreWhenTheFleetGrows counts the requests of queries
// over a fleet of one size and of eight times that.
func TestQueryReadsRangesAndNoMoreWhenTheFleetGrows(t *testing.T) {
	t.Parallel()
	small, large := newHerd(t, 15), newHerd(t, 120)
	const days = 4 // that 60 hours touch, at most
	for _, c := range []struct {
		line string
		most int  // requests; a query begins with that of the configuration, and of the record
		each bool // for each device as well
	}{
		{"query d0001 --latest", 2 + 1 + 1, false}, // and the enrollment
		{"query d0001 --raw SPAN", 2 + 1, false},
		{"query d0001 --raw SPAN --where temperature>0", 2 + 1, false},
		{"query d0001 --states SPAN", 2 + 1 + 1, false}, // there are none: the newest value says so
		{"query d0001 --row-key 0", 2 + 1, false},
		{"query d0001 --tail 1", 2 + 1 + 1, false}, // the tracking row, its hour
		{"query d0001 --window=1m SPAN", 2 + 4 + 1 + days, false},
		{"query d0001 SPAN", 2 + 4 + 1 + days, false},
		{"query d0001 SPAN --where temperature>0", 2 + 4 + 1 + days, false},
		{"query --prefix=d --window=1h SPAN", 2 + 2*(4+1) + days*6, false},
		{"query --prefix=d --latest", 2 + 6, false},
		{"query --prefix=d --latest --site x", 2 + 6 + 6, false}, // and the memberships
		{"query --prefix=d --raw SPAN", 2 + 1, true},
		{"query --tenant=few --window=1h SPAN", 1 + 4 + 1 + 1, false},
		{"query --tenant=few --window=1h SPAN --where temperature>0", 1 + 4 + 1 + days*2*3 + 1, false},
		{"query --tenant=few --latest", 1 + 1, false},
		{"query --tenant=few --latest --where temperature>0", 1 + 2*3 + 1, false}, // three partitions
		{"query --tenant=few --latest --where temperature>0&&labels.x==nil", 1 + 3*3 + 1, false},
		{"query --tenant=few --raw SPAN", 1 + 2*3 + 1, true},
		{"query d0001 --window=1h --from=1970-01-01", 2 + 4 + 1 + days + 2, false}, // years of nothing cost nothing
		{"query d0001 --window=1h --from=-3d --to=2100-01-01", 2 + 4 + 1 + days + 2, false},
		{"query x", 1 + 7 + 8 + 1, false}, // the fleet has three months, which are gone through twice
		{"rejects", 1, false},
		{"rejects d0001", 1 + 1, false},
		{"rejects --prefix=d --summary", 1, false},
	} {
		for _, f := range []*fixture{small, large} {
			line := strings.ReplaceAll(c.line, "SPAN", strings.Join(f.span(), " "))
			f.asked()
			if code, _, errs := f.run(line); code != exitOK && !strings.Contains(errs, "no device") {
				t.Fatalf("furrow %s: exit %d, %s", line, code, errs)
			}
			asked, most := f.asked(), c.most
			if c.each {
				most += len(f.devices)
			}
			if len(asked) > most {
				t.Errorf("furrow %s of %d devices: %d requests, want at most %d", line, len(f.devices), len(asked), most)
			}
			mustBeRanges(t, line, asked)
		}
	}
}

func TestReadingsOfManyDevicesAreNotReadBeforeTheyAreWanted(t *testing.T) {
	t.Parallel()
	f := newHerd(t, 40)
	f.asked()
	f.must("query --prefix=d --raw --limit=1", f.span()...)
	if n := len(f.asked()); n > 2+8*2 { // the members, twice, and two pages of eight devices at a time
		t.Errorf("%d requests for one reading", n)
	}
}
