package factory

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/cmd/internal/tabular"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// lines reads a text to its end.
func lines(t testing.TB, text string, format tabular.Format) (all []Line, unknown []string) {
	t.Helper()
	f := must.Have(Open(strings.NewReader(text), format))(t)
	for l, err := range f.Lines() {
		must.Succeed(t, err)
		all = append(all, l)
	}
	return all, f.Unknown()
}

func TestEveryFormatGivesTheSameDevices(t *testing.T) {
	want := []sas.Delivery{
		{Device: "a:1", Tenant: "contoso", Site: "us-1", Position: &schema.Position{Lat: -57.5, Lon: 2},
			Labels: map[string]string{"model": "BME, 280", "rev": "2"}, Deployed: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)},
		{Device: "b", Deployed: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)},
	}
	for name, text := range map[string]string{
		"csv": "id,tenant,site,lat,lon,labels,deployed\na:1,contoso,us-1,-57.5,2,\"{\"\"model\"\":\"\"BME, " +
			"280\"\",\"\"rev\"\":2}\",2026-03-04\nb,,,,,,2026-03-04T05:06:07Z\n",
		"of columns": "label.model,Lat,LON, deployed ,id,label.rev,site,tenant\r\n\"BME, " +
			"280\",-57.5,2,2026-03-04,a:1,2,us-1,contoso\r\n,,,2026-03-04T05:06:07Z,b,,,\r\n",
		"semicolons": "\ufeffid;label.model;label.rev;lat;lon;site;tenant;deployed\n\na:1;BME, " +
			"280;2;-57.5;2;us-1;contoso;2026-03-04\nb;;;;;;;2026-03-04T05:06:07Z",
		"tabs": "id\tlabel.model\tlabel.rev\tlat\tlon\tsite\ttenant\tdeployed\na:1\tBME, " +
			"280\t2\t-57.5\t2\tus-1\tcontoso\t2026-03-04\nb\t\t\t\t\t\t\t2026-03-04T05:06:07Z",
		"jsonl": `{"id":"a:1","tenant":"contoso","site":"us-1","lat":-57.5,"lon":2,"labels":{"model":"BME, 280","rev":2},"deployed":"2026-03-04"}
{"id":"b","site":null,"deployed":"2026-03-04T05:06:07Z"}`,
		"flat jsonl": `{"id":"a:1","tenant":"contoso","site":"us-1","lat":"-57.5","lon":"2","label.model":"BME, 280","label.rev":"2","deployed":"2026-03-04"}
{"id":"b","deployed":"2026-03-04T05:06:07Z"}`,
	} {
		format := tabular.CSV
		if strings.Contains(name, "jsonl") {
			format = tabular.JSONL
		}
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		must.Have(z.Write([]byte(text)))(t)
		must.Succeed(t, z.Close())
		for _, text := range []string{text, zipped.String()} {
			got, unknown := lines(t, text, format)
			for i := range want {
				if len(got) != len(want) || got[i].Wrong != nil || !reflect.DeepEqual(got[i].Delivery, want[i]) ||
					len(unknown) > 0 {
					t.Fatalf("%s: got %+v, %q", name, got, unknown)
				}
			}
		}
	}
}

func TestInvalidLineAffectsNoOther(t *testing.T) {
	long := strings.Repeat("x", tabular.MaxLine+10)
	text := "id,lat,lon,deployed,colour,labels\n" +
		"ok1,,,,,\n" +
		"\"open,,,,,\n" + // a quote that is not closed
		"a/b,,,,,\n" +
		",,,,,\n" +
		"lat,91,1,,,\n" +
		"nan,NaN,1,,,\n" +
		"half,1,,,,\n" +
		"date,,,20.11.2026,,\n" +
		"fields,,,\n" +
		"more,,,,,,,x\n" +
		"labels,,,,,[]\n" +
		"twice,,,,,\"{\"\"a\"\":1,\"\"a\"\":2}\"\n" +
		"bytes,,,,,\"{\"\"a\"\":\"\"\xff\"\"}\"\n" +
		long + "\n" +
		"ok2,,,,red,\n" +
		"cut off,"
	got, unknown := lines(t, text, tabular.CSV)
	if len(got) != 16 || len(unknown) != 1 || unknown[0] != "colour" {
		t.Fatalf("%d lines, unknown %q", len(got), unknown)
	}
	for _, l := range got {
		if right := l.Wrong == nil; right != strings.HasPrefix(l.ID, "ok") {
			t.Errorf("line %d, %q: %v", l.Number, l.ID, l.Wrong)
		}
		if l.Wrong != nil && len(l.Wrong.Error()) > 400 {
			t.Errorf("line %d: the reason has %d bytes", l.Number, len(l.Wrong.Error()))
		}
	}
	if last := got[len(got)-1]; last.Number != 17 {
		t.Errorf("the last line is %d", last.Number)
	}
	for _, wrong := range []string{`{"id":"a"`, `[]`, `"a"`, `{"id":{}}`, `{"id":"a","ID":"b"}`, `{"id":"a","labels":[1]}`,
		`{"id":"a","labels":{"x":{}}}`, `{}`, `null`} {
		if got, _ := lines(t, wrong+"\n"+`{"id":"ok"}`, tabular.JSONL); len(got) != 2 || got[0].Wrong == nil ||
			got[1].Wrong != nil {
			t.Errorf("%s: %+v", wrong, got)
		}
	}
}

