package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A reply is a response of the endpoint with its whole body.
type reply struct {
	status int
	header http.Header
	body   []byte
}

const (
	maxReply = 1 << 20
	patience = 30 * time.Second // for a response, besides the time that a large request takes
	slowest  = 2 << 10          // bytes of rows per second on the slowest link supported
)

var errSlow = errors.New("no response in time")

// post sends a request without a body to the endpoint.
func (c *Client) post(ctx context.Context, to string, header http.Header) (reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, http.NoBody)
	if err != nil {
		return reply{}, err
	}
	req.Header = header
	resp, err := c.http.Do(req)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	r := reply{status: resp.StatusCode, header: resp.Header}
	if r.body, err = io.ReadAll(io.LimitReader(resp.Body, maxReply+1)); err == nil && len(r.body) > maxReply {
		err = fmt.Errorf("the response is longer than %d bytes", maxReply)
	}
	return r, err
}

// longestWait bounds the wait that a server may request.
const longestWait = time.Hour

// retryAfter is the wait that a response requests, in seconds.
func retryAfter(h http.Header) time.Duration {
	seconds, _ := strconv.ParseInt(h.Get("Retry-After"), 10, 64)
	return time.Duration(min(max(seconds, 0), int64(longestWait/time.Second))) * time.Second
}
