package tables

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
)

// A call carries the bodies of one operation past aztables, which finds the
// URL, signs, sends and retries. Left to itself it decodes and encodes every
// entity twice on its way out and in, loses the type of whole doubles and
// the digits of long integers, does not tell the ETags of a transaction, and
// panics on a transaction's answer that was cut off.
type call struct {
	kind  Kind
	table string
	rows  int

	body        []byte // sent instead of what aztables has written, unless nil
	contentType string

	answer []byte      // the body of a good answer
	header http.Header // of a good answer
	parse  func(*http.Response, []byte) error
}

// within is a context in which the next request of aztables is c's.
func (c *call) within(ctx context.Context) context.Context {
	return service.Within(ctx, c)
}

// date is the service's time, by which horizons are set; zero when it sent none.
func (c *call) date() time.Time {
	t, err := http.ParseTime(c.header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return t
}

// bodies is the policy that exchanges bodies, once a call: outside of the
// retries, so that it sees the last answer alone.
type bodies struct{}

func (bodies) Do(req *policy.Request) (*http.Response, error) {
	c, ok := service.CallOf[*call](req)
	if !ok {
		return req.Next()
	}
	if c.body != nil {
		if err := req.SetBody(streaming.NopCloser(bytes.NewReader(c.body)), c.contentType); err != nil {
			return nil, err
		}
	}
	if c.kind == KindInsert {
		req.Raw().Header.Set("Prefer", "return-no-content")
	}
	resp, err := req.Next()
	if err != nil || resp.StatusCode >= 300 {
		return resp, err
	}
	if c.answer, err = runtime.Payload(resp); err != nil {
		return nil, err
	}
	c.header = resp.Header
	if c.parse != nil {
		if err := c.parse(resp, c.answer); err != nil {
			return nil, err
		}
	}
	rest := c.kind.nothing()
	if c.kind == KindGetPolicies {
		rest = string(c.answer) // a few, in XML: aztables may read them
	}
	resp.Body = io.NopCloser(strings.NewReader(rest))
	return resp, nil
}

// nothing is an answer that aztables understands and has no work with.
func (k Kind) nothing() string {
	if k == KindTransaction {
		return "--a\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHTTP/1.1 204 No " +
			"Content\r\n\r\n\r\n--b--\r\n--a--\r\n"
	}
	return "{}"
}
