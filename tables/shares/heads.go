package shares

import (
	"crypto/tls"
	"errors"
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

	// maxFields of a request: reading more would take time, too.
	maxFields = 256
	// Fields of what TLS has encrypted cannot be counted. Beyond tlsHead, it may all be short ones.
	tlsHead  = 4 << 10
	tlsField = 8 // bytes of memory for one of the head
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
	head    head        // that is read
	takes   int64       // bytes of memory; the lock of heads is held
	gone    bool        // nothing of it counts any more; the lock of heads is held
}

// A head is what has been read of one.
type head struct {
	bytes  int
	tls    bool // it is encrypted
	fields int
	line   int  // bytes of the last line
	last   byte // that was read
	whole  bool // what follows is a body
}

var errFields = errors.New("the request has too many header fields")

func (c *headed) Read(p []byte) (n int, err error) {
	if n, err = c.Conn.Read(p); n > 0 && c.reading.Load() {
		takes := c.head.read(p[:n])
		if c.head.fields > maxFields {
			Abort(c.Conn)
			return 0, errFields
		}
		c.heads.add(c, takes)
	}
	return n, err
}

// read counts what has come of a head, and returns what that takes.
func (h *head) read(p []byte) (takes int64) {
	const handshake = 0x16 // the type of the first record of TLS, and the beginning of no method
	if h.bytes == 0 {
		h.tls = h.tls || p[0] == handshake
	}
	before := h.bytes
	h.bytes += len(p)
	takes = int64(len(p))
	if h.whole {
		return takes // of the body
	}
	if h.tls {
		return takes + tlsField*int64(max(0, h.bytes-max(tlsHead, before)))
	}
	for _, b := range p {
		if b != '\n' {
			h.line, h.last = h.line+1, b
			continue
		}
		if h.line == 0 || h.line == 1 && h.last == '\r' {
			h.whole = true
			break
		}
		h.line = 0
		h.fields++
		takes += headLine
	}
	return takes
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
		c.head = head{tls: c.head.tls}
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
