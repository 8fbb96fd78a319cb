package tables

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"furrow/tables/azuretest/must"
)

// A sent request is what a server sees of it.
type sent struct {
	method, path string
	query        url.Values
	header       http.Header
	body         string
}

// A repeater asks for each request once more, and keeps all of them.
type repeater struct{ requests []sent }

func (r *repeater) Do(req *http.Request) (*http.Response, error) {
	query, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	one := sent{method: req.Method, path: req.URL.Host + req.URL.EscapedPath(), query: query, header: http.Header{}}
	for name, values := range req.Header {
		for _, v := range values {
			one.header.Add(name, v)
		}
	}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil || int64(len(body)) != req.ContentLength {
			return nil, io.ErrUnexpectedEOF
		}
		one.body = string(body)
	}
	r.requests = append(r.requests, one)
	return &http.Response{StatusCode: 503, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// TestRequestsAreThoseOfTheSDK, in the first try and in the others, so that a service that knows aztables knows Furrow.
func TestRequestsAreThoseOfTheSDK(t *testing.T) {
	key := Account{Name: "acme", Key: "a2V5", Table: "https://acme.table.core.windows.net"}
	local := Account{Name: "furrow", Key: "a2V5", Table: "http://127.0.0.1:10002/furrow"}
	token := Account{Name: "acme", SAS: "sv=2019-02-02&tn=readings&sig=a%2Bb%3D", Table: key.Table}
	strange := "it's +%é?&#"
	stored := func(e Entity) []byte { return must.Have(appendEntity(nil, &e))(t) }
	for _, account := range []Account{key, local, token} {
		r := &repeater{}
		c := Config{Account: account, Transport: r}
		c.Retry.MaxRetries, c.Retry.RetryDelay = 1, time.Nanosecond
		table := must.Have(Connect(c))(t).Table("readings")
		sdk := must.Have(table.service())(t).NewClient(table.Name)
		filter := Query{Range: RowsAfter(strange, "1", strange), Filter: "N eq 1.5", Select: []string{"N", "M"}, Size: 5000,
			From: Continuation{"1!8!cA==", "1!4!" + strange}}
		for name, by := range map[string]struct{ own, sdks func(context.Context) error }{
			"query of all": {func(ctx context.Context) error { return firstPage(ctx, table, Query{}) },
				func(ctx context.Context) error { _, err := sdk.NewListEntitiesPager(nil).NextPage(ctx); return err }},
			"query of some": {func(ctx context.Context) error { return firstPage(ctx, table, filter) },
				func(ctx context.Context) error {
					o := &aztables.ListEntitiesOptions{Filter: to.Ptr(filter.filter()), Select: to.Ptr(filter.selected()),
						Top: to.Ptr(int32(1000)), NextPartitionKey: &filter.From.PartitionKey, NextRowKey: &filter.From.RowKey}
					_, err := sdk.NewListEntitiesPager(o).NextPage(ctx)
					return err
				}},
			"get": {func(ctx context.Context) error { _, err := table.Get(ctx, strange, "r/s"); return err },
				func(ctx context.Context) error { _, err := sdk.GetEntity(ctx, strange, "r/s", nil); return err }},
			"insert": {func(ctx context.Context) error { return doOp(ctx, table, Insert(row("p", "r"))) },
				func(ctx context.Context) error { _, err := sdk.AddEntity(ctx, stored(row("p", "r")), nil); return err }},
			"insert or replace": {
				func(ctx context.Context) error { return doOp(ctx, table, InsertOrReplace(row("p", "it's +é"))) },
				func(ctx context.Context) error {
					_, err := sdk.UpsertEntity(ctx, stored(row("p", "it's +é")),
						&aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
					return err
				}},
			"replace": {func(ctx context.Context) error { return doOp(ctx, table, Replace(row("p", "r"), "W/1")) },
				func(ctx context.Context) error {
					_, err := sdk.UpdateEntity(ctx, stored(row("p", "r")),
						&aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeReplace, IfMatch: to.Ptr(azcore.ETag("W/1"))})
					return err
				}},
			"merge": {func(ctx context.Context) error { return doOp(ctx, table, Merge(row("p", "r"), AnyETag)) },
				func(ctx context.Context) error {
					_, err := sdk.UpdateEntity(ctx, stored(row("p", "r")),
						&aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge, IfMatch: to.Ptr(azcore.ETagAny)})
					return err
				}},
			"delete": {func(ctx context.Context) error { return doOp(ctx, table, Delete("p", "r", "W/1")) },
				func(ctx context.Context) error {
					_, err := sdk.DeleteEntity(ctx, "p", "r", &aztables.DeleteEntityOptions{IfMatch: to.Ptr(azcore.ETag("W/1"))})
					return err
				}},
			"transaction": {func(ctx context.Context) error {
				_, err := table.Submit(ctx, []Op{Insert(row("p", "r"))})
				return err
			}, func(ctx context.Context) error {
				_, err := sdk.SubmitTransaction(ctx, []aztables.TransactionAction{{ActionType: aztables.TransactionTypeAdd,
					Entity: stored(row("p", "r"))}}, nil)
				return err
			}},
		} {
			r.requests = nil
			if err := by.own(t.Context()); err == nil || len(r.requests) != 2 {
				t.Fatalf("%s: %v after %d requests", name, err, len(r.requests))
			}
			if err := by.sdks((&call{}).within(t.Context())); err == nil || len(r.requests) != 4 {
				t.Fatalf("%s: aztables: %v after %d requests", name, err, len(r.requests))
			}
			for i := range r.requests {
				signed := strings.HasPrefix(r.requests[i].header.Get("Authorization"), "SharedKeyLite "+account.Name+":")
				if signed != (account.Key != "") {
					t.Errorf("%s: request %d is signed: %t", name, i, signed)
				}
				r.requests[i].makeComparable(name)
			}
			for i := range 3 {
				if !reflect.DeepEqual(r.requests[i], r.requests[3]) {
					t.Errorf("%s:\nrequest %d %+v\naztables  %+v", name, i, r.requests[i], r.requests[3])
				}
			}
		}
	}
}

