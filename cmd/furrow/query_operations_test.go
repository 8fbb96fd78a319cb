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

// mustBeRanges holds the requests of a query: all of them only read, and each
// names a partition or bounds of partitions.
func mustBeRanges(t *testing.T, args []string, asked []*http.Request) {
	t.Helper()
	for _, r := range asked {
		filter := r.URL.Query().Get("$filter")
		get := strings.Contains(r.URL.Path, "(PartitionKey=")
		if r.Method != http.MethodGet || !get && !strings.Contains(filter, "PartitionKey") {
			t.Errorf("furrow %q asks %s %s with the filter %q", args, r.Method, r.URL.Path, filter)
		}
	}
}

// newHerd is a yard of devices that all wrote the same few readings; every tenth
// has another tenant, and every third another month.
func newHerd(t *testing.T, devices int) *queryFixture {
	t.Helper()
	y := newQueryFixture(t)
	for i := range devices {
		d := schema.Device{ID: schema.DeviceID(fmt.Sprintf("d%04d", i)), Tenant: "most",
			Month: schema.Month{Year: 2026, Month: 8}, Readings: y.names.Readings(), Status: schema.Active}
		d.Month.Month -= time.Month(i % 3)
		if i%10 == 9 {
			d.Tenant = "few"
		}
		y.add(t, d)
		var rows []tables.Entity
		for at := y.begin; at.Before(y.end); at = at.Add(20 * time.Hour) {
			e := tables.Entity{PartitionKey: string(d.ID), RowKey: tables.TicksOf(at).String()}
			e.Set("temperature", tables.Double(float64(i)))
			rows = append(rows, e)
		}
		y.write(t, d.ID, rows)
	}
	y.fold(t)
	return y
}

// TestQueryReadsRangesAndNoMoreWhenTheFleetGrows counts the requests of queries
// over a fleet of one size and of eight times that.
func TestQueryReadsRangesAndNoMoreWhenTheFleetGrows(t *testing.T) {
	small, large := newHerd(t, 15), newHerd(t, 120)
	const days = 4 // that 60 hours touch, at most
	for _, c := range []struct {
		line string
		most int  // requests
		each bool // for each device as well
	}{
		{"query d0001 --latest", 1 + 1, false},
		{"query d0001 --raw SPAN", 1 + 1, false},
		{"query d0001 --window=1m SPAN", 1 + 4 + 1 + days, false},
		{"query d0001 SPAN", 1 + 4 + 1 + days, false},
		{"query --prefix=d --window=1h SPAN", 1 + 2*(4+1) + days*6, false},
		{"query --prefix=d --latest", 1 + 6, false},
		{"query --prefix=d --raw SPAN", 1 + 1, true},
		{"query --tenant=few --window=1h SPAN", 4 + 1 + 1, false},
		{"query --tenant=few --latest", 1, false},
		{"query d0001 --window=1h --from=1970-01-01", 1 + 4 + 1 + days + 2, false}, // years of nothing cost nothing
		{"query d0001 --window=1h --from=-3d --to=2100-01-01", 1 + 4 + 1 + days + 2, false},
		{"query x", 1 + 7 + 8 + 1, false}, // the fleet has three months, which are gone through twice
		{"rejects", 1, false},
		{"rejects d0001", 1 + 1, false},
		{"rejects --prefix=d --summary", 1, false},
	} {
		for _, y := range []*queryFixture{small, large} {
			line := strings.ReplaceAll(c.line, "SPAN", strings.Join(y.span(), " "))
			y.asked()
			if code, _, errs := y.furrow(t, strings.Fields(line)...); code != exitOK && !strings.Contains(errs, "no device") {
				t.Fatalf("furrow %s: exit %d, %s", line, code, errs)
			}
			asked, most := y.asked(), c.most
			if c.each {
				most += len(y.devices)
			}
			if len(asked) > most {
				t.Errorf("furrow %s of %d devices: %d requests, want at most %d", line, len(y.devices), len(asked), most)
			}
			mustBeRanges(t, strings.Fields(line), asked)
		}
	}
}

func TestReadingsOfManyDevicesAreNotReadBeforeTheyAreWanted(t *testing.T) {
	y := newHerd(t, 40)
	y.asked()
	line := append([]string{"query", "--prefix=d", "--raw", "--limit=1"}, y.span()...)
	if code, _, errs := y.furrow(t, line...); code != exitOK {
		t.Fatalf("exit %d, %s", code, errs)
	}
	if n := len(y.asked()); n > 2+8*2 { // who there is, twice, and two pages of eight devices abreast
		t.Errorf("%d requests for one reading", n)
	}
}
