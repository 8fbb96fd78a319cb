package device

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
)

// A Refusal is an answer of the endpoint or of storage that is not what was
// asked for.
type Refusal struct {
	By        string // "the endpoint" or "storage"
	Status    int
	Code      string // empty where the answer had none, as those of proxies
	Detail    string
	RequestID string

	wait time.Duration // that it asks for
}

func (r *Refusal) Error() string {
	text := fmt.Sprintf("%s answers %d", r.By, r.Status)
	if r.Code != "" {
		text += " " + r.Code
	}
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	if r.RequestID != "" {
		text += " (request " + r.RequestID + ")"
	}
	return text
}

// lasting tells whether it is a refusal of the endpoint that only somebody can end.
func (r *Refusal) lasting() bool {
	switch r.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return r.By == endpoint && r.Code != "" && r.Status < 500
}

const (
	endpoint = "the endpoint"
	storage  = "storage"
)

// ask gets a token. A device whose clock is wrong is told so, with the right time,
// and asks again with that.
func (c *Client) ask(ctx context.Context) (*token, error) {
	defer c.clock.certify(time.Time{})
	t, again, err := c.askOnce(ctx)
	for try := 0; again && try < 2; try++ { // once for the certificate, once for the proof
		t, again, err = c.askOnce(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	return t, nil
}

func (c *Client) askOnce(ctx context.Context) (t *token, again bool, err error) {
	asked, now := c.clock.since(), c.clock.now()
	path := c.config.Endpoint + "/v1/devices/" + url.PathEscape(string(c.config.Device)) + "/token"
	r, err := c.post(ctx, path, nil, http.Header{"Authorization": {c.prove(now)}, "Accept": {"application/json"}})
	if err != nil {
		day, ok := early(err, now)
		if again = ok && !c.clock.known(); again {
			c.clock.certify(day)
		}
		return nil, again, fmt.Errorf("%s: %w", endpoint, err)
	}
	answered := c.clock.since()
	if r.status != http.StatusOK {
		refusal, server := problem(r)
		if refusal.Code != "proof-expired" || server.IsZero() {
			return nil, false, refusal
		}
		return nil, true, errors.Join(refusal, c.learn(server, asked, answered))
	}
	a, table, err := parseAnswer(r.body, c.config.Device)
	if err != nil {
		return nil, false, fmt.Errorf("answer of %s: %w", endpoint, err)
	}
	if err := c.learn(a.ServerTime, asked, answered); err != nil {
		return nil, false, err
	}
	t = a.token(table, a.ServerTime.Add(-(asked+answered)/2))
	c.count(func(s *Stats) {
		s.Tokens, s.TokenExpires, s.SendEvery = s.Tokens+1, a.Expires, time.Duration(a.SendEvery)*time.Second
	})
	return t, false, nil
}

// learn sets the clock; at the first time, that fixes when all was taken that waits.
func (c *Client) learn(server time.Time, asked, answered time.Duration) error {
	zero := c.clock.learn(server, asked, answered)
	if err := c.buffer.anchor(zero, server, c.config.Log); err != nil {
		return fmt.Errorf("file %s: the times of readings: %w", c.config.File, err)
	}
	return nil
}

// problem reads an answer of application/problem+json, or what there is instead.
func problem(r reply) (*Refusal, time.Time) {
	var told struct {
		Detail     string    `json:"detail"`
		Code       string    `json:"code"`
		RequestID  string    `json:"requestId"`
		ServerTime time.Time `json:"serverTime"`
		RetryAfter float64   `json:"retryAfter"` // seconds
	}
	refusal := &Refusal{By: endpoint, Status: r.status, wait: retryAfter(r.header)}
	if json.Unmarshal(r.body, &told) != nil {
		return refusal, time.Time{}
	}
	refusal.Code, refusal.Detail, refusal.RequestID = clip(told.Code), clip(told.Detail), clip(told.RequestID)
	if refusal.wait == 0 && told.RetryAfter > 0 {
		refusal.wait = time.Duration(min(told.RetryAfter, longestWait.Seconds()) * float64(time.Second))
	}
	return refusal, told.ServerTime
}
