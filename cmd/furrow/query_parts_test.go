package main

import (
	"fmt"
	"strings"
	"testing"

	"furrow/tables"
	"furrow/tables/schema"
)

// TestDevicesOfManySensorsAreWhole: outputs of more than 200 sensors are several
// entities, which nobody who asks sees.
func TestDevicesOfManySensorsAreWhole(t *testing.T) {
	y := newQueryFixture(t)
	const sensors = 450
	for i, id := range []schema.DeviceID{"a", "a-b", "b"} {
		y.add(t, schema.Device{ID: id, Tenant: "contoso", Month: schema.Month{Year: 2026, Month: 10},
			Readings: y.names.Readings(), Status: schema.Active})
		var all []string
		for n := range sensors {
			all = append(all, fmt.Sprintf(`"s%d":%d`, n, i))
		}
		e := tables.Entity{PartitionKey: string(id), RowKey: tables.TicksOf(y.end).String()}
		e.Set("v", tables.String("{"+strings.Join(all, ",")+"}"))
		y.write(t, id, []tables.Entity{e})
	}
	y.fold(t)
	span := y.span()
	for _, c := range []struct {
		args    []string
		devices int
	}{{[]string{"a"}, 1}, {[]string{"--prefix=a"}, 2}, {[]string{"--tenant=contoso"}, 3}} {
		for _, kind := range [][]string{{"--latest"}, append([]string{"--window=1h"}, span...)} {
			args := append(kind, c.args...)
			if got := csvRecords(t, y.query(t, append(args, "--format=csv")...)); len(got) != c.devices*sensors {
				t.Errorf("%q: %d lines, want %d", args, len(got), c.devices*sensors)
			}
			if got := strings.Count(y.query(t, append(args, "--format=jsonl")...), "\n"); got != c.devices {
				t.Errorf("%q: %d records, want %d", args, got, c.devices)
			}
			if got := strings.Count(y.query(t, append(args, "--format=jsonl", "--limit=1", "--sensors=v_s449")...),
				`"v_s449"`); got != 1 {
				t.Errorf("%q: the last sensor is there %d times", args, got)
			}
		}
	}
}
