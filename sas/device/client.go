package device

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"furrow/tables/schema"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultMaxBytes is how much may wait where Config does not say.
const DefaultMaxBytes = 16 << 20

// A Config says who a device is, whom it asks for tokens, and where its
// readings wait.
type Config struct {
	Endpoint   string // URL of the SAS endpoint: https, except on loopback
	Device     schema.DeviceID
	Enrollment string // the device's
	Key        string // the device's own, derived from its enrollment's, in base64

	CAFile    string            // certificates to trust, in PEM; zero: the system's
	Transport http.RoundTripper // carries every request, and checks certificates; zero: one that trusts CAFile

	File       string // where readings wait, so that a power cut loses none; at most about twice MaxBytes; not on Windows. Zero: in memory only
	MaxBytes   int64  // of the readings that wait, which are in memory too; zero: DefaultMaxBytes
	DropOldest bool   // when that is full: drop the oldest, and report it; zero: Send refuses the newest

	OnReport func(Report)     // is called by Send, Run and Open, one at a time, and must not call the client; zero: reports are logged
	Log      *slog.Logger     // zero: slog.Default
	Wall     func() time.Time // the device's own clock, which may be wrong; zero: time.Now
}

// A Client sends the readings of one device. It is safe for concurrent use.
type Client struct {
	config Config
	key    []byte
	clock  *clock
	buffer *buffer
	http   *http.Client

	running   atomic.Bool
	reporting sync.Mutex
	mu        sync.Mutex
	stats     Stats
}

// What Send refuses a good reading for.
var (
	ErrFull   = errors.New("the buffer is full: send again when what waits has been stored")
	ErrClosed = errors.New("the client is closed")
)

// Open checks the config, and loads what waits in the file. One process at a
// time can have a file open, where the system has locks for files: Linux, the
// BSDs and macOS.
func Open(config Config) (*Client, error) {
	c := &Client{config: config}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("device %q: %w", config.Device, err)
	}
	c.clock = newClock(c.config.Wall)
	transport := c.config.Transport
	if transport == nil {
		var err error
		if transport, err = trusting(c.config.CAFile, c.clock.certificates); err != nil {
			return nil, fmt.Errorf("device %q: %w", config.Device, err)
		}
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	buffer, reports, err := openBuffer(c.config, c.clock.wall())
	if err != nil {
		return nil, fmt.Errorf("device %q: %w", config.Device, err)
	}
	c.buffer = buffer
	c.report(reports...)
	return c, nil
}

func (c *Client) check() (err error) {
	if _, err := schema.ParseDeviceID(string(c.config.Device)); err != nil {
		return err
	}
	if c.config.Enrollment == "" {
		return errors.New("no enrollment is named; it is part of the proof that the endpoint asks for")
	}
	if c.key, err = base64.StdEncoding.DecodeString(c.config.Key); err != nil || len(c.key) == 0 {
		return errors.New("the key is not in base64, or empty; copy it whole, with the = signs at its end")
	}
	u, err := url.Parse(c.config.Endpoint)
	if err != nil || u.Host == "" || u.RawQuery != "" {
		return fmt.Errorf("endpoint %q: want a URL such as https://furrow.example:8443", c.config.Endpoint)
	}
	if err := secure(u); err != nil {
		return fmt.Errorf("endpoint %q: %w", c.config.Endpoint, err)
	}
	c.config.Endpoint = strings.TrimRight(c.config.Endpoint, "/")
	if c.config.MaxBytes == 0 {
		c.config.MaxBytes = DefaultMaxBytes
	}
	if c.config.Log == nil {
		c.config.Log = slog.Default()
	}
	if c.config.Wall == nil {
		c.config.Wall = time.Now
	}
	return nil
}

// Send accepts a reading, or says why not. What storage would refuse is
// refused here, so that the caller learns it at once.
func (c *Client) Send(r Reading) error {
	body, err := r.encode(c.config.Device)
	if err != nil {
		return c.refused(fmt.Errorf("reading: %w", err))
	}
	taken := c.clock.stamp(r.Time)
	err = c.buffer.add(taken, body)
	for c.config.DropOldest && errors.Is(err, ErrFull) {
		old := c.buffer.oldest(len(body))
		if len(old) == 0 {
			break
		}
		for _, e := range old {
			c.report(e.report(Dropped, errDropped))
		}
		c.buffer.remove(old...)
		err = c.buffer.add(taken, body)
	}
	if err != nil {
		return c.refused(fmt.Errorf("reading: %w", err))
	}
	c.count(func(s *Stats) { s.Accepted++ })
	return nil
}

func (c *Client) refused(err error) error {
	c.count(func(s *Stats) { s.Refused++ })
	return err
}

// Flush waits until everything that was accepted before the call is stored or
// reported. Run must be running for that.
func (c *Client) Flush(ctx context.Context) error {
	upTo := c.buffer.mark()
	for {
		left, changed := c.buffer.waiting(upTo)
		if left == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("flush: %d readings wait still: %w", left, context.Cause(ctx))
		}
	}
}

// Close releases the file. What waits in it is there for the next Open; without
// a file it is lost. Run must have returned.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return c.buffer.close()
}
