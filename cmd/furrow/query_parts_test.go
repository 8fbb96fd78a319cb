package main

import (
	"fmt"
	"strings"
	"testing"

	"furrow/tables"
	"furrow/tables/schema"
)

// TestDevicesOfManySensorsAreWhole: outputs of more than 200 sensors are several entities, which queries
// put together.
func TestDevicesOfManySensorsAreWhole(t *testing.T) {
	f := newObservedFixture(t)
	const sensors = 450
	for i, id := range []schema.DeviceID{"a", "a-b", "b"} {
		var all []string
		for n := range sensors {
			all = append(all, fmt.Sprintf(`"s%d":%d`, n, i))
		}
		e := tables.Entity{PartitionKey: string(id), RowKey: tables.TicksOf(f.end).String()}
		e.Set("v", tables.String("{"+strings.Join(all, ",")+"}"))
		f.add(newDevice(id, "contoso", 2026, 10), e)
	}
	f.fold()
	span := f.span()
	for _, c := range []struct {
		args    []string
		devices int
	}{{[]string{"a"}, 1}, {[]string{"--prefix=a"}, 2}, {[]string{"--tenant=contoso"}, 3}} {
		for _, kind := range [][]string{{"--latest"}, append([]string{"--window=1h"}, span...)} {
			args := append(kind, c.args...)
			if got := csvRecords(t, f.query(append(args, "--format=csv")...)); len(got) != c.devices*sensors {
				t.Errorf("%q: %d lines, want %d", args, len(got), c.devices*sensors)
			}
			if got := strings.Count(f.query(append(args, "--format=jsonl")...), "\n"); got != c.devices {
				t.Errorf("%q: %d records, want %d", args, got, c.devices)
			}
			if got := strings.Count(f.query(append(args, "--format=jsonl", "--limit=1", "--sensors=v_s449")...),
				`"v_s449"`); got != 1 {
				t.Errorf("%q: the last sensor is there %d times", args, got)
			}
		}
	}
}
