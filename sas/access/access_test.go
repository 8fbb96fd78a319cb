package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

type fixture struct {
	*tables.Client
	store      Store
	log        Log
	operations atomic.Int64
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	account, err := tables.ParseAccount(azuretest.Local(t).ConnectionString())
	must.Succeed(t, err)
	f := &fixture{}
	f.Client, err = tables.Connect(tables.Config{Account: account, Retry: policy.RetryOptions{MaxRetries: -1},
		OnOperation: func(context.Context, tables.Operation) { f.operations.Add(1) }})
	must.Succeed(t, err)
	f.store, f.log = NewStore(f.Client, schema.Names{}), NewLog(f.Client, schema.Names{})
	return f
}

func (f *fixture) add(t *testing.T, name string) (token string) {
	t.Helper()
	token, err := f.store.Add(t.Context(), schema.Access{Name: name, Role: schema.Operator, Tenant: "contoso", By: "root"})
	must.Succeed(t, err)
	return token
}

func TestStorageHasNoToken(t *testing.T) {
	f := newFixture(t)
	token := f.add(t, "alice")
	for page, err := range f.store.Table.Rows(t.Context(), tables.Query{}) {
		must.Succeed(t, err)
		if text := fmt.Sprint(page.Rows); len(page.Rows) != 1 || strings.Contains(text, strings.TrimPrefix(token,
			tokenPrefix)) {
			t.Errorf("storage has %s", text)
		}
	}
	if other := f.add(t, "bob"); other == token || len(token) < 26 {
		t.Errorf("the tokens are %q and %q", token, other)
	}
}

func TestNameIsGivenOnce(t *testing.T) {
	f := newFixture(t)
	if all, err := f.store.All(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("without a table: %v, %v", all, err)
	}
	if _, err := f.store.Remove(t.Context(), "alice"); !errors.Is(err, ErrNone) {
		t.Errorf("removing nobody: %v", err)
	}
	f.add(t, "alice")
	if _, err := f.store.Add(t.Context(), schema.Access{Name: "alice", Role: schema.Admin}); !errors.Is(err,
		tables.ErrExists) {
		t.Errorf("a second alice: %v", err)
	}
	if a, err := f.store.Get(t.Context(), "alice"); err != nil || a.Role != schema.Operator || a.Tenant != "contoso" {
		t.Errorf("alice is %+v, %v", a, err)
	}
	if _, _, err := f.store.Rotate(t.Context(), "bob"); !errors.Is(err, ErrNone) {
		t.Errorf("a new token for nobody: %v", err)
	}
}

// age makes the directory's copy older.
func (d *Directory) age(by time.Duration) { d.read, d.asked = d.read.Add(-by), d.asked.Add(-by) }

func TestRemovedAndReplacedTokensEndWithinRecent(t *testing.T) {
	f := newFixture(t)
	d := &Directory{Store: f.store}
	if any, err := d.Any(t.Context()); any || err != nil {
		t.Fatal(any, err)
	}
	alice, bob := f.add(t, "alice"), f.add(t, "bob")
	d.age(Pause)
	a, found, err := d.Find(t.Context(), alice)
	if !found || err != nil || a.Name != "alice" {
		t.Fatalf("a second after it was added: %+v %v %v", a, found, err)
	}
	b, found, err := d.Named(t.Context(), "bob")
	if !found || err != nil || b.Hash != schema.TokenHash(bob) {
		t.Fatal(b, found, err)
	}
	must.Have(f.store.Remove(t.Context(), "alice"))(t)
	fresh, _, err := f.store.Rotate(t.Context(), "bob")
	must.Succeed(t, err)
	d.age(Recent)
	for _, old := range []schema.Access{a, b} {
		if _, holds, err := d.Still(t.Context(), old); holds || err != nil {
			t.Errorf("%s holds after %s: %v", old.Name, Recent, err)
		}
	}
	for _, token := range []string{alice, bob, ""} {
		if _, found, err := d.Find(t.Context(), token); found || err != nil {
			t.Errorf("an ended token is found: %v", err)
		}
	}
	if now, found, err := d.Find(t.Context(), fresh); !found || err != nil || now.Name != "bob" {
		t.Error(now, found, err)
	}
}

func TestWrongTokensCostOneOperationASecond(t *testing.T) {
	f := newFixture(t)
	f.add(t, "alice")
	d := &Directory{Store: f.store}
	f.operations.Store(0)
	for i := range 1000 {
		if _, found, err := d.Find(t.Context(), fmt.Sprint("guess ", i)); found || err != nil {
			t.Fatal(found, err)
		}
	}
	if n := f.operations.Load(); n > 3 {
		t.Errorf("1000 guesses took %d operations", n)
	}
}

