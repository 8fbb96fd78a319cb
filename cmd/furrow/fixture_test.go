package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/jobs/processors"
	"furrow/jobs/rate"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/schema"
)

// A fixture is a fleet with storage of its own, used through the program's commands.
type fixture struct {
	t       *testing.T
	storage string // a directory that is served, or file:NAME
	client  *tables.Client
	names   schema.Names
	devices []schema.Device
	rows    map[schema.DeviceID][]tables.Entity // in row order

	begin, end time.Time // of all readings
	mu         sync.Mutex
	requests   []*http.Request          // of commands, where storage is behind a proxy
	refuses    func(*http.Request) bool // the proxy refuses a request; nil: none
}

// newFixture serves a directory.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	startStorage(t, "--data", dir)
	return fixtureIn(t, dir)
}

// fixtureIn uses a directory that is served already.
func fixtureIn(t *testing.T, dir string) *fixture {
	t.Helper()
	return &fixture{t: t, storage: dir, client: connect(t, text(t, filepath.Join(dir, "connection"))),
		rows: map[schema.DeviceID][]tables.Entity{}}
}

// newObservedFixture keeps the requests that commands send.
func newObservedFixture(t *testing.T) *fixture {
	t.Helper()
	served := azuretest.Local(t)
	target, err := url.Parse(served.TableURL)
	must(t, err)
	f := &fixture{t: t, client: connect(t, served.ConnectionString()), rows: map[schema.DeviceID][]tables.Entity{},
		end: time.Now().UTC().Add(-time.Hour).Truncate(time.Second)}
	f.begin = f.end.Add(-60 * time.Hour)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	proxy.ErrorLog = log.New(io.Discard, "", 0) // a query that is stopped abandons its requests
	seen := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.requests = append(f.requests, r.Clone(t.Context()))
		refuses := f.refuses
		f.mu.Unlock()
		if refuses != nil && refuses(r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(seen.Close)
	served.TableURL = seen.URL + target.Path
	connection := filepath.Join(t.TempDir(), "connection")
	must(t, os.WriteFile(connection, []byte(served.ConnectionString()), 0o600))
	f.storage = "file:" + connection
	f.createTables()
	return f
}

func connect(t *testing.T, connection string) *tables.Client {
	t.Helper()
	account, err := tables.ParseAccount(connection)
	must(t, err)
	client, err := tables.Connect(tables.Config{Account: account})
	must(t, err)
	return client
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// asked returns the requests since the last call.
func (f *fixture) asked() []*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.requests
	f.requests = nil
	return asked
}

// run runs a command line with the fixture's storage.
func (f *fixture) run(line string, args ...string) (code int, stdout, stderr string) {
	return f.runWith("", line, args...)
}

func (f *fixture) runWith(stdin, line string, args ...string) (code int, stdout, stderr string) {
	args = slices.Concat([]string{"furrow"}, strings.Fields(line), args)
	if !slices.Contains(args, "--storage") {
		args = append(args, "--storage", f.storage)
	}
	var out, errs bytes.Buffer
	code = run(f.t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// both runs a command that must succeed.
func (f *fixture) both(line string, args ...string) (stdout, stderr string) {
	f.t.Helper()
	code, out, errs := f.run(line, args...)
	if code != exitOK {
		f.t.Fatalf("furrow %s %q: exit %d, %s%s", line, args, code, out, errs)
	}
	return out, errs
}

func (f *fixture) must(line string, args ...string) (stdout string) {
	f.t.Helper()
	stdout, _ = f.both(line, args...)
	return stdout
}

// refused runs a command that must fail, like the function refused.
func (f *fixture) refused(code int, says, line string, args ...string) (stderr string) {
	f.t.Helper()
	got, out, errs := f.run(line, args...)
	mustRefuse(f.t, line, code, says, got, out, errs)
	return errs
}

// anyFailure stands for every exit code but that of success.
const anyFailure = -1

// refused runs a command line that must fail with an error that contains says, and print nothing else.
func refused(t *testing.T, code int, says, line string, args ...string) (stderr string) {
	t.Helper()
	got, out, errs := furrow(t.Context(), append(strings.Fields(line), args...)...)
	mustRefuse(t, line, code, says, got, out, errs)
	return errs
}

func mustRefuse(t *testing.T, line string, code int, says string, got int, out, errs string) {
	t.Helper()
	if got != code && (code != anyFailure || got == exitOK) || !strings.Contains(errs, says) ||
		out != "" && !strings.Contains(out, "USAGE") {
		t.Errorf("furrow %s: exit %d, stdout %q, stderr %q; want exit %d and %q", line, got, out, errs, code, says)
	}
}

// jsonOf parses one value of JSON or more, which may have no other members than T.
func jsonOf[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	for d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		all = append(all, v)
	}
	return all
}

// csvRecords parses CSV into a map for each line, by column.
func csvRecords(t *testing.T, text string) (all []map[string]string) {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	for _, line := range lines[1:] {
		r := map[string]string{}
		for i, name := range lines[0] {
			r[name] = line[i]
		}
		all = append(all, r)
	}
	return all
}

// counted sums the readings in the rollups of a tenant.
func (f *fixture) counted(tenant, window string) (sum int) {
	f.t.Helper()
	for _, r := range csvRecords(f.t, f.must("query --last 3d --format csv --tenant", tenant, "--window", window)) {
		n, err := strconv.Atoi(r["count"])
		must(f.t, err)
		sum += n
	}
	return sum
}

func (f *fixture) createTables() {
	f.t.Helper()
	for _, name := range processors.Tables(f.names, "live") {
		must(f.t, f.client.Table(name).Create(f.t.Context()))
	}
}

func newDevice(id schema.DeviceID, tenant schema.Tenant, year int, month time.Month) schema.Device {
	return schema.Device{ID: id, Tenant: tenant, Month: schema.Month{Year: year, Month: month}, Readings: "readings",
		Status: schema.Active}
}

// add registers a device, adds it to the fleet and stores its readings. It replaces rows instead of inserting them,
// because the client repeats a request whose answer is lost.
func (f *fixture) add(d schema.Device, rows ...tables.Entity) {
	f.t.Helper()
	e, err := d.Entity()
	must(f.t, err)
	_, err = f.client.Table(f.names.Devices()).Do(f.t.Context(), tables.InsertOrReplace(e))
	must(f.t, err)
	e, err = d.Member().Entity()
	must(f.t, err)
	_, err = f.client.Table(f.names.Fleet()).Do(f.t.Context(), tables.InsertOrReplace(e))
	must(f.t, err)
	f.devices, f.rows[d.ID] = append(f.devices, d), rows
	if len(rows) == 0 {
		return
	}
	var ops []tables.Op
	for _, e := range rows {
		ops = append(ops, tables.InsertOrReplace(e))
	}
	groups, err := tables.Cut(ops)
	must(f.t, err)
	for _, g := range groups {
		_, err := f.client.Table(f.names.Readings()).Submit(f.t.Context(), g)
		must(f.t, err)
	}
}

// reading returns a row with a temperature.
func reading(id schema.DeviceID, at time.Time, temperature float64) tables.Entity {
	e := tables.Entity{PartitionKey: string(id), RowKey: tables.TicksOf(at).String()}
	e.Set("temperature", tables.Double(temperature))
	return e
}

// seed adds devices of tenant acme with rows a second apart, the last one a minute ago.
func (f *fixture) seed(devices, rows int) {
	f.t.Helper()
	f.createTables()
	start := time.Now().Add(-time.Minute - time.Duration(rows)*time.Second)
	for n := range devices {
		d := newDevice(schema.DeviceID(fmt.Sprintf("acme:d%04d", n)), "acme", 2026, time.Month(9+n%3))
		var own []tables.Entity
		for n := range rows {
			own = append(own, reading(d.ID, start.Add(time.Duration(n)*time.Second), float64(n)))
		}
		f.add(d, own...)
	}
}

// fold folds all rows within this process.
func (f *fixture) fold() {
	f.t.Helper()
	p := f.pipeline()
	for _, d := range f.devices {
		for more := true; more; {
			r, err := p.Run(f.t.Context(), jobs.Batch{First: d.Member().Place(), Last: d.Member().Place()})
			must(f.t, err)
			for _, err := range r.Failed {
				f.t.Fatal(err)
			}
			more = len(r.Behind) > 0 || r.Rest != schema.Place{}
		}
	}
}

// pipeline returns the pipeline of fold.
func (f *fixture) pipeline() *jobs.Pipeline {
	return &jobs.Pipeline{Name: "live", Client: f.client, Names: f.names,
		Processors: []fold.Configured{latest.Processor.Default(), rollup.Processor.Default(), rate.Processor.Default()}}
}

// newFoldedFixture has three devices of 90 rows each, folded by a worker.
func newFoldedFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.seed(3, 90)
	f.must("schedule --once")
	f.work()
	return f
}

// work has a worker do the jobs that are queued.
func (f *fixture) work() {
	f.t.Helper()
	f.must("worker --idle-exit 1s --pipeline live")
}
