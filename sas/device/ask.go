package device

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"furrow/tables"

	"github.com/go-json-experiment/json"
)

// A Refusal is an error response of the endpoint or of storage.
type Refusal struct {
	By        string // "the endpoint" or "storage"
	Status    int
	Code      string // empty if the response had none, as from a proxy
	Detail    string
	RequestID string

	wait time.Duration // requested by Retry-After
}

func (r *Refusal) Error() string {
	text := fmt.Sprintf("%s responds %d", r.By, r.Status)
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

// permanent reports whether an operator has to act before a retry can succeed.
func (r *Refusal) permanent() bool {
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

// Ring waits until every reading accepted before the call is stored or reported, and has the next run look at the
// device then. It is for readings that come before the next one is expected, of a device whose enrollment or model
// states its interval, and for late ones, which were stored after newer ones of this client: both would wait, for the
// next reading or for an audit. It needs a concurrent Run, and may be repeated after an error.
func (c *Client) Ring(ctx context.Context) error {
	if err := c.Flush(ctx); err != nil {
		return err
	}
	body, late := `{"ring":true}`, c.takeLate()
	if late != 0 {
		body = fmt.Sprintf(`{"ring":true,"late":%q}`, late)
	}
	_, err := c.requestToken(ctx, body)
	if err != nil && late != 0 { // the next ring says it
		c.noteStored(late)
	}
	return err
}

// takeLate returns the time of the oldest row that was stored late, and forgets it.
func (c *Client) takeLate() (late tables.Ticks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late, c.late = c.late, 0
	return late
}

// noteStored notes that a row is stored.
func (c *Client) noteStored(at tables.Ticks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at < c.newest && (c.late == 0 || at < c.late) {
		c.late = at
	}
	c.newest = max(c.newest, at)
}

// requestToken gets a token. If the device's clock is wrong, the endpoint responds with the
// right time, and the request is repeated with that.
func (c *Client) requestToken(ctx context.Context, body string) (*token, error) {
	defer c.clock.setCertificateTime(time.Time{})
	t, again, err := c.tryToken(ctx, body)
	for try := 0; again && try < 2; try++ { // once for the certificate's time, once for the proof's
		t, again, err = c.tryToken(ctx, body)
	}
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	return t, nil
}

func (c *Client) tryToken(ctx context.Context, body string) (t *token, again bool, err error) {
	sent, now := c.clock.since(), c.clock.now()
	path := c.config.Endpoint + "/v1/devices/" + url.PathEscape(string(c.config.Device)) + "/token"
	header := http.Header{"Accept": {"application/json"}}
	if c.key != nil {
		header.Set("Authorization", c.prove(now))
	}
	r, err := c.post(ctx, path, header, body)
	if err != nil {
		day, ok := notYetValid(err, now)
		if again = ok && !c.clock.known(); again {
			c.clock.setCertificateTime(day)
		}
		return nil, again, fmt.Errorf("%s: %w", endpoint, err)
	}
	received := c.clock.since()
	if r.status != http.StatusOK {
		refusal, server := problem(r)
		wrongTime := refusal.Code == "proof-expired" || refusal.Code == "proof-too-long"
		if !wrongTime || server.IsZero() {
			return nil, false, refusal
		}
		return nil, true, errors.Join(refusal, c.learn(server, sent, received))
	}
	a, table, err := parseAnswer(r.body, c.config.Device)
	if err != nil {
		return nil, false, fmt.Errorf("response of %s: %w", endpoint, err)
	}
	if err := c.learn(a.ServerTime, sent, received); err != nil {
		return nil, false, err
	}
	if t, err = c.token(a, table, a.ServerTime.Add(-(sent+received)/2)); err != nil {
		return nil, false, err
	}
	c.count(func(s *Stats) {
		s.Tokens, s.TokenExpires, s.SendEvery = s.Tokens+1, a.Expires, time.Duration(a.SendEvery)*time.Second
	})
	return t, false, nil
}

// learn sets the clock. The first time, this also fixes the times of the waiting readings.
func (c *Client) learn(server time.Time, sent, received time.Duration) error {
	zero := c.clock.learn(server, sent, received)
	if err := c.buffer.anchor(zero, server, c.config.Log); err != nil {
		return fmt.Errorf("file %s: the times of readings: %w", c.config.File, err)
	}
	return nil
}

// clip returns the first line of a server's text, shortened if it is long.
func clip(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return strings.ToValidUTF8(text[:min(len(text), 300)], "")
}

// problem reads a response of application/problem+json, or whatever else a proxy sent.
func problem(r reply) (*Refusal, time.Time) {
	var told struct {
		Detail     string    `json:"detail"`
		Code       string    `json:"code"`
		RequestID  string    `json:"requestId"`
		ServerTime time.Time `json:"serverTime"`
	}
	refusal := &Refusal{By: endpoint, Status: r.status, wait: retryAfter(r.header)}
	if json.Unmarshal(r.body, &told) != nil {
		return refusal, time.Time{}
	}
	refusal.Code, refusal.Detail, refusal.RequestID = clip(told.Code), clip(told.Detail), clip(told.RequestID)
	return refusal, told.ServerTime
}
