package main

import (
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/latest"
	"furrow/jobs/processors"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/schema"
)

// A queryFixture is an account with readings of a few devices, folded by a real
// pipeline. What asks it goes through a proxy that sees every request.
type queryFixture struct {
	connection string
	client     *tables.Client // past the proxy
	names      schema.Names
	begin, end time.Time // of all readings
	devices    []schema.Device
	rows       map[schema.DeviceID][]tables.Entity // in row order

	mu       sync.Mutex
	requests []*http.Request
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newQueryFixture(t *testing.T) *queryFixture {
	t.Helper()
	served := azuretest.Local(t)
	target, err := url.Parse(served.TableURL)
	must(t, err)
	y := &queryFixture{rows: map[schema.DeviceID][]tables.Entity{},
		end: time.Now().UTC().Add(-time.Hour).Truncate(time.Second)}
	y.begin = y.end.Add(-60 * time.Hour)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	proxy.ErrorLog = log.New(io.Discard, "", 0) // requests are given up when a query is
	seen := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		y.mu.Lock()
		y.requests = append(y.requests, r.Clone(t.Context()))
		y.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(seen.Close)
	account, err := tables.ParseAccount(served.ConnectionString())
	must(t, err)
	y.client, err = tables.Connect(tables.Config{Account: account})
	must(t, err)
	served.TableURL = seen.URL + target.Path
	y.connection = served.ConnectionString()
	for _, name := range processors.Tables(y.names, "live") {
		must(t, y.client.Table(name).Create(t.Context()))
	}
	return y
}

// newFleet is a yard of devices of two tenants and two months, one of them
// without a record, and of readings with all that is odd about some.
func newFleet(t *testing.T) *queryFixture {
	t.Helper()
	y := newQueryFixture(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i, id := range []schema.DeviceID{"contoso:us-1:a", "contoso:us-1:b", "contoso:us-2:c", "-2:odd", "fabrikam:x"} {
		d := schema.Device{ID: id, Tenant: "contoso", Month: schema.Month{Year: 2026, Month: 10},
			Readings: y.names.Readings(), Status: schema.Active}
		if i > 1 {
			d.Month.Month = 11
		}
		if id == "fabrikam:x" {
			d.Tenant = "fabrikam"
		}
		y.add(t, d)
		y.write(t, id, oddRows(y, random, id))
	}
	y.fold(t)
	return y
}

// oddRows are readings at random times, some of them malformed.
func oddRows(y *queryFixture, random *rand.Rand, id schema.DeviceID) (rows []tables.Entity) {
	hostile := []string{"open", "=1+1", "a,\"b\"\nc", "+cmd|' /C calc'!A0", "@sum", "'quoted", "\tx", "-", "—"}
	for n := range 400 {
		at := y.begin.Add(time.Duration(random.Int64N(int64(y.end.Sub(y.begin)))))
		if n == 0 {
			at = y.end
		}
		e := tables.Entity{PartitionKey: string(id), RowKey: tables.TicksOf(at).String()}
		e.Set("temperature", tables.Double(random.NormFloat64()*math.Pow(10, float64(random.IntN(30)-10))))
		e.Set("door", tables.String(hostile[n%len(hostile)]))
		switch n % 5 {
		case 1:
			e.RowKey += fmt.Sprint("-", n)
			e.Set("humidity", tables.String(fmt.Sprint(random.IntN(1000)-500)))
		case 2:
			e.Set("humidity", tables.Int64(int64(random.IntN(1000))))
		case 3:
			// a job keeps a hundred rejects
			e.Set("humidity", tables.String(map[bool]string{true: "nan", false: "7.25"}[n%2 == 0]))
		case 4:
			if n%3 == 0 {
				e.RowKey += "x"
			}
		}
		rows = append(rows, e)
	}
	slices.SortFunc(rows, func(a, b tables.Entity) int { return strings.Compare(a.RowKey, b.RowKey) })
	return rows
}

// add makes a device known, by a record and in the fleet.
func (y *queryFixture) add(t *testing.T, d schema.Device) {
	t.Helper()
	e, err := d.Entity()
	must(t, err)
	_, err = y.client.Table(y.names.Devices()).Do(t.Context(), tables.Insert(e))
	must(t, err)
	e, err = d.Member().Entity()
	must(t, err)
	_, err = y.client.Table(y.names.Fleet()).Do(t.Context(), tables.Insert(e))
	must(t, err)
	y.devices = append(y.devices, d)
}

func (y *queryFixture) write(t *testing.T, id schema.DeviceID, rows []tables.Entity) {
	t.Helper()
	var ops []tables.Op
	for _, e := range rows {
		ops = append(ops, tables.Insert(e))
	}
	groups, err := tables.Cut(ops)
	must(t, err)
	for _, g := range groups {
		_, err := y.client.Table(y.names.Readings()).Submit(t.Context(), g)
		must(t, err)
	}
	y.rows[id] = append(y.rows[id], rows...)
}

// fold folds all that was written, as workers do.
func (y *queryFixture) fold(t *testing.T) {
	t.Helper()
	p := &jobs.Pipeline{Name: "live", Client: y.client, Names: y.names,
		Processors: []jobs.Configured{latest.Processor.Default(), rollup.Processor.Default()}}
	for _, d := range y.devices {
		for more := true; more; {
			r, err := p.Run(t.Context(), jobs.Batch{First: d.Member().Place(), Last: d.Member().Place()})
			must(t, err)
			for _, err := range r.Failed {
				t.Fatal(err)
			}
			more = len(r.Behind) > 0 || r.Rest != schema.Place{}
		}
	}
}

// query asks the yard, over its whole time, and wants an answer.
func (y *queryFixture) query(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := y.furrow(t, append([]string{"query"}, args...)...)
	if code != exitOK || errs != "" {
		t.Fatalf("furrow query %q: exit %d, %s", args, code, errs)
	}
	return out
}

func (y *queryFixture) furrow(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return furrow(t.Context(), append(args, "--storage", y.connection)...)
}

// span is the flags of the yard's whole time.
func (y *queryFixture) span() []string {
	return []string{"--from", y.begin.Format(time.RFC3339), "--to", y.end.Add(time.Second).Format(time.RFC3339)}
}

// asked are the requests since the last time.
func (y *queryFixture) asked() []*http.Request {
	y.mu.Lock()
	defer y.mu.Unlock()
	asked := y.requests
	y.requests = nil
	return asked
}
