package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/archive/columnar"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
)

// meantCells is a configuration under which rows of an archive do not say what devices have sent.
const meantCells = "pipelines:\n- {name: live, cadence: 1s, settle: 1s, processors: [archive: {rollups: [1h]}]}\n" +
	"sensors: {old: {as: new}, f: {scale: 1.8, offset: 32}, secret: ignored}\n" +
	"long: {name: tag, value: val}\nquality: {sensor: ok, good: [good]}\nheartbeat: new == nil\n"

// newCells has a device with a row of every kind of value in each hour of yesterday, in an archive.
func newCells(t *testing.T) (f *fixture, day schema.Day) {
	t.Helper()
	f = newFixture(t)
	file := filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, file, meantCells)
	f.must("config apply", file)
	f.createTables()
	awayFromMidnight(2 * time.Hour)
	day = schema.DayOf(tables.TicksOf(time.Now().Add(-2*time.Hour))) - 1
	d := newDevice("acme:1", "acme", 2026, time.November)
	var rows []tables.Entity
	for n := range 24 {
		e := reading(d.ID, day.Start().Time().Add(time.Duration(n)*time.Hour+100), 20+float64(n)/7)
		for name, v := range map[string]tables.Value{"f": tables.Double(float64(n)), "secret": tables.Double(1),
			"big": tables.Int64(1<<53 + 1 + 2*int64(n)), "raw": tables.Binary([]byte{byte(n), 0}),
			"door": tables.String("open"), "air": tables.String(`{"co2":400,"p":[1.5]}`), "tag": tables.String("flow"),
			"val": tables.Int32(7), "ok": tables.String([]string{"good", "bad"}[n%2])} {
			e.Set(name, v)
		}
		if n != 5 { // that row is a heartbeat
			e.Set("old", tables.Int32(int32(n)))
		}
		rows = append(rows, e)
	}
	f.add(d, rows...)
	other := newDevice("acme:2", "acme", 2026, time.November)
	f.add(other, reading(other.ID, day.Start().Time().Add(time.Hour), 1))
	f.must("schedule --once")
	f.work()
	f.rewritten(day)
	return f, day
}

// rewritten makes a day of the archive again until that is known to have all rows.
func (f *fixture) rewritten(day schema.Day) {
	f.t.Helper()
	stored, err := f.client.Table(f.names.Readings()).Get(f.t.Context(), "acme:1", f.rows["acme:1"][23].RowKey)
	must(f.t, err)
	for has := tables.Ticks(0); has < stored.Timestamp; {
		f.must("archive rewrite --from", (day - 1).String())
		for e, err := range f.client.Table(f.names.Catalog()).Entities(f.t.Context(), tables.Query{}) {
			must(f.t, err)
			if strings.HasPrefix(e.RowKey, "d!"+day.String()) && e.Get("Watermark").Type() == tables.TypeInt64 {
				has = max(has, tables.Ticks(e.Get("Watermark").Int()))
			}
		}
	}
}

// fileOf returns the only file that a table of the archive has of a day, and where it is.
func (f *fixture) fileOf(table string, day schema.Day) (*archive.Store, string) {
	f.t.Helper()
	account, err := tables.ParseAccount(text(f.t, filepath.Join(f.storage, "connection")))
	must(f.t, err)
	store, err := archive.Connect(archive.StoreConfig{Account: account, Container: f.names.Archive()})
	must(f.t, err)
	return store, jsonOf[model.ArchiveFile](f.t, f.must("archive files --tenant acme --json --table", table, "--from",
		day.String(), "--to", (day+1).String()))[0].Path
}

// mutate writes the readings of a day's only file again, each with a change. It returns a function that undoes this.
func (f *fixture) mutate(day schema.Day, columns func([]columnar.NamedSeries),
	change func(int, *columnar.StoredReading)) (undo func()) {
	f.t.Helper()
	store, path := f.fileOf("readings", day)
	was, etag, err := store.Get(f.t.Context(), path)
	must(f.t, err)
	from, err := columnar.OpenReadings(bytes.NewReader(was), int64(len(was)))
	must(f.t, err)
	if columns != nil {
		columns(from.Series)
	}
	var is bytes.Buffer
	to := columnar.NewReadings(&is, from.Series)
	for n := 0; ; n++ {
		one, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(f.t, err)
		if change != nil {
			change(n, &one)
		}
		must(f.t, to.Write(string(one.Device), one.About, &one.Sample))
	}
	must(f.t, to.Close())
	must(f.t, store.Put(f.t.Context(), path, is.Bytes(), etag))
	return func() {
		_, etag, err := store.Get(f.t.Context(), path)
		must(f.t, err)
		must(f.t, store.Put(f.t.Context(), path, was, etag))
	}
}

