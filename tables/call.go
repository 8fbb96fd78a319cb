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

// A call exchanges the bodies of one operation of aztables, which builds the URL, signs,
// sends and retries. By itself, aztables decodes and encodes every entity twice, loses the
// type of whole doubles and digits of long integers, does not return the ETags of a
// transaction, and panics on an incomplete answer to a transaction.
type call struct {
	kind  Kind
	table string
	rows  int

	body        []byte // sent instead of the body of aztables, unless nil
	contentType string

	answer []byte      // the body of a successful answer
	header http.Header // of a successful answer
	parse  func(*http.Response, []byte) error
}

// within returns a context in which the next request of aztables belongs to c.
func (c *call) within(ctx context.Context) context.Context {
	return service.Within(ctx, c)
}

// date returns the service's time, on which horizons are based; zero if the answer has none.
func (c *call) date() time.Time {
	t, err := http.ParseTime(c.header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return t
}

// bodies is the client policy that exchanges bodies. It runs once a call, around the
// retries, so it sees only the last answer.
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
	if c.kind == KindGetPolicies || c.kind == KindListTables {
		rest = string(c.answer) // which aztables parses
	}
	resp.Body = io.NopCloser(strings.NewReader(rest))
	return resp, nil
}

// nothing returns an empty answer that aztables accepts.
func (k Kind) nothing() string {
	if k == KindTransaction {
		return "--a\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" +
			"--b\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n\r\n--b--\r\n--a--\r\n"
	}
	return "{}"
}
