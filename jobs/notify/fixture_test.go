package notify_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs/notify"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

var (
	seeds    = flag.Int("seeds", 6, "number of random schedules in each test")
	seedFrom = flag.Uint64("seed", 0, "first seed; 0 for a random one")
)

const (
	secret   = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	pipeline = schema.Pipeline("live")
)

// A fixture is a fleet's tables with incidents, and a clock that is storage's time.
type fixture struct {
	t       *testing.T
	account tables.Account
	names   schema.Names
	client  *tables.Client // without faults
	clock   atomic.Int64   // Unix seconds
	home    schema.LatestPartition
}

var start = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	in := azuretest.FromEnv(t)
	f := &fixture{t: t, account: must.Have(tables.ParseAccount(in.ConnectionString()))(t),
		names: must.Have(schema.ParseNames(azuretest.Name("n")[:20]))(t),
		home:  schema.LatestPartition{Tenant: "contoso", Month: schema.Month{Year: 2026, Month: 11}}}
	f.clock.Store(start.Unix())
	f.client = f.connect(http.DefaultTransport)
	for _, name := range []string{f.names.Deliveries(), f.names.Output("incidents"), f.names.Runs()} {
		must.Succeed(t, f.client.Table(name).Create(t.Context()))
		if in.Kind != azuretest.Embedded {
			t.Cleanup(func() { must.Succeed(t, f.client.Table(name).Delete(context.WithoutCancel(t.Context()))) })
		}
	}
	return f
}

// connect returns a client whose answers tell the fixture's time.
func (f *fixture) connect(next http.RoundTripper) *tables.Client {
	f.t.Helper()
	through := faults.Func(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil {
			resp.Header.Set("Date", f.now().Format(http.TimeFormat))
		}
		return resp, err
	})
	return must.Have(tables.Connect(tables.Config{Account: f.account, Transport: through,
		Retry: policy.RetryOptions{MaxRetries: -1}}))(f.t)
}

func (f *fixture) now() time.Time           { return time.Unix(f.clock.Load(), 0).UTC() }
func (f *fixture) advance(by time.Duration) { f.clock.Add(int64(by / time.Second)) }

// notifier returns one for a webhook at a receiver.
func (f *fixture) notifier(client *tables.Client, targets ...notify.Target) *notify.Notifier {
	f.t.Helper()
	for i := range targets {
		must.Succeed(f.t, targets[i].Check())
	}
	return &notify.Notifier{Pipeline: pipeline, Client: client, Names: f.names, Targets: targets}
}

// hook returns a target that is a webhook on this machine.
func (f *fixture) hook(url string) notify.Target {
	f.t.Helper()
	return notify.Target{Name: "ops", Kind: &notify.Webhook{URL: url, SecretFile: f.secret(secret), Private: true}}
}

// secret returns a file with a text.
func (f *fixture) secret(text string) string {
	f.t.Helper()
	file := filepath.Join(f.t.TempDir(), "secret")
	must.Succeed(f.t, os.WriteFile(file, []byte(text+"\n"), 0o600))
	return file
}

// transition returns a transition of an incident of a device, found now.
func (f *fixture) transition(device string, number int) schema.Transition {
	first := tables.TicksOf(start)
	t := schema.Transition{Home: f.home, ID: schema.IncidentID{Rule: "hot", Device: schema.DeviceID(device), First: first},
		Number: number, What: schema.Opened, At: first + tables.Ticks(number-1), Since: first, Found: tables.TicksOf(f.now()),
		Severity: "critical", Value: "191", Text: "oil is 191", Site: "plant-3", Labels: map[string]string{
			"email": device + "@example.com", "pair": fmt.Sprint(int(device[len(device)-1]) / 2)}, Notify: true}
	switch {
	case number%2 == 0:
		t.What, t.Text = schema.Closed, "closed after 5m"
	case number > 1:
		t.What = schema.Reopened
	}
	return t
}

