// Package heads remembers how clients spell the names of metadata. They are parts of header names, which net/http
// gives in one spelling, and Azure keeps them as they are sent.
package heads

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// Listener returns l with connections whose requests Names and State know.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c}, nil
}

// A Conn follows the heads of requests on a connection. The server sees what it would see without.
type Conn struct {
	net.Conn

	mu      sync.Mutex
	scanner scanner
	state   *tls.ConnectionState
}

func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && plain.Conn != nil { // as net/http does
		io.WriteString(plain.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scanner.write(p[:n])
	return n, err
}

// CloseWrite ends the sending direction, so that a client that still sends can read the answer.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// next returns the names of the oldest request that it was not called for.
func (c *Conn) next() (names map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.scanner.heads) == 0 {
		return nil
	}
	names = c.scanner.heads[0]
	c.scanner.heads = append(c.scanner.heads[:0], c.scanner.heads[1:]...)
	return names
}

// tls returns the state of a connection with TLS, nil without. The handshake has ended.
func (c *Conn) tls() *tls.ConnectionState {
	t, ok := c.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == nil {
		state := t.ConnectionState()
		c.state = &state
	}
	return c.state
}

type contextKey struct{}

// Context is for http.Server.ConnContext.
func Context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// WithNames returns a context for a request without a connection, whose header has the names as the client spells them.
func WithNames(ctx context.Context, header http.Header) context.Context {
	var sc scanner
	for name := range header {
		sc.name([]byte(name))
	}
	return context.WithValue(ctx, contextKey{}, sc.names)
}

// Names returns the spellings of the names of metadata in a request, by name in lower case; those without capital
// letters are left out. It must be called once for each request of a connection. It sets the TLS state, which
// net/http does not find behind a Conn.
func Names(r *http.Request) map[string]string {
	switch c := r.Context().Value(contextKey{}).(type) {
	case *Conn:
		r.TLS = c.tls()
		return c.next()
	case map[string]string:
		return c
	}
	return nil
}
