package main

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/schema"
)

// realData is a week of real readings, which lies beside the project.
var realData = filepath.Join(root, "../shared/data/aberdeen_climate_week.csv.gz")

// readRealData returns the rows of each device: those of a week in a long run, otherwise those of its first day.
func readRealData(t *testing.T) map[schema.DeviceID][]tables.Entity {
	t.Helper()
	file, err := os.Open(realData)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the real readings are not on this machine")
	}
	must(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	must(t, err)
	lines, err := csv.NewReader(unzipped).ReadAll()
	must(t, err)
	head, rows, day := lines[0], map[schema.DeviceID][]tables.Entity{}, ""
	for n, line := range lines[1:] {
		at, err := time.Parse("2006-01-02T15:04:05", line[4])
		must(t, err)
		if n == 0 {
			day = at.Format(time.DateOnly)
		}
		if !effort.Long() && at.Format(time.DateOnly) != day {
			continue
		}
		e := tables.Entity{PartitionKey: line[0], RowKey: fmt.Sprintf("%s-%06d", tables.TicksOf(at), n)}
		for i := 5; i < len(line); i++ {
			if line[i] != "" {
				v, err := strconv.ParseFloat(line[i], 64)
				must(t, err)
				e.Set(head[i], tables.Double(v))
			}
		}
		rows[schema.DeviceID(line[0])] = append(rows[schema.DeviceID(line[0])], e)
	}
	return rows
}

// TestQueryAgreesWithRealReadings runs real readings through storage, scheduler and worker, and compares
// every bucket that query prints with one computed from the file.
func TestQueryAgreesWithRealReadings(t *testing.T) {
	t.Parallel()
	rows := readRealData(t)
	f := newFixture(t)
	f.createTables()
	for id, own := range rows {
		slices.SortFunc(own, func(a, b tables.Entity) int { return strings.Compare(a.RowKey, b.RowKey) })
		f.add(newDevice(id, "aberdeen", 2019, 5), own...)
	}
	f.must("schedule --once --pipeline live")
	f.must("worker --idle-exit 2s --pipeline live")
	devices := slices.Collect(maps.Keys(rows))
	for window, length := range map[string]time.Duration{"15m": 15 * time.Minute, "1h": time.Hour, "1d": 24 * time.Hour} {
		want := f.wanted(length, devices...)
		got := buckets(t, f.must("query --tenant aberdeen --from 2019-05-01 --to 2019-05-08 --format csv --window", window))
		if !maps.Equal(got, want) {
			t.Errorf("%s: %d buckets, want %d, or they differ", window, len(got), len(want))
		}
		t.Logf("%d devices, %s: %d buckets", len(devices), window, len(got))
	}
}
