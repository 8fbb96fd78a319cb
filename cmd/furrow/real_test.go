package main

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// realData is a week of real readings, which lies beside the project.
var realData = filepath.Join(root, "../shared/data/aberdeen_climate_week.csv.gz")

// A realRow is a line of the file.
type realRow struct {
	sensor string
	at     time.Time
	values map[string]float64
}

func readRealData(t *testing.T) (rows []realRow) {
	t.Helper()
	file, err := os.Open(realData)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the real readings are not on this machine")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := csv.NewReader(unzipped)
	head, err := lines.Read()
	if err != nil {
		t.Fatal(err)
	}
	for {
		line, err := lines.Read()
		if err == io.EOF {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		row := realRow{sensor: line[0], values: map[string]float64{}}
		if row.at, err = time.Parse("2006-01-02T15:04:05", line[4]); err != nil {
			t.Fatal(err)
		}
		for i := 5; i < len(line); i++ {
			if line[i] == "" {
				continue
			}
			if row.values[head[i]], err = strconv.ParseFloat(line[i], 64); err != nil {
				t.Fatal(err)
			}
		}
		rows = append(rows, row)
	}
}

// seedReal writes the rows into a readings table, as their devices would have,
// and their devices into the fleet.
func seedReal(t *testing.T, client *tables.Client, rows []realRow) (devices int) {
	t.Helper()
	names, month := schema.Names{}, schema.Month{Year: 2019, Month: 5}
	for _, name := range []string{names.Readings(), names.Fleet()} {
		if err := client.Table(name).Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ops := map[string][]tables.Op{}
	for n, row := range rows {
		e := tables.Entity{PartitionKey: row.sensor, RowKey: fmt.Sprintf("%s-%d", tables.TicksOf(row.at), n)}
		for sensor, v := range row.values {
			e.Set(sensor, tables.Double(v))
		}
		ops[row.sensor] = append(ops[row.sensor], tables.Insert(e))
	}
	for device, own := range ops {
		e, err := schema.Member{Month: month, Device: schema.DeviceID(device), Tenant: "aberdeen",
			Readings: names.Readings()}.Entity()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Table(names.Fleet()).Do(t.Context(), tables.Insert(e)); err != nil {
			t.Fatal(err)
		}
		groups, err := tables.Cut(own)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			if _, err := client.Table(names.Readings()).Submit(t.Context(), g); err != nil {
				t.Fatal(err)
			}
		}
	}
	return len(ops)
}

// An aggregate is what query should print of a bucket, computed from the file.
type aggregate struct {
	count            int
	sum, c           float64 // c is what the sum has lost (Kahan)
	min, max         float64
	first, last      float64
	firstAt, endedAt time.Time
}

func (a *aggregate) add(at time.Time, v float64) {
	if a.count == 0 {
		a.min, a.max, a.first, a.firstAt = v, v, v, at
	}
	a.count++
	y := v - a.c
	s := a.sum + y
	a.c, a.sum = (s-a.sum)-y, s
	a.min, a.max = math.Min(a.min, v), math.Max(a.max, v)
	a.last, a.endedAt = v, at
}

// TestQueryPrintsWhatTheRealReadingsSay runs the real readings through storage,
// scheduler and worker, and compares every bucket that query prints with one
// computed from the file.
func TestQueryPrintsWhatTheRealReadingsSay(t *testing.T) {
	rows := readRealData(t)
	if testing.Short() { // the first day of the week
		day := rows[0].at.Truncate(24 * time.Hour)
		rows = slices.DeleteFunc(rows, func(r realRow) bool { return !r.at.Truncate(24 * time.Hour).Equal(day) })
	}
	dir := t.TempDir()
	s := startStorage(t, nil, "--data", dir, "--show-key")
	account, err := tables.ParseAccount(s.ConnectionString)
	if err != nil {
		t.Fatal(err)
	}
	client, err := tables.Connect(tables.Config{Account: account})
	if err != nil {
		t.Fatal(err)
	}
	devices := seedReal(t, client, rows)
	for _, args := range [][]string{
		{"schedule", "--once", "--pipeline", "live", "--storage", dir},
		{"worker", "--idle-exit", "2s", "--pipeline", "live", "--storage", dir},
	} {
		if code, out, errs := furrow(t.Context(), args...); code != exitOK {
			t.Fatalf("%v: exit %d, %s%s", args, code, out, errs)
		}
	}
	for window, length := range map[string]time.Duration{"1m": time.Minute, "1h": time.Hour, "1d": 24 * time.Hour} {
		want := map[string]*aggregate{}
		for _, row := range rows {
			for sensor, v := range row.values {
				key := fmt.Sprint(row.sensor, " ", row.at.Truncate(length).Format(time.RFC3339), " ", sensor)
				if want[key] == nil {
					want[key] = &aggregate{}
				}
				want[key].add(row.at, v)
			}
		}
		args := []string{"query", "--tenant", "aberdeen", "--window", window, "--from", "2019-05-01", "--to", "2019-05-08",
			"--format", "csv", "--storage", dir}
		code, out, errs := furrow(t.Context(), args...)
		if code != exitOK {
			t.Fatalf("%v: exit %d, %s", args, code, errs)
		}
		compared := compareBuckets(t, out, want)
		t.Logf("%d readings of %d devices, %s: %d buckets of sensors are equal", len(rows), devices, window, compared)
	}
}

// compareBuckets compares what query has printed with what it should have.
func compareBuckets(t *testing.T, out string, want map[string]*aggregate) int {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	number := func(line []string, name string) float64 {
		v, err := strconv.ParseFloat(line[column[name]], 64)
		if err != nil {
			t.Fatalf("%s of %v: %v", name, line, err)
		}
		return v
	}
	for _, line := range lines[1:] {
		at, err := time.Parse(time.RFC3339, line[column["time"]])
		if err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprint(line[column["device"]], " ", at.Format(time.RFC3339), " ", line[column["sensor"]])
		w := want[key]
		if w == nil {
			t.Fatalf("%s is printed once too often, or should not be there", key)
		}
		delete(want, key)
		sum := number(line, "sum")
		if number(line, "count") != float64(w.count) || number(line, "min") != w.min || number(line, "max") != w.max ||
			number(line, "first") != w.first || number(line, "last") != w.last || math.Abs(sum-w.sum) > 1e-9*math.Abs(w.sum) {
			t.Fatalf("%s is %v, want %+v", key, line, *w)
		}
	}
	for key := range want {
		t.Fatalf("%s is missing, and %d others", key, len(want)-1)
	}
	return len(lines) - 1
}
