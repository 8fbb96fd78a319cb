package tables

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// firstTries sends the first try of the calls that workers make most often. aztables and azcore take more time for a
// try than the embedded storage takes to answer it (BenchmarkEmptyQuery), most of it for what a try without a failure
// does not need. A first try that fails is handed over to them: they wait, try again and make its error, as if they had
// sent it. It is safe for concurrent use.
type firstTries struct {
	transport policy.Transporter
	timeout   time.Duration
	service   *url.URL // without the SAS
	sas       string
	account   string
	key       atomic.Pointer[[]byte] // nil with a SAS
	on        func(context.Context, Operation)
}

// newFirstTries returns nil for an account that Entra authorizes.
func newFirstTries(c Config) (*firstTries, error) {
	f := &firstTries{transport: c.Transport, timeout: service.Retry(c.Retry).TryTimeout,
		account: c.Account.Name, sas: c.Account.SAS, on: c.OnOperation}
	if f.sas == "" && c.Account.Key == "" {
		return nil, nil
	}
	var err error
	if f.service, err = url.Parse(strings.TrimRight(c.Account.Table, "/")); err != nil {
		return nil, errors.New("the URL of the Table service is none")
	}
	if f.sas == "" {
		err = f.setKey(c.Account.Key)
	}
	return f, err
}

func (f *firstTries) setKey(key string) error {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return service.ErrKey
	}
	f.key.Store(&raw)
	return nil
}

// A request is what the calls of one kind differ in.
type request struct {
	method  string
	path    string // below the service, escaped
	query   string // escaped
	prefer  string
	ifMatch ETag
}

// An outcome is that of a try: an answer, with its body in memory, or an error.
type outcome struct {
	resp *http.Response
	err  error
}

// send makes a call: its first try by itself, and unless that succeeds the rest of it by again, which calls aztables
// with a context of the call.
func (t *Table) send(ctx context.Context, c *call, r request, again func() error) error {
	if t.first == nil {
		return again()
	}
	found := t.first.try(ctx, c, r)
	if found.err == nil && c.kind.succeeds(found.resp.StatusCode) {
		return c.take(found.resp)
	}
	c.first = &found
	err := again()
	if c.first == nil || err == nil {
		return err
	}
	if found.err != nil { // aztables has refused the call, and not looked at the outcome
		return found.err
	}
	return runtime.NewResponseError(found.resp)
}

// succeeds reports whether aztables takes an answer to a call of this kind for a success. A proxy's page under status
// 200 is no success of a write.
func (k Kind) succeeds(status int) bool {
	switch k {
	case KindGet, KindQuery:
		return status == http.StatusOK
	case KindInsert:
		return status == http.StatusCreated || status == http.StatusNoContent
	case KindTransaction:
		return status == http.StatusAccepted || status == http.StatusNoContent
	}
	return status == http.StatusNoContent
}

// try sends a request and reads its answer.
func (f *firstTries) try(ctx context.Context, c *call, r request) (found outcome) {
	limited, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	req, err := f.build(limited, c, r)
	if err != nil {
		return outcome{err: err}
	}
	start := time.Now()
	found.resp, found.err = f.transport.Do(req)
	if f.on != nil {
		o := Operation{Kind: c.kind, Table: c.table, Rows: c.rows, Took: time.Since(start)}
		if found.resp != nil {
			o.Status = found.resp.StatusCode
		}
		f.on(ctx, o)
	}
	if found.err != nil {
		return found
	}
	var body *bytes.Buffer
	if body = c.into; body == nil || found.resp.StatusCode >= 300 {
		body = &bytes.Buffer{}
	}
	body.Reset()
	if n := found.resp.ContentLength; n > 0 && n <= maxTransaction {
		body.Grow(int(n) + bytes.MinRead) // at once; Azure does not say how long its answers to queries are
	}
	_, err = body.ReadFrom(found.resp.Body)
	_ = found.resp.Body.Close() // it has been read
	if err != nil {
		if c.into == nil && (r.method == http.MethodPost || r.method == http.MethodPatch) {
			err = cutOff{err}
		}
		return outcome{err: err}
	}
	found.resp.Body = io.NopCloser(bytes.NewReader(body.Bytes()))
	if found.resp.StatusCode < 300 {
		c.answer = body.Bytes()
	}
	return found
}

// cutOff is the error of an answer that breaks off. As with azcore's own, such a write is not tried again.
type cutOff struct{ error }

func (c cutOff) Unwrap() error { return c.error }

// NonRetriable is azcore's mark of an error after which it does not try again.
func (cutOff) NonRetriable() {}

func (f *firstTries) build(ctx context.Context, c *call, r request) (*http.Request, error) {
	u := &url.URL{Scheme: f.service.Scheme, Host: f.service.Host, RawPath: f.service.EscapedPath() + r.path,
		RawQuery: r.query}
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, err
	}
	if f.sas != "" {
		u.RawQuery = strings.TrimPrefix(r.query+"&"+f.sas, "&")
	}
	req := &http.Request{Method: r.method, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Accept":             {"application/json;odata=minimalmetadata"},
			"Dataserviceversion": {"3.0"},
			"User-Agent":         {"furrow"},
			"X-Ms-Version":       {"2019-02-02"}, // that of aztables
		}}
	if r.prefer != "" {
		req.Header["Prefer"] = []string{r.prefer}
	}
	if r.ifMatch != "" {
		req.Header["If-Match"] = []string{string(r.ifMatch)}
	}
	if c.body != nil {
		req.Header["Content-Type"] = []string{c.contentType}
		req.ContentLength = int64(len(c.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
		req.Body, _ = req.GetBody()
	}
	f.sign(req)
	return req.WithContext(ctx), nil
}

// sign signs a request with the account's key, if there is one
// (learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key, SharedKeyLite for the Table service).
func (f *firstTries) sign(req *http.Request) {
	key := f.key.Load()
	if key == nil {
		return
	}
	date := time.Now().UTC().Format(http.TimeFormat)
	mac := hmac.New(sha256.New, *key)
	io.WriteString(mac, date+"\n/"+f.account+req.URL.EscapedPath()) // never fails
	req.Header["X-Ms-Date"] = []string{date}
	req.Header["Authorization"] = []string{
		"SharedKeyLite " + f.account + ":" + base64.StdEncoding.EncodeToString(mac.Sum(nil))}
}

// handOver is the client policy that answers the first try of a call with the outcome that it had already. It runs
// within the retries, before what observes and sends a try.
type handOver struct{}

func (handOver) Do(req *policy.Request) (*http.Response, error) {
	c, ok := service.CallOf[*call](req)
	if !ok || c.first == nil {
		return req.Next()
	}
	found := c.first
	c.first = nil
	return found.resp, found.err
}