func TestHeaderMustNameTheIDs(t *testing.T) {
	for text, want := range map[string]string{
		"":                "the file is empty",
		"idd,site\n":      `should "idd" be called id?`,
		"pump-7,us-1\n":   "there is no column id",
		"id,site,ID\n":    `column "id" occurs twice`,
		"\"id,site\nab\n": "a quote",
	} {
		if _, err := Open(strings.NewReader(text), tabular.CSV); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Open(strings.NewReader("\x1f\x8bnonsense, not gzip"), tabular.CSV); err == nil {
		t.Error("half a gzip header is read")
	}
}

// newRegistry returns the registry of a new account, and how to connect to that.
func newRegistry(t *testing.T) (sas.Registry, tables.Config) {
	t.Helper()
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	cfg := tables.Config{Account: account}
	c := must.Have(tables.Connect(cfg))(t)
	r := sas.NewRegistry(c, schema.Names{})
	must.Succeed(t, r.Devices.Create(t.Context()))
	must.Succeed(t, r.Fleet.Create(t.Context()))
	return r, cfg
}

func line4() schema.Enrollment {
	return schema.Enrollment{ID: "line4", Tenant: "contoso", Readings: "readings", Life: time.Hour, Site: "dock",
		Labels: map[string]string{"line": "4"}, Shards: 3}
}

// run imports a text without an error of storage.
func run(t *testing.T, i Import, text string) (Summary, []Note) {
	t.Helper()
	f := must.Have(Open(strings.NewReader(text), tabular.CSV))(t)
	var notes []Note
	sum := must.Have(i.Run(t.Context(), f, func(n Note) { notes = append(notes, n) }))(t)
	return sum, notes
}

// stored returns a table without versions and times.
// stored returns the rows of a table, without the note that a device has had no token: one whose registration was
// interrupted has none, and is looked at in every run.
func stored(t *testing.T, table *tables.Table) map[string]string {
	t.Helper()
	all := map[string]string{}
	for e, err := range table.Entities(t.Context(), tables.Query{}) {
		must.Succeed(t, err)
		e.Set("Awake", tables.Value{})
		all[e.PartitionKey+" "+e.RowKey] = fmt.Sprint(e.Properties)
	}
	return all
}

func TestImportRepeatedChangesNothing(t *testing.T) {
	r, _ := newRegistry(t)
	i := Import{Registry: r, Enrollment: line4()}
	text := "id,site,deployed,label.model\na,us-1,2026-03-04,m\nb,,2026-03-04,\nc,us-2,2025-01-02,m\n"
	if sum, notes := run(t, Import{Registry: r, Enrollment: line4(), DryRun: true},
		text); sum != (Summary{Lines: 3, Added: 3}) || len(notes) > 0 {
		t.Errorf("dry run: %+v, %v", sum, notes)
	}
	if n := len(stored(t, r.Devices)) + len(stored(t, r.Fleet)); n > 0 {
		t.Errorf("the dry run has stored %d rows", n)
	}
	if sum, notes := run(t, i, text); sum != (Summary{Lines: 3, Added: 3}) || len(notes) > 0 {
		t.Errorf("at first: %+v, %v", sum, notes)
	}
	devices, fleet := stored(t, r.Devices), stored(t, r.Fleet)
	if len(devices) != 3 || len(fleet) != 3 {
		t.Errorf("there are %d records, %d rows in the fleet", len(devices), len(fleet))
	}
	if sum, _ := run(t, i, text); sum != (Summary{Lines: 3, Same: 3}) {
		t.Errorf("again: %+v", sum)
	}
	if !maps.Equal(devices, stored(t, r.Devices)) || !maps.Equal(fleet, stored(t, r.Fleet)) {
		t.Error("repeating it has changed something")
	}
	b := must.Have(r.Get(t.Context(), "b"))(t)
	if b.Site != "dock" || b.Labels["line"] != "4" || b.Month.Year != 2026 || b.Month.Month != 3 ||
		b.Month.Shard != sas.ShardOf("b", 3) || b.Tenant != "contoso" {
		t.Errorf("with defaults, b is %+v", b)
	}
}

func TestImportChangesNoMonthTenantOrEnrollment(t *testing.T) {
	r, _ := newRegistry(t)
	i := Import{Registry: r, Enrollment: line4()}
	run(t, i, "id,site,lat,lon,deployed,label.model\na,us-1,1,2,2026-03-04,m\nb,us-1,1,2,2026-03-04,m\n")
	sum, notes := run(t, i, "id,tenant,lat,lon,deployed,label.rev\na,,3,4,2020-01-01,2\nb,fabrikam,3,4,,2\n")
	if sum != (Summary{Lines: 2, Changed: 1, Wrong: 1}) || len(notes) != 1 || notes[0].Line != 3 ||
		notes[0].Device != "b" || !strings.Contains(notes[0].Error, "tenant contoso") {
		t.Errorf("%+v, %+v", sum, notes)
	}
	a := must.Have(r.Get(t.Context(), "a"))(t)
	if a.Site != "us-1" || *a.Position != (schema.Position{Lat: 3, Lon: 4}) || a.Month.String()[:7] != "2026-03" ||
		!maps.Equal(a.Labels, map[string]string{"line": "4", "model": "m", "rev": "2"}) {
		t.Errorf("a is %+v", a)
	}
	other := line4()
	other.ID = "line5"
	if sum, _ := run(t, Import{Registry: r, Enrollment: other}, "id\na\n"); sum.Wrong != 1 {
		t.Errorf("of another enrollment: %+v", sum)
	}
}

func TestImportCompletesAnInterruptedOne(t *testing.T) {
	r, _ := newRegistry(t)
	i := Import{Registry: r, Enrollment: line4()}
	run(t, i, "id\na\nb\n")
	for e, err := range r.Fleet.Entities(t.Context(), tables.Query{}) {
		must.Succeed(t, err)
		must.Have(r.Fleet.Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey, e.ETag)))(t)
	}
	if run(t, i, "id\na\nb\n"); len(stored(t, r.Fleet)) != 2 {
		t.Errorf("the fleet is %v", stored(t, r.Fleet))
	}
}

