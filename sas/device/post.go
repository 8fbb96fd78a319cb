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

// A reply is a response with its whole body.
type reply struct {
	status int
	header http.Header
	body   []byte
}

const (
	maxReply = 1 << 20
	patience = 30 * time.Second
	slowest  = 4 << 10 // bytes per second of the slowest link supported
)

// post sends a request. Its errors omit the URL, which may contain a token.
func (c *Client) post(ctx context.Context, to string, body []byte, header http.Header) (reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience+time.Duration(len(body))*time.Second/slowest,
		errors.New("no response in time"))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return reply{}, errors.New("invalid URL")
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

// retryAfter is the wait that a response requests, in seconds or as a time by its own clock.
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