// A slowTable answers queries of an empty table without a connection, after a time.
type slowTable struct {
	takes time.Duration
	reads atomic.Int64
}

func (s *slowTable) Do(r *http.Request) (*http.Response, error) {
	s.reads.Add(1)
	time.Sleep(s.takes)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"value":[]}`)), Request: r}, nil
}

// TestSlowReadsForWrongTokensDelayNobody: a read takes longer than the pause between two.
func TestSlowReadsForWrongTokensDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowTable{takes: Pause + 100*time.Millisecond}
		client := must.Have(tables.Connect(tables.Config{Transport: slow,
			Account: tables.Account{Name: "x", Key: "eA==", Table: "http://127.0.0.1:1/x"}}))(t)
		d := &Directory{Store: NewStore(client, schema.Names{})}
		for i := range 20 { // as if they waited for each other
			_, _, err := d.Find(t.Context(), fmt.Sprint("wrong ", i))
			must.Succeed(t, err)
		}
		if reads := slow.reads.Load(); reads != 1 {
			t.Errorf("20 wrong tokens took %d reads", reads)
		}
		time.Sleep(Pause)
		var guess sync.WaitGroup
		guess.Go(func() { d.Find(t.Context(), "wrong") })
		synctest.Wait()
		if slow.reads.Load() != 2 {
			t.Fatal("the table is not read")
		}
		_, _, err := d.Still(t.Context(), schema.Access{}) // it would hang if it waited for the read
		must.Succeed(t, err)
		guess.Wait()
	})
}

// A hungTable answers no query until its time is over.
type hungTable struct{ reads atomic.Int64 }

func (h *hungTable) Do(r *http.Request) (*http.Response, error) {
	h.reads.Add(1)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestThoseWhoComeDuringAReadTakeItsResult, or leave before: storage does not answer, and there is no copy.
func TestThoseWhoComeDuringAReadTakeItsResult(t *testing.T) {
	for patience, want := range map[time.Duration]time.Duration{time.Minute: readTimeout, time.Second: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			hung := &hungTable{}
			client := must.Have(tables.Connect(tables.Config{Transport: hung, Retry: policy.RetryOptions{MaxRetries: -1},
				Account: tables.Account{Name: "x", Key: "eA==", Table: "http://127.0.0.1:1/x"}}))(t)
			d := &Directory{Store: NewStore(client, schema.Names{})}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			began := time.Now()
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					if _, _, err := d.Find(ctx, fmt.Sprint("token ", i)); err == nil {
						t.Error("no error")
					}
				})
			}
			all.Wait()
			if took := time.Since(began); took != want || hung.reads.Load() != 1 {
				t.Errorf("the last of those who wait for %v leaves after %v and %d reads", patience, took, hung.reads.Load())
			}
			time.Sleep(readTimeout) // the read ends by itself
		})
	}
}

// TestOutageEndsAccessInTheEnd replaces the store by one whose storage refuses everything.
func TestOutageEndsAccessInTheEnd(t *testing.T) {
	f := newFixture(t)
	token := f.add(t, "alice")
	d := &Directory{Store: f.store}
	_, found, err := d.Find(t.Context(), token)
	if !found || err != nil {
		t.Fatal(found, err)
	}
	gone, err := tables.Connect(tables.Config{Account: tables.Account{Name: "x", Key: "eA==",
		Table: "http://127.0.0.1:1/x"}, Retry: policy.RetryOptions{MaxRetries: -1}})
	must.Succeed(t, err)
	d.Store = NewStore(gone, schema.Names{})
	d.age(Recent)
	if _, found, err := d.Find(t.Context(), token); !found || err != nil {
		t.Errorf("in a short outage: %v %v", found, err)
	}
	d.age(patience)
	if _, found, err := d.Find(t.Context(), token); found || err == nil {
		t.Errorf("in a long outage: %v %v", found, err)
	}
}

func TestActIsRecordedBeforeItBegins(t *testing.T) {
	f := newFixture(t)
	recorded := func() (all []schema.Act) {
		for a, err := range f.log.Acts(t.Context(), "", time.Now().Add(-time.Hour), time.Now().Add(time.Minute)) {
			must.Succeed(t, err)
			all = append(all, a)
		}
		return all
	}
	if acts := recorded(); len(acts) > 0 {
		t.Errorf("without a table: %v", acts)
	}
	act := schema.Act{Who: "alice", From: "command", What: "device revoke", Device: "pump-7", Tenant: "contoso"}
	broken := errors.New("storage broke")
	for _, c := range []struct {
		outcome string
		err     error
		want    string
	}{{"done", nil, "done"}, {"", broken, "storage broke"}} {
		err := f.log.Do(t.Context(), act, func(context.Context) (string, error) {
			if during := recorded()[0]; during.Outcome != "" || during.Who != "alice" || during.Device != "pump-7" {
				t.Errorf("while it is done, the log has %+v", during)
			}
			return c.outcome, c.err
		})
		if after := recorded()[0]; !errors.Is(err, c.err) || after.Outcome != c.want || after.Failed != (c.err != nil) {
			t.Errorf("afterwards the log has %+v, and the error is %v", after, err)
		}
	}
	if n := len(recorded()); n != 2 {
		t.Errorf("%d acts are recorded", n)
	}
	stopped, stop := context.WithCancel(t.Context())
	_ = f.log.Do(stopped, act, func(context.Context) (string, error) { stop(); return "", stopped.Err() })
	if last := recorded()[0]; !last.Failed || last.Outcome == "" {
		t.Errorf("an act that was stopped: %+v", last)
	}
	did := false
	if err := f.log.Do(stopped, act, func(context.Context) (string, error) { did = true; return "", nil }); err == nil ||
		did {
		t.Errorf("an act that cannot be recorded: done %v, %v", did, err)
	}
}

func TestActsComeNewestFirstAndByTenant(t *testing.T) {
	f := newFixture(t)
	must.Succeed(t, f.log.Table.Create(t.Context()))
	now := time.Date(2027, 2, 3, 0, 0, 0, 0, time.UTC)
	for i, days := range []int{40, 1, 20, 2, 75} {
		for _, tenant := range []schema.Tenant{"", "contoso", "fabrikam"} {
			e, err := schema.Act{ID: "x" + tenant.Key(), At: tables.TicksOf(now.AddDate(0, 0, -days)), Tenant: tenant,
				Detail: fmt.Sprint(i)}.Entity()
			must.Succeed(t, err)
			must.Have(f.log.Table.Do(t.Context(), tables.Insert(e)))(t)
		}
	}
	for _, c := range []struct {
		tenant   schema.Tenant
		from, to int // days ago
		want     string
	}{
		{"contoso", 1000, 0, "13204"}, {"contoso", 40, 1, "320"}, {"", 50, 3, "222000"}, {"nobody", 100, 0, ""}, {"", 0, 0,
			""},
	} {
		var got []string
		for a, err := range f.log.Acts(t.Context(), c.tenant, now.AddDate(0, 0, -c.from), now.AddDate(0, 0, -c.to)) {
			must.Succeed(t, err)
			if got = append(got, a.Detail); c.tenant != "" && a.Tenant != c.tenant {
				t.Errorf("acts of %s have one of %s", c.tenant, a.Tenant)
			}
		}
		if text := strings.Join(got, ""); text != c.want {
			t.Errorf("%q from %d to %d days ago: %s, want %s", c.tenant, c.from, c.to, text, c.want)
		}
	}
	if !slices.Contains(schema.Names{}.Tables(), f.log.Table.Name) {
		t.Error("up does not create the table")
	}
}

// TestFewActsOfATenantTakeOneRequest, however many it has in a month: a page of the dashboard shows the newest ones.
func TestFewActsOfATenantTakeOneRequest(t *testing.T) {
	f := newFixture(t)
	must.Succeed(t, f.log.Table.Create(t.Context()))
	begin := time.Date(2027, 2, 3, 0, 0, 0, 0, time.UTC)
	for n, size := range []int{100, 2500} {
		tenant := schema.Tenant(fmt.Sprint("tenant-", n))
		var ops []tables.Op
		for i := range size {
			e := must.Have(schema.Act{ID: fmt.Sprint(i), At: tables.TicksOf(begin.Add(time.Duration(i) * time.Minute)),
				Tenant: tenant}.Entity())(t)
			if ops = append(ops, tables.Insert(e)); len(ops) == tables.MaxOps {
				must.Have(f.log.Table.Submit(t.Context(), ops))(t)
				ops = nil
			}
		}
		before, got := f.operations.Load(), 0
		for a, err := range f.log.Acts(t.Context(), tenant, begin, begin.AddDate(0, 0, 20)) {
			must.Succeed(t, err)
			if got++; a.ID != fmt.Sprint(size-got) {
				t.Errorf("act %d of %d is %s", got, size, a.ID)
			}
			if got == 10 {
				break
			}
		}
		if n := f.operations.Load() - before; n != 1 || got != 10 {
			t.Errorf("%d requests for %d acts of %d", n, got, size)
		}
	}
}
