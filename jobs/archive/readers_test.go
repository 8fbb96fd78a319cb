package archive_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestDuckDBAndHyparquetReadEveryReadingOnce with its values, from several files of several days, and from hours beside
// them: of a day that has no files yet, and of one whose hours are about to be deleted.
func TestDuckDBAndHyparquetReadEveryReadingOnce(t *testing.T) {
	t.Parallel()
	readers := os.Getenv("FURROW_PARQUET_READERS")
	if readers == "" {
		t.Skip("FURROW_PARQUET_READERS does not name the folder .ci/archive, where npm ci has run")
	}
	w := jobstest.NewWorldSince(t, 4*24*time.Hour, 6, 200)
	today := schema.DayOf(tables.TicksOf(time.Now()))
	f := w.NewFleet(t)
	broken := tables.Entity{PartitionKey: string(w.Devices[1]), RowKey: (today - 2).Start().String() + "-b"}
	broken.Set("temperature", tables.String("broken"))
	jobstest.Insert(t, w.Connect(t, nil).Table(f.Readings), broken)
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	d := daysOf(t, f, nil)
	must.Succeed(t, d.Store.Create(t.Context()))
	d.FileBytes, d.About = 40*200, archive.About{"site"}
	d.Summed = archive.Summed{Rollups: []schema.Window{schema.Hour, schema.Daily}, Reports: []schema.Window{schema.Hour},
		By: []schema.By{schema.ByTenant}}
	dir := t.TempDir()
	makeAll := func(all []archive.Folder) {
		for _, folder := range all {
			must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
		}
		for name, content := range objects(t, w.Account, f.Names.Archive()) {
			must.Succeed(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
			must.Succeed(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
	}
	for _, day := range folders(today-2, today-1) {
		makeAll(hoursOf(day))
	}
	makeAll(folders(today-3, today-2))
	want := rowsOf(t, f, func(d schema.Day) bool { return d == today-3 || d == today-2 })
	wantHours := rowsOf(t, f, func(d schema.Day) bool { return d == today-2 || d == today-1 })
	wantBoth := rowsOf(t, f, func(d schema.Day) bool { return d >= today-3 && d < today })
	command := exec.CommandContext(t.Context(), "node", "read.mjs", dir)
	command.Dir, command.Stderr = readers, os.Stderr
	printed := must.Have(command.Output())(t)
	got := map[string]map[string]string{"DuckDB": {}, "hyparquet": {}, "both": {}}
	hours := map[string]map[string]string{"DuckDB": {}, "hyparquet": {}}
	sums := map[string]map[string]string{"DuckDB": {}, "hyparquet": {}}
	counted := map[string]float64{}
	for lines := json.NewDecoder(bytes.NewReader(printed)); lines.More(); {
		var line struct {
			Reader string
			Row    map[string]any
		}
		must.Succeed(t, lines.Decode(&line))
		if line.Row["kind"] == "hours" {
			delete(line.Row, "kind")
			id := fmt.Sprint(line.Row["device"], "/", line.Row["key"])
			at := time.UnixMilli(int64(line.Row["time"].(float64))).UTC().Format("15")
			if hour := fmt.Sprint(line.Row["hour"]); hour != at || hours[line.Reader][id] != "" {
				t.Errorf("%s reads %s in hour %s, and %s", line.Reader, id, hour, hours[line.Reader][id])
			}
			delete(line.Row, "hour")
			hours[line.Reader][id] = fmt.Sprint(line.Row)
			continue
		}
		if kind := line.Row["kind"]; kind != nil {
			delete(line.Row, "first_time")
			delete(line.Row, "last_time")
			id := fmt.Sprint(kind)
			for _, column := range []string{"window", "tenant", "time", "device", "sensor", "devices", "first"} {
				id += fmt.Sprint(" ", line.Row[column])
			}
			if sums[line.Reader][id] != "" {
				t.Errorf("%s reads %s twice", line.Reader, id)
			}
			sums[line.Reader][id] = fmt.Sprint(line.Row)
			counted[fmt.Sprint(line.Reader, kind, line.Row["window"])] += line.Row["count"].(float64)
			continue
		}
		id := fmt.Sprint(line.Row["device"], "/", line.Row["key"])
		if got[line.Reader][id] != "" {
			t.Errorf("%s reads %s twice", line.Reader, id)
		}
		got[line.Reader][id] = fmt.Sprint(line.Row)
	}
	same(t, got["both"], wantBoth, "days and hours")
	delete(got, "both")
	for reader, rows := range got {
		same(t, rows, want, reader)
		same(t, hours[reader], wantHours, "hours of ", reader)
		same(t, sums[reader], sums["DuckDB"], "rollups and reports of ", reader)
		for _, of := range []string{"rollups1h", "rollups1d", "reports1h"} {
			if n := counted[reader+of]; n != counted["DuckDBrollups1d"] || n == 0 {
				t.Errorf("%s counts %v numbers in %s, and %v in days", reader, n, of, counted["DuckDBrollups1d"])
			}
		}
	}
}

// rowsOf returns what readers should read of the readings in storage.
func rowsOf(t *testing.T, f *jobstest.Fleet, wanted func(schema.Day) bool) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Readings), tables.Query{}) {
		r, err := schema.ReadingOf(e)
		day := schema.DayOf(r.Key.Ticks)
		if err != nil || !wanted(day) {
			continue
		}
		row := map[string]any{"device": e.PartitionKey, "key": e.RowKey, "time": float64(r.Key.Ticks.Time().UnixMilli()),
			"tenant": f.World.Member(r.Device, "").Tenant, "date": day.String()}
		sample, _ := (&fold.Sensors{}).Sample(r)
		for _, v := range sample.Values {
			switch {
			case v.Is == fold.Number:
				row[v.Sensor] = v.Number
			case v.Sensor == "temperature": // which has numbers, too
				row["temperature_text"] = v.State
			default:
				row[v.Sensor] = v.State
			}
		}
		all[e.PartitionKey+"/"+e.RowKey] = fmt.Sprint(row)
	}
	return all
}
