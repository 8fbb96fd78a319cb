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

// A world has storage, an endpoint in front of it, and time: its devices live
// in a bubble of synctest, and its server's clock goes as the bubble's does, from
// the moment on at which the world was made. It is made outside of the bubble,
// where the storage is.
type world struct {
	t        testing.TB
	account  azuretest.Account
	table    *aztables.Client
	name     string
	key      sas.Key // of the enrollment
	made     time.Time
	requests chan *http.Request
	answers  chan answered

	mu       sync.Mutex
	start    time.Time // in the bubble
	life     time.Duration
	backfill time.Duration
	batch    int
	offline  bool
	refuse   func(now time.Time) *problem       // what the endpoint answers instead of a token
	storage  func(*http.Request) *http.Response // what storage answers instead; nil: as it does
	revoked  map[string]bool                    // signatures of tokens
	tokens   []string                           // signatures issued
	asked    []time.Time                        // the endpoint, by the bubble's time
	sent     []string                           // to storage: operations
	proofs   []error                            // that did not hold
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

func newWorld(t testing.TB) *world {
	t.Helper()
	account := azuretest.Local(t)
	w := &world{
		t: t, account: account, name: azuretest.Name("t"), key: sas.NewKey(), made: time.Now(),
		requests: make(chan *http.Request), answers: make(chan answered),
		life: time.Hour, backfill: 7 * 24 * time.Hour, batch: 100, revoked: map[string]bool{},
	}
	w.table = account.MakeTable(t, w.name)
	var serving sync.WaitGroup
	serving.Go(func() {
		for req := range w.requests {
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err == nil {
				var body []byte
				body, err = io.ReadAll(resp.Body)
				resp.Body.Close()
				resp.Body = io.NopCloser(bytes.NewReader(body))
			}
			w.answers <- answered{resp, err}
		}
	})
	t.Cleanup(func() { close(w.requests); serving.Wait() })
	return w
}

// config is of a device whose clock is right and whose readings wait in memory.
func (w *world) config(reports *reports) device.Config {
	return device.Config{
		Endpoint: "https://endpoint.test", Device: id, Enrollment: "plant1", Key: w.key.Of(id).Base64(),
		Transport: w, Wall: w.now, OnReport: reports.add,
	}
}

// now is the server's time.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.start.IsZero() {
		w.start = time.Now()
	}
	return w.made.Add(time.Since(w.start)).Round(0).UTC()
}

func (w *world) set(change func(*world)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

// counts are how often the endpoint was asked, and how many tokens it gave.
func (w *world) counts() (asked, tokens int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.asked), len(w.tokens)
}

// RoundTrip is the way from the devices to the endpoint and to storage.
func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil || req.Context().Err() != nil {
		return nil, errors.Join(err, req.Context().Err())
	}
	switch {
	case w.offline:
		return nil, errors.New("no route to host")
	case req.URL.Host == "endpoint.test":
		return w.issue(req, now), nil
	}
	query := req.URL.Query()
	w.sent = append(w.sent, fmt.Sprintf("%s %d", req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:], strings.Count(string(body), "PartitionKey")))
	if w.storage != nil {
		if resp := w.storage(req); resp != nil {
			return resp, nil
		}
	}
	if expiry, err := time.Parse(time.RFC3339, query.Get("se")); err != nil || !now.Before(expiry) || w.revoked[query.Get("sig")] {
		return odata(403, "AuthenticationFailed"), nil
	}
	out, err := http.NewRequestWithContext(context.Background(), req.Method, req.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = req.Header.Clone()
	w.requests <- out
	a := <-w.answers
	return a.resp, a.err
}