// makeComparable removes what differs: names, times and signatures, the form of answers that aztables asks for where
// they have none, its preference for an insert's answer, and the random names and the parts of a batch.
func (s *sent) makeComparable(name string) {
	s.header.Set("Accept", strings.TrimSuffix(s.header.Get("Accept"), ";odata=minimalmetadata"))
	for _, own := range []string{"User-Agent", "Authorization", "X-Ms-Date", "Content-Length", "Prefer"} {
		s.header.Del(own)
	}
	if name == "transaction" {
		s.header.Set("Content-Type", strings.SplitN(s.header.Get("Content-Type"), "_", 2)[0])
		s.body = ""
	}
}

func doOp(ctx context.Context, table *Table, op Op) error {
	_, err := table.Do(ctx, op)
	return err
}

func firstPage(ctx context.Context, table *Table, q Query) error {
	for _, err := range table.Rows(ctx, q) {
		return err
	}
	return nil
}

func TestOnlyTheStatusOfAKindIsItsSuccess(t *testing.T) {
	ops := map[string]Op{"insert": Insert(row("p", "r")), "insert or replace": InsertOrReplace(row("p", "r")),
		"replace": Replace(row("p", "r"), AnyETag), "merge": Merge(row("p", "r"), AnyETag),
		"delete": Delete("p", "r", AnyETag)}
	page := answer{status: 200, body: "<html>Sign in to this network</html>"}
	for name, op := range ops {
		s := &script{answers: []answer{page}}
		if _, err := s.table(t).Do(t.Context(), op); err == nil || len(s.requests) != 1 {
			t.Errorf("%s: a proxy's page is taken for a success after %d requests", name, len(s.requests))
		}
	}
	for _, status := range []int{201, 202, 204} {
		s := &script{answers: []answer{{status: status, body: `{"PartitionKey":"p","RowKey":"r"}`}}}
		if _, err := s.table(t).Get(t.Context(), "p", "r"); err == nil {
			t.Errorf("a get answered by %d succeeds", status)
		}
	}
}

func TestInsertWhoseAnswerBreaksOffIsNotRepeated(t *testing.T) {
	s := &script{answers: []answer{{status: 201, body: `{"Part`, cut: true}, {status: 409}}}
	_, err := s.table(t).Do(t.Context(), Insert(row("p", "r")))
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(s.requests) != 1 {
		t.Errorf("%v after %d requests", err, len(s.requests))
	}
}

func TestFirstTriesEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := Config{Account: Account{Name: "acme", Key: "a2V5", Table: "https://acme.table.core.windows.net"},
		Transport: transport(func(req *http.Request) (*http.Response, error) {
			cancel(io.EOF)
			<-req.Context().Done()
			return nil, req.Context().Err()
		})}
	if _, err := must.Have(Connect(c))(t).Table("readings").Get(ctx, "p", "r"); err == nil ||
		!strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("a canceled get: %v", err)
	}
}

// Storage that does not answer at all costs each try its time, not the whole call.
func TestFirstTriesHaveATimeLimit(t *testing.T) {
	tries := 0
	c := Config{Account: Account{Name: "acme", Key: "a2V5", Table: "https://acme.table.core.windows.net"},
		Transport: transport(func(req *http.Request) (*http.Response, error) {
			if tries++; tries == 1 {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Request: req,
				Body: io.NopCloser(strings.NewReader(`{"PartitionKey":"p","RowKey":"r"}`))}, nil
		})}
	c.Retry.TryTimeout, c.Retry.RetryDelay = 10*time.Millisecond, time.Nanosecond
	e, err := must.Have(Connect(c))(t).Table("readings").Get(t.Context(), "p", "r")
	if err != nil || e.RowKey != "r" || tries != 2 {
		t.Errorf("after %d tries: %+v, %v", tries, e, err)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) Do(req *http.Request) (*http.Response, error) { return f(req) }
