package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// ownRows are readings with values and names that files could spoil.
func ownRows() (all []tables.Entity) {
	at := time.Date(2025, 3, 1, 0, 0, 0, 1234500, time.UTC)
	for i, of := range []map[string]tables.Value{
		{"temp": tables.Double(21.5), "state": tables.String("=on"), "ok": tables.String("good")},
		{"temp": tables.Double(-3), "state": tables.String("-5V"), "ok": tables.String("bad")},
		{"state": tables.String("'quoted"), "big": tables.Int64(1<<53 + 1), "small": tables.Int64(7)},
		{"state": tables.String(""), "device": tables.String("inner"), "value": tables.Double(1e-9)},
		{"state": tables.String(" unknown "), "lat": tables.Double(91), "site": tables.String("s"),
			"text": tables.String("-")},
		{"state": tables.String("0042"), "on": tables.Boolean(true), "row": tables.Double(7e6), "time": tables.String("NA"),
			"said": tables.String("true")},
		{"raw": tables.Binary([]byte{0, 255}), "state": tables.String("\ra,\"b\"\n#c\r\nd\re")},
	} {
		e := tables.Entity{PartitionKey: "own-1", RowKey: schema.RowKey{Ticks: tables.TicksOf(at) + tables.Ticks(i),
			Suffix: fmt.Sprint("s", i)}.String()}
		for name, v := range of {
			e.Set(name, v)
		}
		all = append(all, e)
	}
	return all
}

// goodIsGood is the configuration of both fleets.
const goodIsGood = "pipelines: [{name: live, processors: [latest]}]\nquality: {sensor: ok, good: [good]}\n"

// meansGood is what that says.
func meansGood() fold.Sensors { return fold.Sensors{Quality: "ok", Good: []string{"good"}} }

func meantRows(t *testing.T, rows []tables.Entity, sensors fold.Sensors) (all []fold.Sample) {
	t.Helper()
	for _, e := range rows {
		r, err := schema.ReadingOf(e)
		must(t, err)
		s, _ := sensors.Sample(r)
		slices.SortFunc(s.Values, func(a, b fold.SensorValue) int { return strings.Compare(a.Sensor, b.Sensor) })
		slices.SortFunc(s.Exact, func(a, b fold.ExactValue) int { return strings.Compare(a.Sensor, b.Sensor) })
		all = append(all, s)
	}
	return all
}

// ownOutputs returns rows in each form in which programs get readings: as their device sent them, and as their model
// means them.
func ownOutputs(t *testing.T, f *fixture, rows []tables.Entity, model fold.Sensors) (sent, meant map[string]string) {
	t.Helper()
	sent, meant = map[string]string{}, map[string]string{}
	for _, format := range []string{"jsonl", "csv"} {
		sent["raw."+format] = f.must("query own-1 --raw --from 2025-03-01 --to 2025-03-02 --format " + format)
	}
	samples := meantRows(t, rows, model)
	for _, format := range []answers.Format{answers.JSONL, answers.CSV, answers.Arrow} {
		var b bytes.Buffer
		w := answers.NewWriter(format, &b, answers.Reading{}, nil)
		for _, s := range samples {
			must(t, w.Row(answers.ReadingOf(query.Reading{Device: "own-1", Row: s.Key.String(), Time: s.Key.Ticks}, s.Values)))
		}
		must(t, w.End())
		meant["v1."+string(format)] = b.String()
	}
	var series []columnar.NamedSeries
	for i := range samples {
		for _, s := range columnar.SeriesOf(&samples[i]) {
			name := fmt.Sprintf("%s_%d", s.Sensor, s.Kind)
			if one := (columnar.NamedSeries{Series: s, Name: name}); !slices.Contains(series, one) {
				series = append(series, one)
			}
		}
	}
	for name, columns := range map[string][]columnar.NamedSeries{"archive.parquet": series,
		"more.parquet": {{Series: columnar.Series{Kind: columnar.More}, Name: "more"}}} {
		var b bytes.Buffer
		w := columnar.NewReadings(&b, columns)
		for i := range samples {
			must(t, w.Write("own-1", nil, &samples[i]))
		}
		must(t, w.Close())
		meant[name] = b.String()
	}
	return sent, meant
}

// TestWhatFurrowWritesIsRead: in the fleet that it comes from nothing of it is new, and in an empty one it is the same
// fleet, with its keys, doubtful readings, and texts.
func TestWhatFurrowWritesIsRead(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	f.must("enrollment add e1 --tenant contoso")
	writeFile(t, "site.yaml", goodIsGood)
	f.must("config apply site.yaml")
	f.createTables()
	rows := ownRows()
	d := newDevice("own-1", "contoso", 2026, 10)
	d.Enrollment = "e1"
	f.add(d, rows...)
	sent, meant := ownOutputs(t, f, rows, meansGood())
	read := func(f *fixture) (all []tables.Entity) {
		for e, err := range f.client.Table(f.names.Readings()).Entities(t.Context(), tables.Query{}) {
			must(t, err)
			all = append(all, e)
		}
		return all
	}
	check := func(name, content string, same func(*fixture, []tables.Entity)) {
		t.Helper()
		writeFile(t, name, content)
		if out := f.must("import " + name + " --enrollment e1"); !strings.Contains(out, "wrote 0 rows") ||
			strings.Contains(out, "conflict") || strings.Contains(out, "without a value") {
			t.Errorf("%s into the same fleet:\n%s", name, out)
		}
		other := newFixture(t)
		other.must("enrollment add e1 --tenant contoso")
		other.must("config apply site.yaml")
		if out := other.must("import " + name + " --enrollment e1"); !strings.Contains(out, "wrote 7 rows") {
			t.Errorf("%s into an empty fleet:\n%s", name, out)
		}
		same(other, read(other))
	}
	for name, content := range sent {
		check(name, content, func(other *fixture, _ []tables.Entity) {
			got, _ := ownOutputs(t, other, nil, meansGood())
			for form, want := range sent { // JSON lines have the types of values
				if got[form] != want {
					t.Errorf("%s becomes\n%s\nwant\n%s", name, got[form], want)
				}
			}
		})
	}
	for name, content := range meant {
		check(name, content, func(_ *fixture, got []tables.Entity) {
			all := meantRows(t, rows, meansGood())
			for i, s := range meantRows(t, got, meansGood()) {
				want := all[i]
				if !strings.HasSuffix(name, ".parquet") {
					want.Exact, s.Exact = nil, nil // answers have neither bytes nor more digits than a double
				}
				if fmt.Sprint(s) != fmt.Sprint(want) {
					t.Errorf("%s becomes\n%v\nwant\n%v", name, s, want)
				}
			}
		})
	}
	writeFile(t, "site.yaml", goodIsGood+"sensors: {temp: {as: t, scale: 2}}\n")
	f.must("config apply site.yaml")
	model := meansGood()
	model.Named = map[string]fold.Meaning{"temp": {As: "t", Scale: 2}}
	_, meant = ownOutputs(t, f, rows, model)
	for name, content := range meant {
		writeFile(t, name, content)
		if out := f.must("import " + name + " --enrollment e1"); !strings.Contains(out, "wrote 0 rows") ||
			strings.Contains(out, "conflict") {
			t.Errorf("%s, whose model converts values, into the same fleet:\n%s", name, out)
		}
	}
}
