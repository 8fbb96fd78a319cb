package sas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A switchableStorage counts requests, and fails while it is down.
type switchableStorage struct {
	requests atomic.Int32
	down     atomic.Bool
	answer   func() *http.Response
}

func (s *switchableStorage) Do(r *http.Request) (*http.Response, error) {
	s.requests.Add(1)
	time.Sleep(10 * time.Millisecond)
	if s.down.Load() {
		return nil, errors.New("no connection")
	}
	res := s.answer()
	res.Request = r
	return res, nil
}

// watched returns enrollments in a storage with one row, line4.
func watched(t *testing.T) (*Enrollments, *switchableStorage) {
	t.Helper()
	e := plant("line4")
	row := must.Have(e.Entity())(t)
	s := &switchableStorage{answer: func() *http.Response { return pageOf(t, row) }}
	c, err := tables.Connect(tables.Config{
		Account:   tables.Account{Name: "a", Key: "a2V5", Table: "http://127.0.0.1:1/a"},
		Retry:     policy.RetryOptions{MaxRetries: -1},
		Transport: s,
	})
	must.Succeed(t, err)
	return &Enrollments{Table: c.Table("enrollments")}, s
}

func TestFindSharesRecentReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := watched(t)
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				_, err := n.Find(t.Context(), []schema.EnrollmentID{"line4", "nobodys"}[i%2])
				if i%2 == 0 && err != nil || i%2 == 1 && !errors.Is(err, ErrNoEnrollment) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := s.requests.Load(); got != 1 {
			t.Errorf("200 at once cost %d requests", got)
		}
		time.Sleep(Recent - 50*time.Millisecond)
		_, err := n.Find(t.Context(), "nobodys")
		if got := s.requests.Load(); got != 1 || !errors.Is(err, ErrNoEnrollment) {
			t.Errorf("within %v there are %d requests, %v", Recent, got, err)
		}
		time.Sleep(50 * time.Millisecond)
		_, err = n.Find(t.Context(), "line4")
		if got := s.requests.Load(); got != 2 || err != nil {
			t.Errorf("after %v there are %d requests, %v", Recent, got, err)
		}
	})
}

// TestNewEnrollmentIsFoundAtOnce adds one while others are found all the time, and strangers ask for names that nobody
// has: these cost a read a second, and nobody else waits for them.
func TestNewEnrollmentIsFoundAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := watched(t)
		known := func() {
			began := time.Now()
			if must.Have(n.Find(t.Context(), "line4"))(t); !time.Now().Equal(began) {
				t.Errorf("a known enrollment took %v", time.Since(began))
			}
		}
		must.Have(n.Find(t.Context(), "line4"))(t)
		ctx, stop := context.WithCancel(t.Context())
		var strangers sync.WaitGroup
		for range 2 * maxNewcomers {
			strangers.Go(func() {
				for ctx.Err() == nil {
					if !n.Renew(ctx) {
						time.Sleep(10 * time.Millisecond)
					}
					known()
				}
			})
		}
		time.Sleep(10*time.Second + time.Millisecond)
		if got := s.requests.Load(); got > 12 {
			t.Errorf("strangers cost %d reads in ten seconds", got)
		}
		stop()
		strangers.Wait()
		time.Sleep(3 * readPause / 2) // a read that strangers asked for and did not wait for has ended
		synctest.Wait()
		e := plant("line5")
		row := must.Have(e.Entity())(t)
		s.answer = func() *http.Response { return pageOf(t, row) }
		if _, err := n.Find(t.Context(), "line5"); !errors.Is(err, ErrNoEnrollment) {
			t.Fatal(err)
		}
		if !n.Renew(t.Context()) {
			t.Fatal("it was not read again")
		}
		must.Have(n.Find(t.Context(), "line5"))(t)
	})
}

func TestFindWorksForAWhileWithoutStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := watched(t)
		s.down.Store(true)
		if _, err := n.Find(t.Context(), "line4"); err == nil || errors.Is(err, ErrNoEnrollment) {
			t.Errorf("found without a read, or reported as unknown: %v", err)
		}
		s.down.Store(false)
		time.Sleep(readPause)
		must.Have(n.Find(t.Context(), "line4"))(t)
		s.down.Store(true)
		s.requests.Store(0)
		for range 100 {
			time.Sleep(2 * time.Second)
			must.Have(n.Find(t.Context(), "line4"))(t)
		}
		if got := s.requests.Load(); got < 90 || got > 100 {
			t.Errorf("in 200 s without storage there are %d requests", got)
		}
		time.Sleep(stale)
		if _, err := n.Find(t.Context(), "line4"); err == nil || errors.Is(err, ErrNoEnrollment) {
			t.Errorf("found after more than %v: %v", stale, err)
		}
		s.down.Store(false)
		time.Sleep(readPause)
		must.Have(n.Find(t.Context(), "line4"))(t)
	})
}

func TestCallerThatGivesUpDoesNotEndTheRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _ := watched(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = n.Find(ctx, "line4")
		if _, err := n.Find(t.Context(), "line4"); err != nil {
			t.Error(err)
		}
	})
}

// pageOf returns a response with one row.
func pageOf(t *testing.T, e tables.Entity) *http.Response {
	t.Helper()
	body := fmt.Sprintf(`{"value":[{"odata.etag":"W/\"1\"","PartitionKey":%q,"RowKey":%q,"Tenant":"contoso",`+
		`"Readings":"readings","Life@odata.type":"Edm.Int64","Life":"3600"}]}`, e.PartitionKey, e.RowKey)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}
