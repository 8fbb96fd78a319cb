package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A shelf is a container for one test.
type shelf struct {
	account   azuretest.Account
	container string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	a := azuretest.FromEnv(t)
	s := &shelf{a, azuretest.Name("c")}
	must.Succeed(t, s.store(t, nil).Create(t.Context()))
	t.Cleanup(func() {
		if _, err := a.Blobs(t).DeleteContainer(context.WithoutCancel(t.Context()), s.container, nil); err != nil {
			t.Error(err)
		}
	})
	return s
}

// store tries everything once, so that the Store and not the SDK meets a fault.
func (s *shelf) store(t testing.TB, through policy.Transporter) *Store {
	t.Helper()
	return s.connect(t, StoreConfig{Transport: azuretest.Transport(through), Retry: policy.RetryOptions{MaxRetries: -1}})
}

func (s *shelf) connect(t testing.TB, c StoreConfig) *Store {
	t.Helper()
	account := must.Have(tables.ParseAccount(s.account.ConnectionString()))(t)
	c.Account, c.Container = account, s.container
	store := must.Have(Connect(c))(t)
	store.block = 16 << 10 // so that few readings are some blocks
	return store
}

func counting(c *service.Counts[Kind]) func(context.Context, Operation) {
	return func(_ context.Context, o Operation) { c.Add(o.Kind) }
}

func TestErrorsAreNamed(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	must.Succeed(t, s.store(t, nil).Create(t.Context())) // it exists, which is fine
	missing := &shelf{s.account, azuretest.Name("c")}
	var counter service.Counts[Kind]
	absent := missing.connect(t, StoreConfig{OnOperation: counting(&counter)})
	err := put(t.Context(), absent, "o", nil)
	if !errors.Is(err, ErrNoContainer) || !strings.Contains(err.Error(), missing.container+"/o") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("without a container: %v", err)
	}
	if got := fmt.Sprint(counter.Map()); got != "map[put object:1]" {
		t.Errorf("what will not be done is tried again: %s", got)
	}
	busy := &faults.Transport{Plan: faults.Random{Rates: map[faults.Fault]float64{faults.ServerBusy: 1}}}
	if err := put(t.Context(), s.store(t, busy), "o", nil); !errors.Is(err, tables.ErrBusy) {
		t.Errorf("busy: %v", err)
	}
	if _, err := Connect(StoreConfig{Account: tables.Account{Name: "a", Key: "no base64!",
		Blob: "http://localhost/a"}}); err == nil || strings.Contains(err.Error(), "no base64!") {
		t.Errorf("a key that is none: %v", err)
	}
	if _, err := Connect(StoreConfig{Account: tables.Account{Name: "a", Key: "aa=="}}); err == nil {
		t.Error("no blob service is fine")
	}
	gone, err := Connect(StoreConfig{Account: tables.Account{Name: "a", Blob: "http://127.0.0.1:1/a", SAS: "sig=secret"},
		Container: "c", Retry: policy.RetryOptions{MaxRetries: -1}})
	must.Succeed(t, err)
	if err := put(t.Context(), gone, "o", nil); err == nil ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("no answer: %v", err)
	}
}

// put writes an object of so many bytes.
func put(ctx context.Context, s *Store, name string, content []byte) error {
	b := s.newBody(name, "text/plain")
	if err := b.write(ctx, content); err != nil {
		return err
	}
	return b.put(ctx)
}

func TestOperationsAreCounted(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	var counter service.Counts[Kind]
	var sent atomic.Int64
	store := s.connect(t, StoreConfig{OnOperation: func(_ context.Context, o Operation) {
		counter.Add(o.Kind)
		if sent.Add(o.Bytes); o.Object != "o" || o.Status == 0 {
			t.Errorf("%+v", o)
		}
	}})
	for _, w := range []struct {
		bytes int
		want  map[Kind]int64
	}{
		{10, map[Kind]int64{KindPut: 1}},
		{40 << 10, map[Kind]int64{KindPut: 1, KindPutBlock: 3, KindCommit: 1}},
		{0, map[Kind]int64{KindPut: 2, KindPutBlock: 3, KindCommit: 1}}, // replaced
	} {
		content := bytes.Repeat([]byte("x"), w.bytes)
		must.Succeed(t, put(t.Context(), store, "o", content))
		if got := counter.Map(); fmt.Sprint(got) != fmt.Sprint(w.want) {
			t.Errorf("%v; want %v", got, w.want)
		}
		if found, _, err := s.store(t, nil).Get(t.Context(), "o"); err != nil || !bytes.Equal(found, content) {
			t.Errorf("%d bytes are read as %d, %v", w.bytes, len(found), err)
		}
	}
	if sent.Load() < 40<<10 {
		t.Errorf("%d bytes", sent.Load())
	}
}

func TestKindsHaveNames(t *testing.T) {
	var names []string
	for k := range kinds {
		names = append(names, k.String())
	}
	if slices.Sort(names); len(slices.Compact(names)) != int(kinds) {
		t.Error(names)
	}
}
