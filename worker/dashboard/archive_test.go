package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/delta"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/model/modeltest"
)

// archiving keeps an archive. It has no run.
func archiving() model.Pipeline {
	return model.Pipeline{Name: "archive", Cadence: time.Hour, Archive: true}
}

// Blobs are those of an archive.
type blobs map[string][]byte

func (b blobs) Put(_ context.Context, name string, content []byte, _ tables.ETag) error {
	if b[name] != nil {
		return tables.ErrExists
	}
	b[name] = bytes.Clone(content)
	return nil
}

func (b blobs) Get(_ context.Context, name string) ([]byte, tables.ETag, error) {
	if b[name] == nil {
		return nil, "", nil
	}
	return b[name], "1", nil
}

func (b blobs) Delete(_ context.Context, name string) error {
	delete(b, name)
	return nil
}

func (b blobs) List(_ context.Context, folder string) iter.Seq2[catalog.Listed, error] {
	return func(yield func(catalog.Listed, error) bool) {
		for name, content := range maps.Clone(b) {
			if strings.HasPrefix(name, folder) &&
				!yield(catalog.Listed{Name: name, Bytes: int64(len(content)), Written: time.Now()}, nil) {
				return
			}
		}
	}
}

// anArchive makes tables of a fleet.
type anArchive struct {
	*modeltest.Fixture
	blobs blobs
	month schema.Month
}

func newArchive(of *modeltest.Fixture) anArchive {
	return anArchive{of, blobs{}, schema.Month{Year: 2026, Month: 8}}
}

// table returns a table of a tenant, which it makes.
func (a anArchive) table(t testing.TB, tenant schema.Tenant, name string) *catalog.Table {
	t.Helper()
	table := catalog.New(a.Client.Table(a.Names.Catalog())).Table(tenant, name)
	must.Succeed(t, table.Create(t.Context(), []delta.Column{{Name: "device", Type: delta.Text},
		{Name: "date", Type: delta.Date}}))
	return table
}

// add commits a file of a day, with some rows. Without a watermark, the day stays open.
func (a anArchive) add(t testing.TB, table *catalog.Table, day schema.Day, rows int64, watermark tables.Ticks) {
	t.Helper()
	s := must.Have(table.Begin(t.Context(), day))(t)
	f := must.Have(table.Pend(t.Context(), day))(t)
	f.Months, f.Bytes, f.Stats.Rows = []schema.Month{a.month}, 1000*rows, rows
	d := s.Day(a.month)
	d.Rows, d.Watermark = d.Rows+rows, watermark
	must.Have(table.Commit(t.Context(), s, &catalog.Change{Why: "day closed", Days: []catalog.Day{d},
		New: []catalog.File{f}}))(t)
}

func (a anArchive) publish(t testing.TB, table *catalog.Table) {
	t.Helper()
	must.Have(table.Log(a.blobs).Publish(t.Context()))(t)
}

// repeat gives a table that has one file the same file on more days before that.
func (a anArchive) repeat(t testing.TB, day schema.Day, more int) {
	t.Helper()
	rows := a.Client.Table(a.Names.Catalog())
	for e, err := range rows.Entities(t.Context(), tables.Query{}) {
		must.Succeed(t, err)
		was := e.RowKey
		if !strings.HasPrefix(was, "f!") && !strings.HasPrefix(was, "d!") {
			continue
		}
		var ops []tables.Op
		for n := range more {
			e.RowKey = strings.Replace(was, day.String(), (day - schema.Day(n) - 1).String(), 1)
			ops = append(ops, tables.Insert(e))
		}
		for part := range slices.Chunk(ops, tables.MaxOps) {
			must.Have(rows.Submit(t.Context(), part))(t)
		}
	}
}

// archived asks for what the archive has.
func (v visitor) archived(t *testing.T, target string) (found model.Archive, operations int64) {
	t.Helper()
	code, body, operations := v.ask(http.MethodGet, target, "")
	if code != http.StatusOK {
		t.Fatalf("%s: %d %s", target, code, body)
	}
	must.Succeed(t, json.Unmarshal([]byte(body), &found))
	return found, operations
}

