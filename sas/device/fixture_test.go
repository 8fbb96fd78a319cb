package device_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"furrow/sas"
	"furrow/sas/device"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/schema"
)

// A fixture is storage, a token endpoint in front of it, and devices that send numbered
// readings. The devices run in a synctest bubble. The server's clock starts at the time
// when the fixture was made and advances with the bubble's clock.
type fixture struct {
	t       *testing.T
	account azuretest.Account
	table   *aztables.Client
	name    string
	key     sas.Key // of the enrollment
	made    time.Time
	random  bool                      // readings may be stored in any order
	running map[*device.Client]func() // stop the clients' Run

	mu       sync.Mutex
	reports  []device.Report
	accepted map[int]time.Time // readings by number, with the server's time
	next     int
	began    time.Time // in the bubble
	life     time.Duration
	backfill time.Duration
	batch    int
	offline  bool
	rang     func(body string)                  // called for each ring; may be nil
	refuse   func(now time.Time) *problem       // the endpoint's response instead of a token
	storage  func(*http.Request) *http.Response // replaces storage's response unless nil
	revoked  map[string]bool                    // by signature
	tokens   []string                           // signatures of issued tokens
	asked    []time.Time                        // requests to the endpoint, by the server's time
	sent     []string                           // operations on storage
	proofs   []error                            // of invalid proofs
}

type problem struct {
	Status     int       `json:"status"`
	Code       string    `json:"code"`
	ServerTime time.Time `json:"serverTime"`
	header     http.Header
}

const id = "plant:pump-7"

func newFixture(t *testing.T) *fixture {
	t.Helper()
	account := azuretest.Local(t)
	f := &fixture{
		t: t, account: account, name: azuretest.Name("t"), key: sas.NewKey(), made: time.Now(),
		running: map[*device.Client]func(){},
		life:    time.Hour, backfill: 7 * 24 * time.Hour, batch: 100,
		revoked: map[string]bool{}, accepted: map[int]time.Time{},
	}
	f.table = account.MakeTable(t, f.name)
	return f
}

// bubble runs a test in a synctest bubble. It then waits until the readings of all running
// clients are stored or reported, closes them, and checks the table.
func (f *fixture) bubble(rows int, test func()) {
	f.t.Helper()
	synctest.Test(f.t, func(*testing.T) {
		test()
		for c := range f.running {
			f.flush(c)
			f.close(c)
		}
	})
	if n := f.check(); n != rows {
		f.t.Errorf("%d rows, want %d", n, rows)
	}
}

// now is the server's time.
func (f *fixture) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.began.IsZero() {
		f.began = time.Now()
	}
	return f.made.Add(time.Since(f.began)).Round(0).UTC()
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
	if err = errors.Join(err, req.Context().Err()); err != nil {
		return nil, err
	}
	switch {
	case f.offline:
		return nil, errors.New("no route to host")
	case req.URL.Host == "endpoint.test":
		if len(body) > 0 && f.rang != nil {
			f.rang(string(body))
		}
		return f.issue(req, now), nil
	}
	query := req.URL.Query()
	f.sent = append(f.sent, fmt.Sprintf("%s %d", req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:],
		strings.Count(string(body), "PartitionKey")))
	if f.storage != nil {
		req.Body = io.NopCloser(bytes.NewReader(body))
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
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(out) // leaves no goroutine in the bubble
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	resp.Body, resp.Request = io.NopCloser(bytes.NewReader(body)), req
	return resp, err
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
	case errors.Is(err, sas.ErrProofTooLong):
		f.proofs = append(f.proofs, err)
		return refuse(401, "proof-too-long")
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

func (f *fixture) report(r device.Report) {
	f.set(func(f *fixture) { f.reports = append(f.reports, r) })
}

// reported counts the reports with a reason.
func (f *fixture) reported(why device.Reason) (n int) {
	f.set(func(f *fixture) {
		for _, r := range f.reports {
			if r.Reason == why {
				n++
			}
		}
	})
	return n
}

// reasons returns the reasons of reported readings by number.
func (f *fixture) reasons() map[int]device.Reason {
	all := map[int]device.Reason{}
	for _, r := range f.reports {
		var row struct{ N int }
		if json.Unmarshal([]byte(r.Row), &row) == nil {
			all[row.N] = r.Reason
		}
	}
	return all
}

// open opens a client of the device, with a right clock and a buffer in memory unless changed.
func (f *fixture) open(change func(*device.Config)) *device.Client {
	config := device.Config{
		Endpoint: "https://endpoint.test", Device: id, Enrollment: "plant1", Key: f.key.Of(id).Base64(),
		Transport: f, Wall: f.now, OnReport: f.report,
	}
	if change != nil {
		change(&config)
	}
	c := must.Have(device.Open(config))(f.t)
	return c
}

// start opens a client and runs it.
func (f *fixture) start(change func(*device.Config)) *device.Client {
	c := f.open(change)
	f.run(c)
	return c
}

// run runs a client until it is closed.
func (f *fixture) run(c *device.Client) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			f.t.Error(err)
		}
	})
	f.running[c] = func() { cancel(); running.Wait() }
}

