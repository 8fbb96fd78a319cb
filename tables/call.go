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
// sends and retries unless a first try without it succeeds. By itself, aztables decodes and
// encodes every entity twice, loses the type of whole doubles and digits of long integers,
// does not return the ETags of a transaction, and panics on an incomplete answer to one.
type call struct {
	kind  Kind
	table string
	rows  int

	body        []byte // sent instead of the body of aztables, unless nil
	contentType string

	first  *outcome      // of a first try that aztables has not sent; nil: it sends it
	into   *bytes.Buffer // for the body of a successful answer; nil: azcore's own
	answer []byte        // the body of a successful answer
	header http.Header   // of a successful answer
	parse  func(*http.Response, []byte) error
}

// noContent is the preference of an insert. By default, storage answers with the entity.
const noContent = "return-no-content"

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

// take takes the answer to c, whose body has been read.
func (c *call) take(resp *http.Response) error {
	c.header = resp.Header
	if c.parse == nil {
		return nil
	}
	return c.parse(resp, c.answer)
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
		req.Raw().Header.Set("Prefer", noContent)
	}
	if c.into != nil {
		runtime.SkipBodyDownload(req)
	}
	resp, err := req.Next()
	if err != nil || resp.StatusCode >= 300 {
		return resp, err
	}
	if c.into != nil {
		c.answer = c.into.Bytes()
		_ = resp.Body.Close() // which ends the try's timer; the body has been read
	} else if c.answer, err = runtime.Payload(resp); err != nil {
		return nil, err
	}
	if err := c.take(resp); err != nil {
		return nil, err
	}
	rest := c.kind.nothing()
	if c.kind == KindGetPolicies || c.kind == KindListTables {
		rest = string(c.answer) // which aztables parses
	}
	resp.Body = io.NopCloser(strings.NewReader(rest))
	return resp, nil
}

// download is the client policy that reads the body of an answer into memory that is used again: azcore's reads a page
// of rows into a slice that it copies more than ten times while it grows. It runs within a try, so that an answer that
// breaks off is tried again.
type download struct{}

func (download) Do(req *policy.Request) (*http.Response, error) {
	resp, err := req.Next()
	c, ok := service.CallOf[*call](req)
	if err != nil || !ok || c.into == nil || resp.StatusCode >= 300 {
		return resp, err
	}
	c.into.Reset()
	_, err = c.into.ReadFrom(resp.Body)
	_ = resp.Body.Close() // it has been read
	resp.Body = http.NoBody
	return resp, err
}

// nothing returns an empty answer that aztables accepts.
func (k Kind) nothing() string {
	if k == KindTransaction {
		return "--a\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" +
			"--b\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n\r\n--b--\r\n--a--\r\n"
	}
	return "{}"
}
