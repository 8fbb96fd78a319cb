package local_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/local"
)

// running returns a running server and its account.
func running(tb testing.TB) (*local.Running, azuretest.Account) {
	clock := &azuretest.Clock{}
	s := must.Have(local.Start(local.Config{Dir: tb.TempDir(), Memory: true, Now: clock.Now}))(tb)
	tb.Cleanup(func() { must.Succeed(tb, s.Close()) })
	return s, azuretest.Account{Name: s.Account(), Key: s.Key(), Kind: azuretest.Embedded, TableURL: s.TableURL,
		QueueURL: s.QueueURL, BlobURL: s.BlobURL, Clock: clock}
}

// started returns the account of a running server, and a transport that takes no connection to its tables and queues.
func started(tb testing.TB, other http.RoundTripper) (azuretest.Account, http.RoundTripper) {
	s, account := running(tb)
	host := func(text string) string { return must.Have(url.Parse(text))(tb).Host }
	return account, s.Direct(host(s.QueueURL), host(s.TableURL), other)
}

// otherServices passes requests for blobs alone.
type otherServices struct{ blobs string }

func (o otherServices) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.String(), o.blobs) {
		return nil, errors.New("a request for tables or queues took a connection: " + r.URL.Path)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestStorageIsTheSameWithoutAConnection holds it to every assumption about the service.
func TestStorageIsTheSameWithoutAConnection(t *testing.T) {
	t.Parallel()
	others := &otherServices{}
	account, direct := started(t, others)
	others.blobs, account.Transport = account.BlobURL, &http.Client{Transport: direct}
	azuretest.Run(t, account)
}

// TestAllServicesAreTheSameWithoutAConnection holds what other packages test with to the same.
func TestAllServicesAreTheSameWithoutAConnection(t *testing.T) {
	t.Parallel()
	s, account := running(t)
	account.Transport = &http.Client{Transport: s.Transport(otherServices{"none"})}
	azuretest.Run(t, account)
}

// readings returns a table through a transport.
func readings(tb testing.TB, a azuretest.Account, through http.RoundTripper) *tables.Table {
	account := must.Have(tables.ParseAccount(a.ConnectionString()))(tb)
	config := tables.Config{Account: account, Transport: &http.Client{Transport: through}}
	return must.Have(tables.Connect(config))(tb).Table("readings")
}

// TestAnswersDoNotShareMemory has many clients read different rows at once.
func TestAnswersDoNotShareMemory(t *testing.T) {
	account, direct := started(t, nil)
	table := readings(t, account, direct)
	must.Succeed(t, table.Create(t.Context()))
	var all sync.WaitGroup
	for _, key := range strings.Split("abcdefgh", "") {
		all.Go(func() {
			e := tables.Entity{PartitionKey: key, RowKey: "1"}
			e.Set("text", tables.String(strings.Repeat(key, 1000)))
			if _, err := table.Do(t.Context(), tables.Insert(e)); err != nil {
				t.Error(err)
				return
			}
			for range 50 {
				got, err := table.Get(t.Context(), key, "1")
				if err != nil || got.Get("text") != e.Get("text") {
					t.Errorf("%s: %v, %v", key, got.Get("text"), err)
					return
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkEmptyQuery has a client ask for rows that are not there, over a connection and without one.
func BenchmarkEmptyQuery(b *testing.B) {
	account, direct := started(b, nil)
	for name, transport := range map[string]http.RoundTripper{"connection": http.DefaultTransport, "direct": direct} {
		b.Run(name, func(b *testing.B) {
			table := readings(b, account, transport)
			must.Succeed(b, table.Create(b.Context()))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range table.Rows(b.Context(), tables.Query{Range: tables.Partition("d")}) {
					must.Succeed(b, err)
				}
			}
		})
	}
}

// BenchmarkTransaction has a client write what a job writes: rows whose versions it knows. The first transaction
// inserts them.
func BenchmarkTransaction(b *testing.B) {
	account, direct := started(b, nil)
	table := readings(b, account, direct)
	must.Succeed(b, table.Create(b.Context()))
	random := rand.New(rand.NewPCG(1, 1))
	ops := make([]tables.Op, tables.MaxOps)
	for i := range ops {
		state := make([]byte, 600)
		for j := range state {
			state[j] = byte(random.Int())
		}
		e := tables.Entity{PartitionKey: "202611-0007", RowKey: fmt.Sprintf("device-%05d", i)}
		e.Set("Last", tables.String("0638678115000000000-6c1f"))
		e.Set("Rows", tables.Int64(123456))
		for _, name := range []string{"min", "max", "mean"} {
			e.Set(name, tables.Double(random.Float64()))
		}
		e.Set("State", tables.Binary(state))
		ops[i] = tables.Insert(e)
	}
	b.ReportAllocs()
	for b.Loop() {
		written := must.Have(table.Submit(b.Context(), ops))(b)
		for i := range ops {
			ops[i] = tables.Replace(ops[i].Entity, written.ETags[i])
		}
	}
}