// TestTenantsSeeTheirOwnArchiveAlone has tables of two tenants, and a third that has no devices any more. Of the
// readings of contoso, a version is not published.
func TestTenantsSeeTheirOwnArchiveAlone(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 8, Config{Loopback: true})
	a, today := newArchive(g.Fixture), schema.DayOf(tables.TicksOf(time.Now()))
	for _, tenant := range []schema.Tenant{"contoso", "fabrikam", "gone"} {
		for name, rows := range map[string]int64{"readings": 48, "rollups-1h": 24, "reports-1h": 12} {
			table := a.table(t, tenant, name)
			a.add(t, table, today-2, rows, today.Start())
			a.add(t, table, today-40, rows, today.Start()+7)
			a.publish(t, table)
		}
	}
	a.add(t, a.table(t, "contoso", "readings"), today, 2, 0)
	must.Succeed(t, a.table(t, "contoso", "rollups-1d").RemoveEmpty(t.Context(), a.blobs))
	g.run(t, 8)
	operator := g.signIn(t, g.add(t, "root", schema.Operator, ""))
	contoso := g.signIn(t, g.add(t, "contoso-viewer", schema.Viewer, "contoso"))
	all, operations := operator.archived(t, "/v1/archive?tenant=contoso")
	if len(all.Tables) != 3 || len(all.Waiting) != 1 || all.Waiting[0].Pipeline != "archive" || !all.Archives ||
		operations > 60 {
		t.Fatalf("after %d operations: %+v", operations, all)
	}
	if r := all.Tables[0]; r.Table != "readings" || r.Path != g.Names.Archive()+"/contoso/readings" || r.Days != 3 ||
		r.Rows != 98 || r.Files != 3 || r.Bytes != 98000 || r.Version != 3 || r.Published == nil || *r.Published != 2 ||
		r.Waiting == nil || time.Since(*r.Waiting) > time.Minute || r.Foreign || r.First != (today-40).String() ||
		r.Last != today.String() {
		t.Errorf("readings: %+v", r)
	}
	if r := all.Tables[2]; r.Table != "rollups-1h" || r.Waiting != nil || *r.Published != r.Version {
		t.Errorf("rollups: %+v", r)
	}
	if d := all.Days; len(d) != 2 || d[0].Date != today.String() || !d[0].Open || d[0].Watermark != nil ||
		d[0].Readings != 2 || d[1].Open || d[1].Readings != 48 || d[1].Rollups != 24 || d[1].Reports != 12 ||
		d[1].Files != 3 || d[1].Bytes != 84000 || !d[1].Watermark.Equal(today.Start().Time()) {
		t.Errorf("days: %+v", d)
	}
	if v := all.Versions; len(v) != 10 || v[0].Table != "readings" || v[0].Version != 3 || v[0].Published ||
		v[0].Why != "day closed" || v[0].RowsAdded != 2 || v[0].FilesAdded != 1 || !v[9].Published {
		t.Errorf("versions: %+v", v)
	}
	earlier, _ := operator.archived(t, "/v1/archive?tenant=contoso&to="+all.From.Format(time.DateOnly))
	if d := earlier.Days; len(d) != 1 || d[0].Date != (today-40).String() || !earlier.To.Equal(all.From) {
		t.Errorf("earlier: %+v", earlier)
	}
	for _, target := range []string{"/v1/archive", "/v1/archive?tenant=contoso"} {
		own, _ := contoso.archived(t, target)
		if own.Tenant != "contoso" || len(own.Tables) != 3 || len(own.Days) != 2 || len(own.Waiting) != 0 {
			t.Errorf("%s: %+v", target, own)
		}
	}
	if none, _ := operator.archived(t, "/v1/archive"); none.Tenant != "" || len(none.Tables) > 0 ||
		len(none.Waiting) != 1 {
		t.Errorf("without a tenant: %+v", none)
	}
	if former, _ := operator.archived(t, "/v1/archive?tenant=gone"); len(former.Tables) != 3 {
		t.Errorf("of a tenant without devices: %+v", former)
	}
	for target, want := range map[string]int{"/v1/archive?tenant=nobody": 404, "/v1/archive?from=yesterday": 400,
		"/v1/archive?limit=1": 400, "/archive?tenant=nobody": 404} {
		if code, body, _ := operator.ask(http.MethodGet, target, ""); code != want {
			t.Errorf("%s: %d %s", target, code, body)
		}
	}
	for _, tenant := range []string{"fabrikam", "gone", "nobody"} {
		if code, _, n := contoso.ask(http.MethodGet, "/v1/archive?tenant="+tenant, ""); code != http.StatusNotFound || n > 0 {
			t.Errorf("tenant %s: %d after %d operations", tenant, code, n)
		}
	}
	for _, page := range []string{"/archive", "/archive?tenant=contoso"} {
		_, body, _ := contoso.ask(http.MethodGet, page, "")
		tells(t, page, body)
		if !strings.Contains(body, "not published") || !strings.Contains(body, "delta_scan('az://"+g.Names.Archive()+
			"/contoso/readings')") || strings.Contains(body, "of all tenants") {
			t.Errorf("%s: %s", page, body)
		}
	}
	for page, say := range map[string]string{"/archive": "Choose a tenant", "/archive?tenant=gone": "rollups-1h",
		"/pipelines": `"/archive"`, "/tenants/contoso": "/archive?tenant=contoso"} {
		if _, body, _ := operator.ask(http.MethodGet, page, ""); !strings.Contains(body, say) {
			t.Errorf("%s does not have %s: %s", page, say, body)
		}
	}
}