// close closes a client, which is as abrupt as a power cut.
func (f *fixture) close(c *device.Client) {
	if stop := f.running[c]; stop != nil {
		stop()
		delete(f.running, c)
	}
	if err := c.Close(); err != nil {
		f.t.Error(err)
	}
}

// flush waits for at most ten days until all readings of c are stored or reported.
func (f *fixture) flush(c *device.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*24*time.Hour)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		f.t.Errorf("%v; %+v", err, c.Stats())
	}
}

// send sends the next reading and records it if it was accepted.
func (f *fixture) send(c *device.Client) error { return f.sendOf(c, time.Time{}) }

// sendOf sends a reading of a time; zero: of now.
func (f *fixture) sendOf(c *device.Client, at time.Time) error {
	f.mu.Lock()
	f.next++
	n := f.next
	f.mu.Unlock()
	err := c.Send(device.Reading{Time: at, Values: map[string]any{"N": int32(n), "Temperature": 21.5}})
	if err == nil {
		if at.IsZero() {
			at = f.now()
		}
		f.set(func(f *fixture) { f.accepted[n] = at })
	}
	return err
}

func (f *fixture) mustSend(c *device.Client) {
	if err := f.send(c); err != nil {
		f.t.Error(err)
	}
}

// mustStore sends a reading and waits until it is stored.
func (f *fixture) mustStore(c *device.Client) {
	f.mustSend(c)
	f.flush(c)
}

// check verifies that each accepted reading is in the table once, in order and under the time
// at which it was taken, or was reported. It returns the number of rows.
func (f *fixture) check() int {
	f.t.Helper()
	seen, last := map[int]bool{}, 0
	pager := f.table.NewListEntitiesPager(nil)
	for pager.More() {
		page := must.Have(pager.NextPage(f.t.Context()))(f.t)
		for _, raw := range page.Entities {
			var e struct {
				PartitionKey, RowKey string
				N                    int
			}
			must.Succeed(f.t, json.Unmarshal(raw, &e))
			key, err := schema.ParseRowKey(e.RowKey)
			if err != nil || e.PartitionKey != id {
				f.t.Errorf("row %s %s: %v", e.PartitionKey, e.RowKey, err)
			}
			taken, ok := f.accepted[e.N]
			if stored := key.Ticks.Time(); ok && taken.Sub(stored).Abs() > time.Second {
				f.t.Errorf("reading %d, taken at %s, is stored under %s", e.N, taken, stored)
			}
			if seen[e.N] || e.N < last && !f.random {
				f.t.Errorf("reading %d is stored twice, or after reading %d", e.N, last)
			}
			seen[e.N], last = true, e.N
		}
	}
	reasons := f.reasons()
	for n := range f.accepted {
		if _, told := reasons[n]; !seen[n] && !told {
			f.t.Errorf("reading %d was accepted, but is neither stored nor reported", n)
		}
	}
	return len(seen)
}
