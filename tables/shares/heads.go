package shares

import (
	"bytes"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
)

// What heads take, in bytes of memory. Those of devices and SDKs have 0.5 to 4 KiB in 10 to 30 lines, with the first
// messages of TLS and the part of the body that the server reads with them.
const (
	headLine = 128     // for a field, beside its text: net/http makes 64 KiB of short ones 600 KiB
	headRoom = 8 << 10 // for each connection that may be open, on average
)

// Heads bounds the memory that the heads of requests take on the connections of some servers, from the first byte until
// the request is answered. net/http bounds the head of one connection alone. Beyond the bound, the connection with the
// largest head is closed, of the network that has the most. It is safe for concurrent use.
type Heads struct {
	max int64

	mu   sync.Mutex
	used int64
	by   map[netip.Prefix]*source
}

// A source is a network, and its connections with a part of a head.
type source struct {
	used  int64
	heads map[*headed]bool
}

// NewHeads returns a bound for at most so many connections.
func NewHeads(connections int) *Heads {
	return &Heads{max: int64(connections) * headRoom, by: map[netip.Prefix]*source{}}
}

// Listen returns a listener whose connections count. Note must be the ConnState hook of its server, or a part of it.
// TLS comes above it.
func (h *Heads) Listen(l net.Listener) net.Listener { return headedListener{l, h} }

type headedListener struct {
	net.Listener
	heads *Heads
}

func (l headedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	_, network := Networks(conn)
	c := &headed{Conn: conn, heads: l.heads, network: network}
	c.reading.Store(true)
	return c, nil
}

// headed is a connection that counts the bytes of heads.
type headed struct {
	net.Conn
	heads   *Heads
	network netip.Prefix
	reading atomic.Bool // a head, and not a body
	takes   int64       // bytes of memory; the lock of heads is held
	gone    bool        // nothing of it counts any more; the lock of heads is held
}

func (c *headed) Read(p []byte) (n int, err error) {
	if n, err = c.Conn.Read(p); n > 0 && c.reading.Load() {
		c.heads.add(c, int64(n+headLine*bytes.Count(p[:n], []byte{'\n'})))
	}
	return n, err
}

// Note follows the state of a connection that Listen's listener has accepted, or of TLS on it.
func (h *Heads) Note(conn net.Conn, state http.ConnState) {
	if t, is := conn.(*tls.Conn); is {
		conn = t.NetConn()
	}
	c, is := conn.(*headed)
	if !is {
		return // it is none of them
	}
	switch state {
	case http.StateActive:
		c.reading.Store(false)
	case http.StateIdle:
		h.forget(c, false)
		c.reading.Store(true)
	case http.StateClosed, http.StateHijacked:
		h.forget(c, true)
	}
}

func (h *Heads) add(c *headed, n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.gone {
		return
	}
	of := h.by[c.network]
	if of == nil {
		of = &source{heads: map[*headed]bool{}}
		h.by[c.network] = of
	}
	of.heads[c] = true
	c.takes, of.used, h.used = c.takes+n, of.used+n, h.used+n
	for h.used > h.max {
		largest := h.largest()
		h.remove(largest, true)
		Abort(largest.Conn)
	}
}

// largest returns the connection with the largest head, of the network that has the most.
// There is one: something is used. The lock is held.
func (h *Heads) largest() (c *headed) {
	var most *source
	for _, of := range h.by {
		if most == nil || of.used > most.used {
			most = of
		}
	}
	for one := range most.heads {
		if c == nil || one.takes > c.takes {
			c = one
		}
	}
	return c
}

func (h *Heads) forget(c *headed, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(c, gone)
}

// remove ends the count of a connection's head, and of later ones if it is gone. The lock is held.
func (h *Heads) remove(c *headed, gone bool) {
	c.gone = c.gone || gone
	of := h.by[c.network]
	if of == nil {
		return
	}
	h.used, of.used = h.used-c.takes, of.used-c.takes
	c.takes = 0
	if delete(of.heads, c); len(of.heads) == 0 {
		delete(h.by, c.network)
	}
}