// issue is the endpoint.
func (w *world) issue(req *http.Request, now time.Time) *http.Response {
	w.asked = append(w.asked, now)
	refuse := func(status int, code string) *http.Response {
		return answer(status, http.Header{"Content-Type": {"application/problem+json"}}, problem{Status: status, Code: code, ServerTime: now})
	}
	proof, err := sas.ParseProof(req.Header.Get("Authorization"))
	if err == nil {
		err = proof.Verify(now, w.key.Of(id))
	}
	switch {
	case req.URL.Path != "/v1/devices/"+id+"/token" || req.Method != "POST":
		return refuse(404, "not-found")
	case errors.Is(err, sas.ErrProofExpired):
		w.proofs = append(w.proofs, err)
		return refuse(401, "proof-expired")
	case err != nil || proof.Resource != "plant1/registrations/"+id:
		w.proofs = append(w.proofs, err)
		return refuse(401, "proof-wrong")
	}
	if w.refuse != nil {
		if p := w.refuse(now); p != nil {
			p.ServerTime = now
			return answer(p.Status, p.header, p)
		}
	}
	key, _ := base64.StdEncoding.DecodeString(w.account.Key)
	first, last := tables.TicksOf(now.Add(-w.backfill)).String(), tables.TicksOf(now.Add(w.life+15*time.Minute)).String()
	grant := sas.Grant{Table: w.name, Permissions: "a", Expiry: now.Add(w.life), Protocol: sas.HTTPSAndHTTP,
		StartPartition: id, EndPartition: id, StartRow: first, EndRow: last}
	token, err := grant.Sign(w.account.Name, key)
	if err != nil {
		panic(err)
	}
	query, _ := url.ParseQuery(token)
	w.tokens = append(w.tokens, query.Get("sig"))
	return answer(200, nil, map[string]any{
		"device": id, "url": w.account.TableURL + "/" + w.name, "sas": token, "partitionKey": id, "rowKeyFormat": "ticks19[-suffix]",
		"earliestRowKey": first, "latestRowKey": last, "expires": now.Add(w.life).Format(time.RFC3339),
		"renewAfter": now.Add(w.life * 2 / 3).Format(time.RFC3339), "serverTime": now, "sendEvery": 60, "batch": w.batch, "newer": "member",
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
	return answer(status, nil, map[string]any{"odata.error": map[string]any{"code": code, "message": map[string]any{"value": "Words.\nRequestId:1"}}})
}

// reports are what a device was told.
type reports struct {
	mu  sync.Mutex
	all []device.Report
}

func (r *reports) add(one device.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

// of counts the reports of a reason.
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

// numbers are the numbers of the readings that were reported.
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

// A story is what one or more devices do, each reading with a number of its own.
type story struct {
	*world
	reports  reports
	mu2      sync.Mutex
	accepted map[int]time.Time // by number, with the server's time
	next     int
}

func newStory(t testing.TB) *story { return &story{world: newWorld(t), accepted: map[int]time.Time{}} }

// open opens a client of the story's device.
func (s *story) open(change func(*device.Config)) *device.Client {
	config := s.config(&s.reports)
	if change != nil {
		change(&config)
	}
	c, err := device.Open(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// send sends the next reading, and remembers it if it was accepted.
func (s *story) send(c *device.Client) error {
	s.mu2.Lock()
	s.next++
	n := s.next
	s.mu2.Unlock()
	err := c.Send(device.Reading{Values: map[string]any{"N": int32(n), "Temperature": 21.5}})
	if err == nil {
		now := s.now()
		s.mu2.Lock()
		s.accepted[n] = now
		s.mu2.Unlock()
	}
	return err
}

func (s *story) mustSend(c *device.Client) {
	if err := s.send(c); err != nil {
		s.t.Error(err)
	}
}

// run runs a client until stop is called.
func (s *story) run(c *device.Client) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
	return func() { cancel(); running.Wait() }
}

// flush waits, for at most some days, until all of c is stored or reported.
func (s *story) flush(c *device.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*24*time.Hour)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		s.t.Errorf("%v; %+v", err, c.Stats())
	}
}

func (s *story) close(c *device.Client) {
	if err := c.Close(); err != nil {
		s.t.Error(err)
	}
}

// rows are the numbers in the table, in the order of the row keys.
func (w *world) rows() (numbers []int, times []time.Time) {
	w.t.Helper()
	pager := w.table.NewListEntitiesPager(nil)
	for pager.More() {
		page, err := pager.NextPage(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		for _, raw := range page.Entities {
			var e struct {
				PartitionKey, RowKey string
				N                    int
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				w.t.Fatal(err)
			}
			key, err := schema.ParseRowKey(e.RowKey)
			if err != nil || e.PartitionKey != id {
				w.t.Errorf("row %s %s: %v", e.PartitionKey, e.RowKey, err)
			}
			numbers, times = append(numbers, e.N), append(times, key.Ticks.Time())
		}
	}
	return numbers, times
}

// check holds the law of every story, outside of the bubble: each reading that
// was accepted is in the table once, under the time at which it was taken, or was reported.
// It gives how many are in the table.
func (s *story) check(ordered bool) int {
	s.t.Helper()
	numbers, times := s.rows()
	reported := s.reports.numbers()
	seen := map[int]int{}
	for i, n := range numbers {
		seen[n]++
		taken, ok := s.accepted[n]
		if ok && math.Abs(taken.Sub(times[i]).Seconds()) > 1 {
			s.t.Errorf("reading %d was taken at %s and is stored under %s", n, taken, times[i])
		}
		if ordered && i > 0 && numbers[i-1] >= n {
			s.t.Errorf("reading %d comes after reading %d", n, numbers[i-1])
		}
	}
	for n, times := range seen {
		if times != 1 {
			s.t.Errorf("reading %d is in the table %d times", n, times)
		}
	}
	for n := range s.accepted {
		if _, told := reported[n]; seen[n] == 0 && !told {
			s.t.Errorf("reading %d was accepted, and is neither stored nor reported", n)
		}
	}
	if len(s.accepted) == 0 {
		s.t.Error("nothing was accepted")
	}
	return len(seen)
}