func TestDuplicatesAndIDsThatDifferByCaseAreReported(t *testing.T) {
	r, _ := newRegistry(t)
	sum, notes := run(t, Import{Registry: r, Enrollment: line4()}, "id,site\npump,a\nPump,b\npump,c\nother,d\n")
	if sum != (Summary{Lines: 4, Added: 3, Wrong: 1, Warnings: 1}) || len(notes) != 2 {
		t.Fatalf("%+v, %+v", sum, notes)
	}
	if notes[0].Line != 3 || notes[0].Warning == "" || notes[1].Line != 4 || !strings.Contains(notes[1].Error, "line 2") {
		t.Errorf("%+v", notes)
	}
	d, err := r.Get(t.Context(), "pump")
	if err != nil || d.Site != "a" {
		t.Errorf("the site is %q, %v; want that of the first line", d.Site, err)
	}
}

// TestImportStoppedAnywhereIsCompletedByRepeatingIt stops it after different numbers of requests.
func TestImportStoppedAnywhereIsCompletedByRepeatingIt(t *testing.T) {
	text := "id,site\n"
	for i := range 40 {
		text += fmt.Sprintf("d%02d,s%d\n", i, i%3)
	}
	whole, _ := newRegistry(t)
	run(t, Import{Registry: whole, Enrollment: line4()}, text)
	r, cfg := newRegistry(t)
	for requests := int64(1); requests < 80; requests += 13 {
		ctx, stop := context.WithCancel(t.Context())
		var n atomic.Int64
		cfg.OnOperation = func(context.Context, tables.Operation) {
			if n.Add(1) == requests {
				stop()
			}
		}
		c := must.Have(tables.Connect(cfg))(t)
		f := must.Have(Open(strings.NewReader(text), tabular.CSV))(t)
		i := Import{Registry: sas.NewRegistry(c, schema.Names{}), Enrollment: line4(), Workers: 4}
		if _, err := i.Run(ctx, f, func(n Note) { t.Errorf("%+v", n) }); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped after %d requests, it returns %v", requests, err)
		}
		stop()
	}
	run(t, Import{Registry: r, Enrollment: line4()}, text)
	if !maps.Equal(stored(t, r.Devices), stored(t, whole.Devices)) ||
		!maps.Equal(stored(t, r.Fleet), stored(t, whole.Fleet)) {
		t.Error("the tables differ from those of one import")
	}
}

func FuzzLines(f *testing.F) {
	for _, text := range []string{"id,site\na,b\n", "id;lat;lon\n\"a\";1;2\n\"b", "\ufeffid\tlabels\na\t{}\n",
		`{"id":"a","labels":{"b":1}}`, "\x1f\x8b", "id\n\r\n,\n\u0085\n"} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, isCSV bool) {
		format := tabular.JSONL
		if isCSV {
			format = tabular.CSV
		}
		file, err := Open(strings.NewReader(text), format)
		if err != nil {
			return
		}
		last := 0
		for l, err := range file.Lines() {
			if err != nil {
				return
			}
			if l.Number <= last {
				t.Errorf("line %d comes after line %d", l.Number, last)
			}
			if last = l.Number; l.Wrong != nil {
				continue
			}
			if _, err := schema.ParseDeviceID(string(l.Delivery.Device)); err != nil {
				t.Errorf("line %d is valid, but %v", l.Number, err)
			}
			if p := l.Delivery.Position; p != nil && !(p.Lat >= -90 && p.Lat <= 90 && p.Lon >= -180 && p.Lon <= 180) {
				t.Errorf("line %d is valid, but at %v", l.Number, *p)
			}
		}
	})
}
