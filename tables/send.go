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
	"sync"
	"sync/atomic"
	"time"

	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
)

// A sender sends requests about rows: a first try by itself, unless Entra authorizes it, and all others through
// azcore's pipeline, as the package documentation says. It is safe for concurrent use.
type sender struct {
	pipeline  func() runtime.Pipeline // made when it is needed
	entra     bool
	transport policy.Transporter
	timeout   time.Duration
	service   *url.URL // without the SAS
	sas       string
	account   string
	key       atomic.Pointer[[]byte] // nil without a key
	on        func(context.Context, Operation)
}

// newSender returns a sender. Entra authorizes its requests if there is a credential.
func newSender(c Config, credential azcore.TokenCredential) (*sender, error) {
	s := &sender{entra: credential != nil, transport: c.Transport, timeout: service.Retry(c.Retry).TryTimeout,
		account: c.Account.Name, sas: c.Account.SAS, on: c.OnOperation}
	var err error
	if s.service, err = url.Parse(strings.TrimRight(c.Account.Table, "/")); err != nil {
		return nil, errors.New("the URL of the Table service is none")
	}
	if c.Account.Key != "" && s.sas == "" {
		if err := s.setKey(c.Account.Key); err != nil {
			return nil, err
		}
	}
	own := []policy.Policy{handOver{}, signing{s}}
	if s.entra {
		own = []policy.Policy{runtime.NewBearerTokenPolicy(credential, []string{storageScope}, nil)}
	}
	s.pipeline = sync.OnceValue(func() runtime.Pipeline {
		o := c.options()
		o.PerRetryPolicies = append(o.PerRetryPolicies, download{})
		return runtime.NewPipeline("furrow", "", runtime.PipelineOptions{PerRetry: own}, &o.ClientOptions)
	})
	return s, nil
}

func (s *sender) setKey(key string) error {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return service.ErrKey
	}
	s.key.Store(&raw)
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

// send makes a call: its first try, and unless that succeeds the rest of it.
func (s *sender) send(ctx context.Context, c *call, r request) error {
	if !s.entra {
		found := s.try(ctx, c, r)
		if found.err == nil && c.kind.succeeds(found.resp.StatusCode) {
			return c.takeAnswer(found.resp)
		}
		c.first = &found
	}
	return s.rest(ctx, c, r)
}

// rest makes a call through azcore's pipeline, which begins with the outcome of the first try, if there was one.
func (s *sender) rest(ctx context.Context, c *call, r request) error {
	u, err := s.url(r)
	if err != nil {
		return err
	}
	req, err := runtime.NewRequest(c.within(ctx), r.method, u.String())
	if err != nil {
		return err
	}
	if c.body != nil {
		if err := req.SetBody(streaming.NopCloser(bytes.NewReader(c.body)), c.contentType); err != nil {
			return err
		}
	}
	r.setHeaders(req.Raw().Header)
	if c.into != nil {
		runtime.SkipBodyDownload(req)
	}
	resp, err := s.pipeline().Do(req)
	if err != nil {
		return err
	}
	if !c.kind.succeeds(resp.StatusCode) {
		return runtime.NewResponseError(resp)
	}
	if c.into != nil {
		c.answer = c.into.Bytes()
		_ = resp.Body.Close() // which ends the try's timer; the body has been read
	} else if c.answer, err = runtime.Payload(resp); err != nil {
		return err
	}
	return c.takeAnswer(resp)
}

// succeeds reports whether an answer to a call of this kind is a success. A proxy's page under status 200 is none of a
// write.
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
func (s *sender) try(ctx context.Context, c *call, r request) (found outcome) {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := s.build(limited, c, r)
	if err != nil {
		return outcome{err: err}
	}
	found.resp, found.err = s.transport.Do(req)
	if s.on != nil {
		o := Operation{Kind: c.kind, Table: c.table}
		if found.resp != nil {
			o.Status = found.resp.StatusCode
		}
		s.on(ctx, o)
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

// url returns the URL of a request, with the SAS.
func (s *sender) url(r request) (*url.URL, error) {
	u := &url.URL{Scheme: s.service.Scheme, Host: s.service.Host, RawPath: s.service.EscapedPath() + r.path,
		RawQuery: r.query}
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, err
	}
	if s.sas != "" {
		u.RawQuery = strings.TrimPrefix(r.query+"&"+s.sas, "&")
	}
	return u, nil
}

func (r request) setHeaders(h http.Header) {
	h["Accept"] = []string{"application/json;odata=minimalmetadata"}
	h["Dataserviceversion"] = []string{"3.0"}
	h["User-Agent"] = []string{"furrow"}
	h["X-Ms-Version"] = []string{"2019-02-02"} // that of aztables
	if r.prefer != "" {
		h["Prefer"] = []string{r.prefer}
	}
	if r.ifMatch != "" {
		h["If-Match"] = []string{string(r.ifMatch)}
	}
}

// build returns the request of a first try.
func (s *sender) build(ctx context.Context, c *call, r request) (*http.Request, error) {
	u, err := s.url(r)
	if err != nil {
		return nil, err
	}
	req := &http.Request{Method: r.method, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}}
	r.setHeaders(req.Header)
	if c.body != nil {
		req.Header["Content-Type"] = []string{c.contentType}
		req.ContentLength = int64(len(c.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
		req.Body, _ = req.GetBody()
	}
	s.sign(req)
	return req.WithContext(ctx), nil
}

// sign signs a request with the account's key, if there is one
// (learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key, SharedKeyLite for the Table service).
func (s *sender) sign(req *http.Request) {
	key := s.key.Load()
	if key == nil {
		return
	}
	date := time.Now().UTC().Format(http.TimeFormat)
	mac := hmac.New(sha256.New, *key)
	io.WriteString(mac, date+"\n/"+s.account+req.URL.EscapedPath()) // never fails
	req.Header["X-Ms-Date"] = []string{date}
	req.Header["Authorization"] = []string{
		"SharedKeyLite " + s.account + ":" + base64.StdEncoding.EncodeToString(mac.Sum(nil))}
}

// signing is the policy that signs each try by its own time.
type signing struct{ *sender }

func (s signing) Do(req *policy.Request) (*http.Response, error) {
	s.sign(req.Raw())
	return req.Next()
}

// handOver is the policy that answers the first try of a call with the outcome that it had already. It runs within the
// retries, before what observes and sends a try.
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
