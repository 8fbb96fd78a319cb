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

// The second try is aztables' own, so that a server cannot tell from a first try that aztables has not sent it.
func TestFirstTriesAreRequestsOfTheSDK(t *testing.T) {
	key := Account{Name: "acme", Key: "a2V5", Table: "https://acme.table.core.windows.net"}
	local := Account{Name: "furrow", Key: "a2V5", Table: "http://127.0.0.1:10002/furrow"}
	token := Account{Name: "acme", SAS: "sv=2019-02-02&tn=readings&sig=a%2Bb%3D", Table: key.Table}
	strange := "it's +%é?&#"
	for _, account := range []Account{key, local, token} {
		r := &repeater{}
		c := Config{Account: account, Transport: r}
		c.Retry.MaxRetries, c.Retry.RetryDelay = 1, time.Nanosecond
		table := must.Have(Connect(c))(t).Table("readings")
		for name, call := range map[string]func(context.Context) error{
			"query of all":  func(ctx context.Context) error { return firstPage(ctx, table, Query{}) },
			"query of some": func(ctx context.Context) error { return firstPage(ctx, table, Query{Range: Partition("p")}) },
			"strange query": func(ctx context.Context) error {
				return firstPage(ctx, table, Query{Range: RowsAfter(strange, "1", strange), Filter: "N eq 1.5",
					Select: []string{"N", "M"}, Size: 5000, From: Continuation{"1!8!cA==", "1!4!" + strange}})
			},
			"get":    func(ctx context.Context) error { _, err := table.Get(ctx, strange, "r/s"); return err },
			"insert": func(ctx context.Context) error { return doOp(ctx, table, Insert(row("p", "r"))) },
			"insert or replace": func(ctx context.Context) error {
				return doOp(ctx, table, InsertOrReplace(row("p", "it's +é")))
			},
			"replace": func(ctx context.Context) error { return doOp(ctx, table, Replace(row("p", "r"), "W/1")) },
			"merge":   func(ctx context.Context) error { return doOp(ctx, table, Merge(row("p", "r"), AnyETag)) },
			"delete":  func(ctx context.Context) error { return doOp(ctx, table, Delete("p", "r", "W/1")) },
			"transaction": func(ctx context.Context) error {
				_, err := table.Submit(ctx, []Op{Insert(row("p", "r")), Delete("p", "s", AnyETag)})
				return err
			},
		} {
			r.requests = nil
			if err := call(t.Context()); err == nil || len(r.requests) != 2 {
				t.Fatalf("%s: %v after %d requests", name, err, len(r.requests))
			}
			for i := range r.requests {
				if agent := r.requests[i].header.Get("User-Agent"); strings.HasPrefix(agent, "azsdk-go-aztables/") != (i == 1) {
					t.Errorf("%s: try %d is by %s", name, i+1, agent)
				}
				signed := strings.HasPrefix(r.requests[i].header.Get("Authorization"), "SharedKeyLite "+account.Name+":")
				if signed != (account.Key != "") {
					t.Errorf("%s: the request is signed: %t", name, signed)
				}
				// aztables asks for a form of answers that have none.
				accept := r.requests[i].header.Get("Accept")
				r.requests[i].header.Set("Accept", strings.TrimSuffix(accept, ";odata=minimalmetadata"))
				for _, own := range []string{"User-Agent", "Authorization", "X-Ms-Date", "Content-Length"} {
					r.requests[i].header.Del(own)
				}
			}
			if !reflect.DeepEqual(r.requests[0], r.requests[1]) {
				t.Errorf("%s:\nfirst  %+v\nsecond %+v", name, r.requests[0], r.requests[1])
			}
		}
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

// aztables refuses an empty partition key before it looks at the outcome of a first try.
func TestOutcomesOfCallsThatTheSDKRefusesAreReported(t *testing.T) {
	s := &script{answers: []answer{{status: 404, body: fault("ResourceNotFound", "No.")}}}
	if _, err := s.table(t).Get(t.Context(), "", "r"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a get without a partition key: %v", err)
	}
	s = &script{answers: []answer{{err: io.ErrUnexpectedEOF}}}
	if _, err := s.table(t).Do(t.Context(), Delete("", "r", AnyETag)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a delete without a partition key: %v", err)
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
