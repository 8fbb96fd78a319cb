package tables

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A call is one operation, with its body and its answer.
type call struct {
	kind  Kind
	table string

	body        []byte // nil: none
	contentType string

	first  *outcome      // of a try that azcore's pipeline has not sent; nil: it sends it
	into   *bytes.Buffer // for the body of a successful answer; nil: azcore's own
	answer []byte        // the body of a successful answer
	header http.Header   // of a successful answer
	parse  func(*http.Response, []byte) error
}

// noContent is the preference of an insert. By default, storage answers with the entity.
const noContent = "return-no-content"

// within returns a context in which the next request of aztables or azcore belongs to c.
func (c *call) within(ctx context.Context) context.Context {
	return service.Within(ctx, c)
}

// dateOf returns the service's time, on which horizons are based; zero if the answer has none.
func dateOf(answer http.Header) time.Time {
	t, err := http.ParseTime(answer.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return t
}

// takeAnswer takes the answer to c, whose body has been read.
func (c *call) takeAnswer(resp *http.Response) error {
	c.header = resp.Header
	if c.parse == nil {
		return nil
	}
	return c.parse(resp, c.answer)
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