// happen writes transitions and their deliveries, as the jobs of devices do, and wakes the target.
func (f *fixture) happen(n *notify.Notifier, target schema.Target, all ...schema.Transition) (ids []string) {
	f.t.Helper()
	for _, t := range all {
		must.Have(f.client.Table(f.names.Output("incidents")).Do(f.t.Context(), tables.Insert(t.Entity())))(f.t)
		d := schema.Delivery{Target: target, Transition: t}
		must.Have(f.client.Table(f.names.Deliveries()).Do(f.t.Context(), tables.Insert(d.Entity())))(f.t)
		ids = append(ids, d.ID())
	}
	must.Have(n.Wake(f.t.Context(), target))(f.t)
	return ids
}

// rows returns what a target is still to be told.
func (f *fixture) rows(target schema.Target) (all []schema.Delivery) {
	f.t.Helper()
	q := tables.Query{Range: tables.Range{Partitions: schema.DeliveriesTo(target)}}
	for e, err := range f.client.Table(f.names.Deliveries()).Entities(f.t.Context(), q) {
		must.Succeed(f.t, err)
		all = append(all, must.Have(schema.DeliveryOf(e))(f.t))
	}
	return all
}

// all returns the rows of a table.
func (f *fixture) all(table string) (all []tables.Entity) {
	f.t.Helper()
	for e, err := range f.client.Table(table).Entities(f.t.Context(), tables.Query{}) {
		must.Succeed(f.t, err)
		all = append(all, e)
	}
	return all
}

// records returns the outcomes of deliveries, by ID.
func (f *fixture) records() map[string]schema.DeliveryRecord {
	f.t.Helper()
	all := map[string]schema.DeliveryRecord{}
	for _, e := range f.all(f.names.Output("incidents")) {
		if strings.Contains(e.RowKey, "!d0") {
			r := must.Have(schema.DeliveryRecordOf(e))(f.t)
			all[r.ID()] = r
		}
	}
	return all
}

func (f *fixture) state(target schema.Target) schema.TargetState {
	f.t.Helper()
	pk, rk := schema.TargetKeys(pipeline, target)
	return must.Have(schema.TargetStateOf(must.Have(f.client.Table(f.names.Runs()).Get(f.t.Context(), pk, rk))(f.t)))(f.t)
}

// A cloudEvent is what a receiver reads.
type cloudEvent struct {
	SpecVersion, ID, Type, Source string
	Data                          struct {
		Target    string
		Group     map[string]string
		Incidents []struct {
			Delivery, ID, What, Text, Tenant, Rule string
			Repeat                                 int
		}
	}
}

func (e cloudEvent) deliveries() (ids []string) {
	for _, i := range e.Data.Incidents {
		ids = append(ids, i.Delivery)
	}
	return ids
}

// A receiver is a webhook that checks signatures and keeps what it accepts.
type receiver struct {
	t      *testing.T
	server *httptest.Server
	// refuse decides the answer to a message: a status, or 0 to break the connection. It may be nil.
	refuse func(r *http.Request, e cloudEvent) int
	// retryAfter is the header of answers that refuse; empty: none.
	retryAfter string

	mu       sync.Mutex
	accepted []cloudEvent
	tried    int
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender has died
	}
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err == nil {
		err = verifier.Verify(body, req.Header)
	}
	var e cloudEvent
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	if err != nil || e.SpecVersion != "1.0" || e.ID != req.Header.Get("webhook-id") {
		r.t.Errorf("a message that is no signed event: %v, %s", err, body)
		return
	}
	status := http.StatusNoContent
	if r.refuse != nil {
		status = r.refuse(req, e)
	}
	r.mu.Lock()
	r.tried++
	if status/100 == 2 {
		r.accepted = append(r.accepted, e)
	}
	r.mu.Unlock()
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	if status/100 != 2 && r.retryAfter != "" {
		w.Header().Set("Retry-After", r.retryAfter)
	}
	w.WriteHeader(status)
	fmt.Fprint(w, "a receiver's words")
}

// ids returns the deliveries that were accepted, in their order.
func (r *receiver) ids() (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.accepted {
		ids = append(ids, e.deliveries()...)
	}
	return ids
}

// deliver does a job that must succeed.
func deliver(t *testing.T, n *notify.Notifier, target schema.Target) notify.Result {
	t.Helper()
	r := must.Have(n.Deliver(context.WithoutCancel(t.Context()), target))(t)
	for key, err := range r.Strange {
		t.Errorf("%s: %v", key, err)
	}
	return r
}
