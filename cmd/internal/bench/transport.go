package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// A Transport sends the SDKs' requests over connections that it keeps, one for
// each client at work. net/http's own passes every request through two further
// goroutines, which on a machine that runs the server too is a fair part of what
// is measured. It reads an answer whole before it gives it back.
type Transport struct {
	tls  *tls.Config
	mu   sync.Mutex
	idle map[string][]*connection // by scheme and host; the last was used last
}

// A connection carries one request at a time.
type connection struct {
	net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
	used time.Time
}

const (
	answerWithin = time.Minute
	keepFor      = 2 * time.Second // Azurite, on Node, hangs up after five
)

// NewTransport gives a Transport. With a caFile, it trusts the certificates in
// there and no others.
func NewTransport(caFile string) (*Transport, error) {
	t := &Transport{tls: &tls.Config{}, idle: map[string][]*connection{}}
	if caFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	t.tls.RootCAs = x509.NewCertPool()
	if !t.tls.RootCAs.AppendCertsFromPEM(pem) {
		return nil, errors.New(caFile + " holds no PEM certificate")
	}
	return t, nil
}

// Do sends r and reads the answer, as azcore's policy.Transporter.
func (t *Transport) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close() // read by then, or of no use
	}
	c, err := t.connect(r)
	if err != nil {
		return nil, err
	}
	cut := context.AfterFunc(r.Context(), func() { c.Close() })
	answer, err := c.exchange(r)
	if !cut() {
		return nil, errors.Join(context.Cause(r.Context()), err)
	}
	if err != nil || answer.Close {
		return answer, errors.Join(err, c.Close())
	}
	c.used = time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	key := r.URL.Scheme + r.URL.Host
	t.idle[key] = append(t.idle[key], c)
	return answer, nil
}

func (c *connection) exchange(r *http.Request) (*http.Response, error) {
	if err := c.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		return nil, err
	}
	if err := r.Write(c.out); err != nil {
		return nil, err
	}
	if err := c.out.Flush(); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(c.in, r)
	for err == nil && answer.StatusCode == http.StatusContinue {
		answer, err = http.ReadResponse(c.in, r)
	}
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, err
}

// connect takes the connection used last, if it can be expected to live, or
// opens one.
func (t *Transport) connect(r *http.Request) (*connection, error) {
	if c := t.kept(r.URL.Scheme + r.URL.Host); c != nil {
		return c, nil
	}
	address := r.URL.Host
	if r.URL.Port() == "" {
		address = net.JoinHostPort(r.URL.Hostname(), r.URL.Scheme)
	}
	var raw net.Conn
	var err error
	if r.URL.Scheme == "https" {
		raw, err = (&tls.Dialer{Config: t.tls}).DialContext(r.Context(), "tcp", address)
	} else {
		raw, err = (&net.Dialer{}).DialContext(r.Context(), "tcp", address)
	}
	if err != nil {
		return nil, err
	}
	return &connection{Conn: raw, in: bufio.NewReader(raw), out: bufio.NewWriter(raw)}, nil
}

func (t *Transport) kept(key string) *connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	idle := t.idle[key]
	if len(idle) == 0 {
		return nil
	}
	if c := idle[len(idle)-1]; time.Since(c.used) < keepFor {
		t.idle[key] = idle[:len(idle)-1]
		return c
	}
	for _, c := range idle {
		c.Close() // all of them were used even earlier; nothing is under way on them
	}
	delete(t.idle, key)
	return nil
}