// TestVerifyComparesEveryCellOfTheArchive: whatever is another one in a file is named with device, time, sensor and
// both values, whatever a model makes of what the device sent. Before that, nothing differs.
func TestVerifyComparesEveryCellOfTheArchive(t *testing.T) {
	t.Parallel()
	f, day := newCells(t)
	if out := f.must("verify acme:1 --values --pipeline live"); !strings.Contains(out, "Nothing differs.") {
		t.Fatal(out)
	}
	f.must("verify --all --values --pipeline live")
	value := func(n int, sensor string, with func(*columnar.StoredReading, int)) func(int, *columnar.StoredReading) {
		return func(at int, one *columnar.StoredReading) {
			for i := range one.Sample.Values {
				if at == n && one.Sample.Values[i].Sensor == sensor {
					with(one, i)
					return
				}
			}
		}
	}
	exact := func(v tables.Value, sensor string) func(int, *columnar.StoredReading) {
		return func(at int, one *columnar.StoredReading) {
			for i := range one.Sample.Exact {
				if at == 7 && one.Sample.Exact[i].Sensor == sensor {
					one.Sample.Exact[i].Value = v
				}
			}
		}
	}
	renamed := func(names ...string) func([]columnar.NamedSeries) {
		return func(all []columnar.NamedSeries) {
			for i, s := range all {
				for n, name := range names {
					if s.Name == name {
						all[i].Name = names[(n+1)%len(names)]
					}
				}
			}
		}
	}
	for what, m := range map[string]struct {
		columns func([]columnar.NamedSeries)
		change  func(int, *columnar.StoredReading)
		at      string
		want    string
	}{
		"the last digit of a number": {change: value(1, "temperature", func(one *columnar.StoredReading, i int) {
			one.Sample.Values[i].Number = 20.142857142857146
		}), at: "01", want: "temperature: unexplained; 20.142857142857146 instead of 20.142857142857142"},
		"a text": {change: value(2, "door", func(one *columnar.StoredReading, i int) {
			one.Sample.Values[i].State = "open "
		}), at: "02", want: `door: unexplained; "open " instead of "open"`},
		"an integer": {change: exact(tables.Int64(1<<53+16), "big"), at: "07", want: "big: unexplained; " +
			"9007199254741008 (long) instead of 9007199254741007 (long)"},
		"bytes": {change: exact(tables.Binary([]byte{7}), "raw"), at: "07", want: "raw: unexplained; Bw== (bytes) " +
			"instead of BwA= (bytes)"},
		"a value under another sensor": {change: value(3, "air_co2", func(one *columnar.StoredReading, i int) {
			one.Sample.Values[i].Sensor = "flow"
		}), at: "03", want: "air_co2: unexplained; absent instead of 400"},
		"a sensor is missing": {change: value(4, "new", func(one *columnar.StoredReading, i int) {
			one.Sample.Values = append(one.Sample.Values[:i], one.Sample.Values[i+1:]...)
		}), at: "04", want: "new: unexplained; absent instead of 4"},
		"a heartbeat has no bytes": {change: func(n int, one *columnar.StoredReading) {
			if n == 5 {
				one.Sample.Values = nil
				one.Sample.Exact = one.Sample.Exact[:0]
			}
		}, at: "05", want: "raw: unexplained; absent instead of BQA= (bytes)"},
		"a flag": {change: value(6, "f", func(one *columnar.StoredReading, i int) {
			one.Sample.Values[i].Doubtful = true
		}), at: "06", want: "column doubtful: unexplained; doubtful instead of absent"},
		"two columns are swapped": {columns: renamed("f", "flow"), at: "00",
			want: "f: unexplained; 7 instead of 32"},
		"a column is of another type": {columns: renamed("f", "big_long"), at: "00",
			want: `damaged: its column "f" does not have the type double`},
		"a column is not of the table": {columns: renamed("f", "ghost"), at: "00",
			want: `damaged: its column "ghost" is not one of the table`},
	} {
		undo := f.mutate(day, m.columns, m.change)
		for _, of := range []string{"--tenant acme", "--all", "acme:1", "--all --sample 99.99%"} {
			code, out, errs := f.run("verify " + of + " --values --pipeline live")
			at := strings.TrimSuffix(day.String()+"T"+m.at+":00:00", "T00:00:00")
			if code != exitFailed || !strings.Contains(out, at) || !strings.Contains(out, m.want) {
				t.Errorf("%s: exit %d, want %s and %s:\n%s%s", what, code, at, m.want, out, errs)
			}
		}
		if m.columns == nil { // which all devices share
			f.must("verify acme:2 --values --pipeline live")
		}
		undo()
	}
	f.must("verify --all --values --pipeline live")
}