// TestForeignLogIsShown on the page and in the answer: another program has taken the next version.
func TestForeignLogIsShown(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	a, today := newArchive(g.Fixture), schema.DayOf(tables.TicksOf(time.Now()))
	table := a.table(t, "contoso", "readings")
	a.publish(t, table)
	a.add(t, table, today-1, 5, today.Start())
	a.blobs[table.Folder()+delta.VersionFile(1)] = []byte(`{"commitInfo":{}}`)
	if _, err := table.Log(a.blobs).Publish(t.Context()); !errors.Is(err, catalog.ErrForeign) {
		t.Fatal(err)
	}
	g.run(t, 2)
	v := g.signIn(t, g.add(t, "contoso-viewer", schema.Viewer, "contoso"))
	found, _ := v.archived(t, "/v1/archive")
	if r := found.Tables; len(r) != 1 || !r[0].Foreign || *r[0].Published != 0 || r[0].Version != 1 ||
		r[0].Waiting == nil {
		t.Errorf("%+v", found)
	}
	if _, body, _ := v.ask(http.MethodGet, "/archive", ""); !strings.Contains(body,
		"Another program writes into the log") {
		t.Error(body)
	}
}

// TestThreeYearsOfDaysAreShownAtOnce reads no more than a few pages of the catalog, whatever span is asked for.
func TestThreeYearsOfDaysAreShownAtOnce(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	a, today := newArchive(g.Fixture), schema.DayOf(tables.TicksOf(time.Now()))
	a.add(t, a.table(t, "contoso", "readings"), today-1, 5, today.Start())
	a.repeat(t, today-1, 1099)
	g.run(t, 2)
	v := g.signIn(t, g.add(t, "root", schema.Viewer, ""))
	for target, days := range map[string]int{"/v1/archive?tenant=contoso": 31,
		"/v1/archive?tenant=contoso&from=1970-01-01&to=9999-12-31": 100, "/v1/archive?tenant=contoso&to=-800d": 31,
		"/v1/archive?tenant=contoso&to=-3000d": 0, "/v1/archive?tenant=contoso&from=9000-01-01": 0,
		"/v1/archive?tenant=contoso&to=0001-01-02": 0} {
		began := time.Now()
		found, operations := v.archived(t, target)
		if len(found.Days) != days || found.Tables[0].Days != 1100 || found.Tables[0].Rows != 5500 || operations > 25 {
			t.Errorf("%s: %d days after %d operations, %+v", target, len(found.Days), operations, found.Tables)
		}
		t.Logf("%s: %v, %d operations", target, time.Since(began), operations)
	}
}

// TestArchiveOfTwoAccountsIsOne for a tenant with tables in both.
func TestArchiveOfTwoAccountsIsOne(t *testing.T) {
	t.Parallel()
	fleets := []*modeltest.Fixture{modeltest.New(t, azuretest.Local(t)), modeltest.New(t, azuretest.Local(t))}
	today := schema.DayOf(tables.TicksOf(time.Now()))
	for i, f := range fleets {
		f.Add(t, schema.Device{ID: schema.DeviceID([]string{"pump-1", "pump-2"}[i])})
		a := newArchive(f)
		a.add(t, a.table(t, "contoso", "readings"), today-1, 5, today.Start()+tables.Ticks(i))
		a.add(t, a.table(t, "contoso", "readings"), today, 1, tables.Ticks(i)*today.Start())
	}
	f := overAccounts(t, fleets, Config{Loopback: true}, archiving())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = f.c.Model.Run(ctx) }()
	var found model.Archive
	until(t, "both accounts are read", func() bool {
		w := f.get("/v1/archive?tenant=contoso")
		found = model.Archive{}
		return json.Unmarshal(w.Body.Bytes(), &found) == nil && len(found.Tables) == 2
	})
	if found.Tables[0].Storage != "account 1" || found.Tables[1].Storage != "account 2" || len(found.Waiting) != 2 {
		t.Errorf("%+v", found)
	}
	if d := found.Days; len(d) != 2 || !d[0].Open || d[0].Readings != 2 || d[0].Watermark != nil || d[1].Files != 2 ||
		d[1].Readings != 10 || !d[1].Watermark.Equal(today.Start().Time()) {
		t.Errorf("days: %+v", d)
	}
}
