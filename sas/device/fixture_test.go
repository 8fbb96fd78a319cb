package device_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"furrow/sas"
	"furrow/sas/device"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/schema"
)

// A fixture is storage, a token endpoint in front of it, and devices that send numbered
// readings. The devices run in a synctest bubble. The server's clock starts at the time
// when the fixture was made and advances with the bubble's clock. The fixture is made outside
// of the bubble, because its storage uses the network.
type fixture struct {
	t        testing.TB
	reports  reports
	account  azuretest.Account
	table    *aztables.Client
	name     string
	key      sas.Key // of the enrollment
	made     time.Time
	requests chan *http.Request
	answers  chan answered

	mu       sync.Mutex
	accepted map[int]time.Time // readings by number, with the server's time
	next     int
	start    time.Time // in the bubble
	life     time.Duration
	backfill time.Duration
	batch    int
	offline  bool
	refuse   func(now time.Time) *problem       // the endpoint's response instead of a token
	storage  func(*http.Request) *http.Response // replaces storage's response unless nil
	revoked  map[string]bool                    // by signature
	tokens   []string                           // signatures of issued tokens
	asked    []time.Time                        // requests to the endpoint, by the server's time
	sent     []string                           // operations on storage
	proofs   []error                            // of invalid proofs
}

type answered struct {
	resp *http.Response
	err  error
}

type problem struct {
	Status     int       `json:"status"`
	Code       string    `json:"code"`
	ServerTime time.Time `json:"serverTime"`
	RetryAfter int       `json:"retryAfter,omitempty"`
	header     http.Header
}

const id = "plant:pump-7"

func newFixture(t testing.TB) *fixture {
	t.Helper()
	account := azuretest.Local(t)
	f := &fixture{
		t: t, account: account, name: azuretest.Name("t"), key: sas.NewKey(), made: time.Now(),
		requests: make(chan *http.Request), answers: make(chan answered),
		life: time.Hour, backfill: 7 * 24 * time.Hour, batch: 100,
		revoked: map[string]bool{}, accepted: map[int]time.Time{},
	}
	f.table = account.MakeTable(t, f.name)
	var serving sync.WaitGroup
	serving.Go(func() {
		for req := range f.requests {
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err == nil {
				var body []byte
				body, err = io.ReadAll(resp.Body)
				resp.Body.Close()
				resp.Body = io.NopCloser(bytes.NewReader(body))
			}
			f.answers <- answered{resp, err}
		}
	})
	t.Cleanup(func() { close(f.requests); serving.Wait() })
	return f
}

// config is for a device with a right clock and a buffer in memory.
func (f *fixture) config() device.Config {
	return device.Config{
		Endpoint: "https://endpoint.test", Device: id, Enrollment: "plant1", Key: f.key.Of(id).Base64(),
		Transport: f, Wall: f.now, OnReport: f.reports.add,
	}
}

// now is the server's time.
func (f *fixture) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.start.IsZero() {
		f.start = time.Now()
	}
	return f.made.Add(time.Since(f.start)).Round(0).UTC()
}

func (f *fixture) set(change func(*fixture)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// counts returns the number of requests to the endpoint and of tokens issued.
func (f *fixture) counts() (asked, tokens int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked), len(f.tokens)
}

// RoundTrip is the network between the devices, the endpoint and storage.
func (f *fixture) RoundTrip(req *http.Request) (*http.Response, error) {
	now := f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil || req.Context().Err() != nil {
		return nil, errors.Join(err, req.Context().Err())
	}
	switch {
	case f.offline:
		return nil, errors.New("no route to host")
	case req.URL.Host == "endpoint.test":
		return f.issue(req, now), nil
	}
	query := req.URL.Query()
	f.sent = append(f.sent, fmt.Sprintf("%s %d", req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:],
		strings.Count(string(body), "PartitionKey")))
	if f.storage != nil {
		if resp := f.storage(req); resp != nil {
			return resp, nil
		}
	}
	if expiry, err := time.Parse(time.RFC3339, query.Get("se")); err != nil || !now.Before(expiry) ||
		f.revoked[query.Get("sig")] {
		return odata(403, "AuthenticationFailed"), nil
	}
	out, err := http.NewRequestWithContext(context.Background(), req.Method, req.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = req.Header.Clone()
	f.requests <- out
	a := <-f.answers
	return a.resp, a.err
}