// TestVerifyExplainsCellsThatWait: after other settings, cells are of the former ones until the archive has made its
// days again. A row that was replaced after its day was made waits for that, too.
func TestVerifyExplainsCellsThatWait(t *testing.T) {
	t.Parallel()
	f, day := newCells(t)
	file := filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, file, strings.Replace(meantCells, "offset: 32", "offset: 30", 1))
	f.must("config apply", file)
	out := f.must("verify --all --values --pipeline live")
	if want := "archive cells " + day.String() + "T00:"; !strings.Contains(out, want) ||
		!strings.Contains(out, "f: to be folded again; 32 instead of 30") {
		t.Errorf("%s is not in\n%s", want, out)
	}
	f.must("schedule --once")
	f.work()
	if out := f.must("verify --all --values --pipeline live"); !strings.Contains(out, string("waits for the archive")) {
		t.Errorf("after a fold, there is\n%s", out)
	}
	f.rewritten(day)
	if out := f.must("verify --all --values --pipeline live"); strings.Contains(out, "archive cells") {
		t.Errorf("after all, there is\n%s", out)
	}
	e := f.rows["acme:1"][3]
	e.Set("f", tables.Double(1000))
	_, err := f.client.Table(f.names.Readings()).Do(t.Context(), tables.InsertOrReplace(e))
	must(t, err)
	if out := f.must("verify --all --values --pipeline live"); !strings.Contains(out, "late and waiting; 35.4 instead") {
		t.Errorf("with another row, there is\n%s", out)
	}
}

// TestVerifyComparesTheRollupsOfTheArchive with the raw rows of the readings that it has.
func TestVerifyComparesTheRollupsOfTheArchive(t *testing.T) {
	t.Parallel()
	f, day := newCells(t)
	store, path := f.fileOf("rollups-1h", day)
	was, _, err := store.Get(t.Context(), path)
	must(t, err)
	columns := []columnar.TableColumn{{Name: "device"}, {Name: "time", Type: columnar.Moments}, {Name: "sensor"},
		{Name: "count", Type: columnar.Counts}}
	for _, name := range []string{"sum", "min", "max", "first", "last"} {
		columns = append(columns, columnar.TableColumn{Name: name, Type: columnar.Doubles})
	}
	columns = append(columns, columnar.TableColumn{Name: "first_time", Type: columnar.Moments},
		columnar.TableColumn{Name: "last_time", Type: columnar.Moments})
	for what, m := range map[string]struct {
		change func(row []any) bool // false: it is left out
		want   string
	}{
		"the last digit of a sum": {func(row []any) bool {
			row[4] = math.Nextafter(row[4].(float64), 0)
			return true
		}, "T02:00:00Z temperature: unexplained; [1,20.28571428571428,20.285714285714285,"},
		"a count": {func(row []any) bool {
			row[3] = int64(2)
			return true
		}, "T02:00:00Z temperature: unexplained; [2,"},
		"a time": {func(row []any) bool {
			row[10] = row[10].(tables.Ticks) + 10
			return true
		}, "T02:00:00Z temperature: unexplained; [1,"},
		"a sensor": {func(row []any) bool {
			row[2] = "ghost"
			return true
		}, "T02:00:00Z ghost: unexplained; [1,"},
		"a row less": {func([]any) bool { return false }, "T02:00:00Z temperature: unexplained; absent instead"},
	} {
		var is bytes.Buffer
		to := columnar.NewTable(&is, columns)
		must(t, columnar.ReadTable(bytes.NewReader(was), int64(len(was)), func(row []any) error {
			row = slices.Clone(row)
			for _, i := range []int{1, 9, 10} {
				row[i] = tables.TicksOf(time.UnixMicro(row[i].(int64)))
			}
			if at := day.Start() + 2*tables.Hour; row[1] == at && row[2] == "temperature" && !m.change(row) {
				return nil
			}
			return to.Write(row...)
		}))
		must(t, to.Close())
		_, etag, err := store.Get(t.Context(), path)
		must(t, err)
		must(t, store.Put(t.Context(), path, is.Bytes(), etag))
		code, out, errs := f.run("verify --tenant acme --values --pipeline live")
		if code != exitFailed || !strings.Contains(out, "acme:1 live archive rollups 1h "+day.String()+m.want) {
			t.Errorf("%s: exit %d, want %s:\n%s%s", what, code, m.want, out, errs)
		}
	}
}
