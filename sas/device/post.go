package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A reply is an answer that was read whole.
type reply struct {
	status int
	header http.Header
	body   []byte
}

const (
	maxReply = 1 << 20
	patience = 30 * time.Second
	slowest  = 4 << 10 // bytes a second, of a link that is worth waiting for
)

// post sends a request. Its errors do not have the URL, which may hold a token.
func (c *Client) post(ctx context.Context, to string, body []byte, header http.Header) (reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience+time.Duration(len(body))*time.Second/slowest, errors.New("no answer in time"))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return reply{}, errors.New("its URL cannot be used")
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
		err = fmt.Errorf("the answer is longer than %d bytes", maxReply)
	}
	return r, err
}

// longestWait is as long as a server may ask to wait.
const longestWait = time.Hour

// retryAfter is how long an answer asks to wait: seconds, or a time by its own clock.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), int64(longestWait/time.Second))) * time.Second
	}
	until, errUntil := http.ParseTime(text)
	date, errDate := http.ParseTime(h.Get("Date"))
	if errUntil != nil || errDate != nil {
		return 0
	}
	return min(max(until.Sub(date), 0), longestWait)
}
