package queue

import (
	"log/slog"
	"maps"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A fixture is a service in memory behind HTTP, with a clock that tests advance. The
// date of a signed request must be within 15 minutes of that clock.
type fixture struct {
	*wiretest.Server
	fs         vfs.FS
	store      *store.Store
	closeStore func()
	service    *Service

	mu  sync.Mutex
	off time.Duration
}

func newFixture(t testing.TB) *fixture { return openFixture(t, vfs.NewMem(), 0) }

// openFixture opens the store in fs, with a clock that is off by the given time.
func openFixture(t testing.TB, fs vfs.FS, off time.Duration) *fixture {
	t.Helper()
	f := &fixture{fs: fs, off: off}
	f.store, f.closeStore = wiretest.OpenStore(t, fs, "db")
	var err error
	if f.service, err = New(f.store, wiretest.Account, []byte(wiretest.Key), f.now); err != nil {
		t.Fatal(err)
	}
	f.Server = wiretest.Serve(t, f.service.Handler(slog.New(slog.DiscardHandler)))
	f.Now = f.now
	return f
}

// reopen restarts the service with a clock that is off by the given time.
func (f *fixture) reopen(off time.Duration) *fixture {
	f.Helper()
	f.Server.Close()
	f.closeStore()
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

// queue creates a queue if necessary, and returns a client for it.
func (f *fixture) queue(name string) *azqueue.QueueClient {
	f.Helper()
	if _, _, err := f.service.add(name, nil); err != nil {
		f.Fatal(err)
	}
	c := must.Have(azqueue.NewQueueClientWithNoCredential(f.Base()+"/"+name+"?"+sas(name, "raup", "").Encode(), nil))(f)
	return c
}

// sas returns a SAS of a queue, with permissions or with a stored policy.
func sas(name, permissions, policy string) url.Values {
	if policy != "" {
		return wiretest.SAS(wire.Queue, name, "si", policy)
	}
	return wiretest.SAS(wire.Queue, name, "sp", permissions, "se", wiretest.Expiry)
}

// bySAS sends a request with a SAS.
func (f *fixture) bySAS(method, target, body string, sas url.Values) wiretest.Answer {
	f.Helper()
	r := f.Request(method, target, strings.NewReader(body))
	q := r.URL.Query()
	maps.Copy(q, sas)
	r.URL.RawQuery = q.Encode()
	return f.Send(r)
}

func (f *fixture) put(q *azqueue.QueueClient, text string) *azqueue.EnqueuedMessage {
	f.Helper()
	resp := must.Have(q.EnqueueMessage(f.Context(), text, nil))(f)
	return resp.Messages[0]
}

// get takes up to n messages for so many seconds.
func (f *fixture) get(q *azqueue.QueueClient, n, visibility int32) []*azqueue.DequeuedMessage {
	f.Helper()
	resp, err := q.DequeueMessages(f.Context(), &azqueue.DequeueMessagesOptions{NumberOfMessages: &n,
		VisibilityTimeout: &visibility})
	must.Succeed(f, err)
	return resp.Messages
}

func (f *fixture) wantCode(err error, code queueerror.Code) {
	f.Helper()
	if !queueerror.HasCode(err, code) {
		f.Errorf("got %v, want %s", err, code)
	}
}

// count returns the approximate number of messages.
func (f *fixture) count(q *azqueue.QueueClient) int64 {
	f.Helper()
	p := must.Have(q.GetProperties(f.Context(), nil))(f)
	return *p.ApproximateMessagesCount
}
