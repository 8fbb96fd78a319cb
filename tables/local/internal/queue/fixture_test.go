package queue

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const testAccount = "furrow"

var testKey = bytes.Repeat([]byte{7}, 64)

// A fixture is a service in memory behind HTTP, by a clock that tests step. A
// request signed with the key must be within 15 minutes of that clock.
type fixture struct {
	testing.TB
	fs      vfs.FS
	store   *store.Store
	service *Service
	server  *httptest.Server

	mu  sync.Mutex
	off time.Duration
}

func newFixture(t testing.TB) *fixture { return openFixture(t, vfs.NewMem(), 0) }

// openFixture opens what fs holds, by a clock that is off by so much.
func openFixture(t testing.TB, fs vfs.FS, off time.Duration) *fixture {
	t.Helper()
	f := &fixture{TB: t, fs: fs, off: off}
	var err error
	if f.store, err = store.Open(fs, "db", slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if f.service, err = New(f.store, testAccount, testKey); err != nil {
		t.Fatal(err)
	}
	f.server = httptest.NewServer(f.service.Handler(f.now, slog.New(slog.DiscardHandler)))
	t.Cleanup(f.close)
	return f
}

func (f *fixture) close() {
	if f.server == nil {
		return
	}
	f.server.Close()
	f.server = nil
	if err := f.store.Close(); err != nil {
		f.Error(err)
	}
}

// reopen is a restart of the service, by a clock that is off by so much.
func (f *fixture) reopen(off time.Duration) *fixture {
	f.Helper()
	f.close()
	return openFixture(f.TB, f.fs, off)
}

func (f *fixture) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Round(0).Add(f.off)
}

func (f *fixture) step(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.off += d
}

// handler does without HTTP what requests do with it.
func (f *fixture) handler() *handler { return &handler{f.service, f.now} }

func (f *fixture) account() *azqueue.ServiceClient {
	f.Helper()
	cred, err := azqueue.NewSharedKeyCredential(testAccount, base64.StdEncoding.EncodeToString(testKey))
	if err != nil {
		f.Fatal(err)
	}
	c, err := azqueue.NewServiceClientWithSharedKeyCredential(f.server.URL+"/"+testAccount, cred, nil)
	if err != nil {
		f.Fatal(err)
	}
	return c
}

// queue is a client of a queue, which it makes where there is none.
func (f *fixture) queue(name string) *azqueue.QueueClient {
	f.Helper()
	if _, _, err := f.service.add(name, nil); err != nil {
		f.Fatal(err)
	}
	c, err := azqueue.NewQueueClientWithNoCredential(f.server.URL+"/"+testAccount+"/"+name+"?"+f.sas(name, "raup", "").Encode(), nil)
	if err != nil {
		f.Fatal(err)
	}
	return c
}

// sas is a SAS of a queue for a hundred years, alone or by a stored policy.
func (f *fixture) sas(name, permissions, policy string) url.Values {
	q := url.Values{"sv": {"2024-08-04"}}
	if policy != "" {
		q.Set("si", policy)
	} else {
		q.Set("sp", permissions)
		q.Set("se", f.now().AddDate(100, 0, 0).UTC().Format("2006-01-02T15:04:05Z"))
	}
	q.Set("sig", sign(strings.Join([]string{q.Get("sp"), "", q.Get("se"), "/queue/" + testAccount + "/" + name, q.Get("si"), "", "", q.Get("sv")}, "\n")))
	return q
}

func sign(text string) string {
	mac := hmac.New(sha256.New, testKey)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// A reply is an HTTP answer with its body read.
type reply struct {
	*http.Response
	body string
}

// raw sends a request signed with the key. The target is below the account.
func (f *fixture) raw(method, target, body string, headers ...string) reply {
	f.Helper()
	r := f.request(method, target, body)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.Header.Set("x-ms-date", wire.HTTPTime(f.now()))
	r.Header.Set("x-ms-version", "2024-08-04")
	length := ""
	if body != "" {
		length = strconv.Itoa(len(body))
	}
	lines := []string{method, "", "", length, "", r.Header.Get("Content-Type"), "", "", "", "", "", ""}
	var xms []string
	for name, values := range r.Header {
		if name := strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			xms = append(xms, name+":"+values[0])
		}
	}
	slices.Sort(xms)
	resource := "/" + testAccount + r.URL.EscapedPath()
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		resource += "\n" + name + ":" + strings.Join(query[name], ",")
	}
	r.Header.Set("Authorization", "SharedKey "+testAccount+":"+sign(strings.Join(slices.Concat(lines, xms, []string{resource}), "\n")))
	return f.do(r)
}

// bySAS sends a request whose target has a SAS.
func (f *fixture) bySAS(method, target, body string, sas url.Values) reply {
	f.Helper()
	r := f.request(method, target, body)
	q := r.URL.Query()
	maps.Copy(q, sas)
	r.URL.RawQuery = q.Encode()
	return f.do(r)
}

func (f *fixture) request(method, target, body string) *http.Request {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), method, f.server.URL+"/"+testAccount+target, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	return r
}

func (f *fixture) do(r *http.Request) reply {
	f.Helper()
	resp, err := f.server.Client().Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		f.Fatal(err)
	}
	return reply{resp, string(body)}
}

// want holds a reply to its status and error code.
func (f *fixture) want(r reply, status int, code string) {
	f.Helper()
	if got := r.Header.Get("x-ms-error-code"); r.StatusCode != status || got != code {
		f.Errorf("%s %s: %d %s, want %d %s\n%s", r.Request.Method, r.Request.URL.Path, r.StatusCode, got, status, cmp.Or(code, "without error"), r.body)
	}
}

func (f *fixture) put(q *azqueue.QueueClient, text string) *azqueue.EnqueuedMessage {
	f.Helper()
	resp, err := q.EnqueueMessage(f.Context(), text, nil)
	if err != nil {
		f.Fatal(err)
	}
	return resp.Messages[0]
}

// get takes up to n messages for so many seconds.
func (f *fixture) get(q *azqueue.QueueClient, n, visibility int32) []*azqueue.DequeuedMessage {
	f.Helper()
	resp, err := q.DequeueMessages(f.Context(), &azqueue.DequeueMessagesOptions{NumberOfMessages: &n, VisibilityTimeout: &visibility})
	if err != nil {
		f.Fatal(err)
	}
	return resp.Messages
}

func (f *fixture) wantCode(err error, code queueerror.Code) {
	f.Helper()
	if !queueerror.HasCode(err, code) {
		f.Errorf("got %v, want %s", err, code)
	}
}

// count is the number of messages that the service tells.
func (f *fixture) count(q *azqueue.QueueClient) int64 {
	f.Helper()
	p, err := q.GetProperties(f.Context(), nil)
	if err != nil {
		f.Fatal(err)
	}
	return *p.ApproximateMessagesCount
}
