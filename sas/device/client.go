package device

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// DefaultMaxBytes is the default of Config.MaxBytes.
const DefaultMaxBytes = 16 << 20

// A Config configures a Client.
type Config struct {
	Endpoint   string // URL of the token endpoint: https, except on loopback
	Device     schema.DeviceID
	Enrollment string // ID of the device's enrollment
	Key        string // the device's own key in base64, as furrow device key prints it

	// CertFile and KeyFile are PEM files of a client certificate and its key, which authenticate the device instead of
	// Enrollment and Key, and are read again for each connection. See --device-ca of furrow sas.
	CertFile, KeyFile string

	CAFile string // trusted certificates in PEM; zero: the system's
	// Transport sends every request and verifies certificates; zero: one that trusts CAFile and presents CertFile.
	Transport http.RoundTripper

	// File holds the waiting readings, so that a power cut loses none. It grows to about
	// twice MaxBytes. Not available on Windows. Zero: memory only.
	File     string
	MaxBytes int64 // of all waiting readings, which are also in memory; zero: DefaultMaxBytes
	// Session is what the device's last client, which had no File, has left. Zero: the device boots.
	Session *Session

	// OnCommand does what a command says, and returns a result that is sent as JSON, or why it failed. It is called at
	// least once for each command, one call at a time, while Run runs: again with the same ID if the device was
	// restarted before its acknowledgement was processed. Zero: the client takes no commands.
	OnCommand func(ctx context.Context, c Command) (result any, err error)
	// OnDesired applies the configuration that the device is to have: after each start, and whenever there is a newer
	// one. It shares calls and results with OnCommand. Zero: the client does not read the configuration.
	OnDesired func(ctx context.Context, c Command) (result any, err error)
	PollEvery time.Duration // time between reads of commands; zero: what the endpoint suggests

	// OnReport is called by Send, Run and Open, one call at a time. It must not call the
	// client. Zero: reports are logged.
	OnReport func(Report)
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
	held   *token // while Run does not run

	running   atomic.Bool
	reporting sync.Mutex
	mu        sync.Mutex
	stats     Stats
	newest    tables.Ticks // of the rows that this client has stored
	late      tables.Ticks // of the oldest row that it stored after a newer one, since the last ring; zero: none
}

// Reasons why Send refuses a valid reading.
var (
	ErrFull   = errors.New("the buffer is full: try again after waiting readings were sent")
	ErrClosed = errors.New("the client is closed")
)

// Open checks the config and loads the waiting readings from the file. On Linux, the BSDs
// and macOS a lock ensures that only one process has the file open.
func Open(config Config) (*Client, error) {
	c := &Client{config: config}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("device %q: %w", config.Device, err)
	}
	c.clock = newClock(c.config.Wall)
	transport := c.config.Transport
	if transport == nil {
		var err error
		if transport, err = newTransport(c.config, c.clock.certificateTime); err != nil {
			return nil, fmt.Errorf("device %q: %w", config.Device, err)
		}
	}
	c.http = &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	buffer, reports, err := openBuffer(c.config, c.clock.wall())
	if err != nil {
		return nil, fmt.Errorf("device %q: %w", config.Device, err)
	}
	c.buffer = buffer
	if config.Session != nil {
		if err := c.resume(config.Session); err != nil {
			return nil, fmt.Errorf("device %q: %w", config.Device, err)
		}
	}
	c.report(reports...)
	return c, nil
}

func (c *Client) check() (err error) {
	if _, err := schema.ParseDeviceID(string(c.config.Device)); err != nil {
		return err
	}
	if err := c.checkIdentity(); err != nil {
		return err
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

// checkIdentity checks with what the device authenticates, and decodes its key.
func (c *Client) checkIdentity() (err error) {
	hasKey, hasFiles := c.config.Key != "", c.config.CertFile != "" || c.config.KeyFile != ""
	switch {
	case hasKey && hasFiles:
		return errors.New("both a key and a certificate are given; the device authenticates with one of them")
	case hasFiles && (c.config.CertFile == "" || c.config.KeyFile == ""):
		return errors.New("a certificate needs two files: CertFile and KeyFile")
	case hasFiles && c.config.Transport != nil:
		return errors.New("a Transport and CertFile are given, which only the default Transport presents")
	case hasFiles:
		return nil
	case c.config.Enrollment == "":
		return errors.New("no enrollment; it is part of the device's proof")
	}
	if c.key, err = base64.StdEncoding.DecodeString(c.config.Key); err != nil || len(c.key) == 0 {
		return errors.New("the key is empty or not in base64; copy all of it, with the = signs at its end")
	}
	return nil
}

// Send accepts a reading, or returns why not. It refuses at once what storage would refuse
// later.
func (c *Client) Send(r Reading) error {
	row, err := r.row(c.config.Device)
	if err == nil {
		err = c.buffer.add(c.clock.stamp(r.Time), row)
	}
	if err != nil {
		c.count(func(s *Stats) { s.Refused++ })
		return fmt.Errorf("reading: %w", err)
	}
	c.count(func(s *Stats) {
		if isAck(row) {
			s.Acks.Accepted++
		} else {
			s.Accepted++
		}
	})
	return nil
}

// Flush waits until every reading accepted before the call is stored or reported. It needs
// a concurrent Run.
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
			return fmt.Errorf("flush: %d readings still wait: %w", left, context.Cause(ctx))
		}
	}
}

// Close closes the file. The next Open finds its waiting readings; without a file they are
// lost. Run must have returned.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return c.buffer.close()
}