// issue is the endpoint's handler.
func (f *fixture) issue(req *http.Request, now time.Time) *http.Response {
	f.asked = append(f.asked, now)
	refuse := func(status int, code string) *http.Response {
		return answer(status, http.Header{"Content-Type": {"application/problem+json"}},
			problem{Status: status, Code: code, ServerTime: now})
	}
	proof, err := sas.ParseProof(req.Header.Get("Authorization"))
	if err == nil {
		err = proof.Verify(now, f.key.Of(id))
	}
	switch {
	case req.URL.Path != "/v1/devices/"+id+"/token" || req.Method != "POST":
		return refuse(404, "not-found")
	case errors.Is(err, sas.ErrProofExpired):
		f.proofs = append(f.proofs, err)
		return refuse(401, "proof-expired")
	case err != nil || proof.Resource != "plant1/registrations/"+id:
		f.proofs = append(f.proofs, err)
		return refuse(401, "proof-wrong")
	}
	if f.refuse != nil {
		if p := f.refuse(now); p != nil {
			p.ServerTime = now
			return answer(p.Status, p.header, p)
		}
	}
	key, _ := base64.StdEncoding.DecodeString(f.account.Key)
	first, last := tables.TicksOf(now.Add(-f.backfill)).String(), tables.TicksOf(now.Add(f.life+15*time.Minute)).String()
	grant := sas.Grant{Table: f.name, Permissions: "a", Expiry: now.Add(f.life), Protocol: sas.HTTPSAndHTTP,
		StartPartition: id, EndPartition: id, StartRow: first, EndRow: last}
	token, err := grant.Sign(f.account.Name, key)
	if err != nil {
		panic(err)
	}
	query, _ := url.ParseQuery(token)
	f.tokens = append(f.tokens, query.Get("sig"))
	return answer(200, nil, map[string]any{
		"device": id, "url": f.account.TableURL + "/" + f.name, "sas": token, "partitionKey": id,
		"rowKeyFormat":   "ticks19[-suffix]",
		"earliestRowKey": first, "latestRowKey": last, "expires": now.Add(f.life).Format(time.RFC3339),
		"renewAfter": now.Add(f.life * 2 / 3).Format(time.RFC3339), "serverTime": now, "sendEvery": 60, "batch": f.batch,
		"newer": "member",
	})
}

func answer(status int, header http.Header, body any) *http.Response {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(b))}
}

func odata(status int, code string) *http.Response {
	return answer(status, nil, map[string]any{"odata.error": map[string]any{"code": code,
		"message": map[string]any{"value": "Words.\nRequestId:1"}}})
}

// reports collects the reports of a device.
type reports struct {
	mu  sync.Mutex
	all []device.Report
}

func (r *reports) add(one device.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

// of counts the reports with a reason.
func (r *reports) of(why device.Reason) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		if one.Reason == why {
			n++
		}
	}
	return n
}

// numbers returns the reasons of reported readings by number.
func (r *reports) numbers() map[int]device.Reason {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := map[int]device.Reason{}
	for _, one := range r.all {
		var values struct{ N int }
		if json.Unmarshal([]byte(one.Values), &values) == nil {
			n[values.N] = one.Reason
		}
	}
	return n
}

// open opens a client of the device.
func (f *fixture) open(change func(*device.Config)) *device.Client {
	config := f.config()
	if change != nil {
		change(&config)
	}
	c, err := device.Open(config)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// send sends the next reading and records it if it was accepted.
func (f *fixture) send(c *device.Client) error {
	f.mu.Lock()
	f.next++
	n := f.next
	f.mu.Unlock()
	err := c.Send(device.Reading{Values: map[string]any{"N": int32(n), "Temperature": 21.5}})
	if err == nil {
		now := f.now()
		f.set(func(f *fixture) { f.accepted[n] = now })
	}
	return err
}

func (f *fixture) mustSend(c *device.Client) {
	if err := f.send(c); err != nil {
		f.t.Error(err)
	}
}

// run runs a client until stop is called.
func (f *fixture) run(c *device.Client) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			f.t.Error(err)
		}
	})
	return func() { cancel(); running.Wait() }
}

// flush waits for at most ten days until all readings of c are stored or reported.
func (f *fixture) flush(c *device.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*24*time.Hour)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		f.t.Errorf("%v; %+v", err, c.Stats())
	}
}

func (f *fixture) close(c *device.Client) {
	if err := c.Close(); err != nil {
		f.t.Error(err)
	}
}

// rows returns the numbers and times in the table in the order of row keys.
func (f *fixture) rows() (numbers []int, times []time.Time) {
	f.t.Helper()
	pager := f.table.NewListEntitiesPager(nil)
	for pager.More() {
		page, err := pager.NextPage(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		for _, raw := range page.Entities {
			var e struct {
				PartitionKey, RowKey string
				N                    int
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				f.t.Fatal(err)
			}
			key, err := schema.ParseRowKey(e.RowKey)
			if err != nil || e.PartitionKey != id {
				f.t.Errorf("row %s %s: %v", e.PartitionKey, e.RowKey, err)
			}
			numbers, times = append(numbers, e.N), append(times, key.Ticks.Time())
		}
	}
	return numbers, times
}

// check verifies that each accepted reading is in the table once, under the time at which
// it was taken, or was reported. It returns the number of stored readings. Call it outside of
// the bubble.
func (f *fixture) check(ordered bool) int {
	f.t.Helper()
	numbers, times := f.rows()
	reported := f.reports.numbers()
	seen := map[int]int{}
	for i, n := range numbers {
		seen[n]++
		taken, ok := f.accepted[n]
		if ok && math.Abs(taken.Sub(times[i]).Seconds()) > 1 {
			f.t.Errorf("reading %d, taken at %s, is stored under %s", n, taken, times[i])
		}
		if ordered && i > 0 && numbers[i-1] >= n {
			f.t.Errorf("reading %d comes after reading %d", n, numbers[i-1])
		}
	}
	for n, times := range seen {
		if times != 1 {
			f.t.Errorf("reading %d is in the table %d times", n, times)
		}
	}
	for n := range f.accepted {
		if _, told := reported[n]; seen[n] == 0 && !told {
			f.t.Errorf("reading %d was accepted, but is neither stored nor reported", n)
		}
	}
	if len(f.accepted) == 0 {
		f.t.Error("nothing was accepted")
	}
	return len(seen)
}
