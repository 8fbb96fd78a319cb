package shares

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
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
)

// Heads bounds the memory that the heads of requests take on the connections of some servers, from the first byte until
// the request is answered, and that of TLS handshakes. net/http bounds the head of one connection alone. Beyond the
// bound, the connection with the largest head is closed, of the network that has the most. It is safe for concurrent
// use.
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

// Watch has h learn when a request of a server has been read. Note must be the server's ConnState hook, or a part of
// it, and its connections must come from Listen.
func (h *Heads) Watch(server *http.Server) {
	type key struct{}
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, key{}, conn)
	}
	server.DisableGeneralOptionsHandler = true // net/http would answer OPTIONS * without the handler
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, is := r.Context().Value(key{}).(counted); is {
			c.count().begin(r)
		}
		next.ServeHTTP(w, r)
	})
}

// Listen returns a listener for a server whose connections count; with TLS where config is not nil.
func (h *Heads) Listen(l net.Listener, server *http.Server, config *tls.Config) net.Listener {
	return headedListener{l, h, server, config}
}

type headedListener struct {
	net.Listener
	heads  *Heads
	server *http.Server
	tls    *tls.Config
}

func (l headedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	_, network := Networks(conn)
	c := &headed{Conn: conn, heads: l.heads, network: network}
	c.reading.Store(true)
	if l.tls == nil {
		return c, nil
	}
	return newHeadedTLS(c, l.server, l.tls), nil
}

// headed is a connection that counts the bytes of heads.
type headed struct {
	net.Conn
	heads   *Heads
	network netip.Prefix
	reading atomic.Bool // a head, and not a body
	head    head        // that is read
	body    int64       // bytes of the request's body; -1: unknown
	takes   int64       // bytes of memory; the lock of heads is held
	gone    bool        // nothing of it counts any more; the lock of heads is held
}

// counted is headed, with TLS or without.
type counted interface{ count() *headed }

func (c *headed) count() *headed { return c }

// A head is what has been read of one, and behind it.
type head struct {
	fields int
	text   bool // the last line has more than '\r'
	whole  bool // what follows is a body, or another head

	behind int64 // bytes that have come behind it
	lines  int   // that may be in net/http's buffer: those of the last part that was read, where they are not the head's
	inside int   // of them, that belong to the body if that is chunked
	chunk  chunkLine
	before int // of lines, when this head began; its end may have been among them
}

// A chunkLine is what the first bytes of a line in a chunked body say.
type chunkLine int

const (
	lineBegins chunkLine = iota
	lineOfZeros
	lineOfData // or of a chunk that is not the last
	lastChunk  // or data that looks like it; other lines do not change it
)

var errFields = errors.New("the request has too many header fields")

func (c *headed) Read(p []byte) (n int, err error) {
	n, err = c.Conn.Read(p)
	if n > 0 && c.reading.Load() {
		takes := c.head.read(p[:n])
		if c.head.fields > maxFields {
			Abort(c.Conn)
			return 0, errFields
		}
		c.heads.add(c, takes)
	} else if n > 0 {
		c.head.follow(p[:n])
	}
	return n, err
}

var errNoCloseWrite = errors.New("the connection cannot be closed for writing alone")

// CloseWrite ends what is sent: net/http does so before it closes a connection whose client may still be sending, so
// that the client gets the answer.
func (c *headed) CloseWrite() error {
	if conn, is := c.Conn.(interface{ CloseWrite() error }); is {
		return conn.CloseWrite()
	}
	return errNoCloseWrite
}

// ReadFrom sends files without copying them, where the connection can.
func (c *headed) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// read counts what has come of a head, and returns what that takes.
func (h *head) read(p []byte) (takes int64) {
	takes = int64(len(p))
	if h.whole {
		h.follow(p)
		return takes
	}
	h.count(p)
	for i, b := range p {
		switch {
		case b != '\n':
			h.text = h.text || b != '\r'
		case h.text:
			h.text = false
			h.fields++
			takes += headLine
		case h.fields == 0: // net/http skips some of these, or they end what was in its buffer
		case h.before > 0: // it may be the end of another one
			h.whole = true
			return takes
		default:
			h.whole, h.lines = true, 0
			h.follow(p[i+1:])
			return takes
		}
	}
	return takes
}

// follow counts what has come behind a head.
func (h *head) follow(p []byte) {
	h.behind += int64(len(p))
	h.count(p)
	if inside := h.chunks(p); len(p) > 1 {
		h.inside = inside
	}
}

// chunks follows a body as if it were chunked. It returns how many lines of a part are before the last chunk.
func (h *head) chunks(p []byte) (inside int) {
	for i := 0; i < len(p) && h.chunk != lastChunk; i++ {
		if h.chunk == lineOfData { // the rest of the line says nothing
			end := bytes.IndexByte(p[i:], '\n')
			if end < 0 {
				break
			}
			i += end
		}
		switch b := p[i]; {
		case b == '0':
			h.chunk = lineOfZeros
		case h.chunk == lineOfZeros && strings.IndexByte(" \t\r\n;", b) >= 0: // an extension may follow
			h.chunk = lastChunk
		case b == '\n':
			h.chunk = lineBegins
			inside++
		default:
			h.chunk = lineOfData
		}
	}
	return inside
}

// count counts the lines in a part that was read.
func (h *head) count(p []byte) {
	if len(p) > 1 { // net/http reads a single byte to notice that a client has gone
		h.lines = bytes.Count(p, []byte{'\n'})
	}
}

// next returns the head after one with a body of so many bytes. What came behind that, or behind a head whose end was
// not seen for certain, may be in net/http's buffer. The line that this begins does not go on in the next head: it may
// be a part of the body, and an empty line behind it would then be taken for the end of the head.
func (h *head) next(body int64) head {
	if h.whole && h.before == 0 {
		if h.behind <= body {
			return head{}
		}
		if body < 0 {
			h.lines -= h.inside
		}
	}
	return head{lines: h.lines, before: h.lines}
}

// begin follows a head that has been read.
func (c *headed) begin(r *http.Request) {
	c.reading.Store(false)
	c.body = r.ContentLength
}

// Note follows the state of a connection that Listen's listener has accepted.
func (h *Heads) Note(conn net.Conn, state http.ConnState) {
	is, known := conn.(counted)
	if !known {
		return // it is none of them
	}
	switch c := is.count(); state {
	case http.StateIdle:
		h.forget(c, false)
		if c.head = c.head.next(c.body); c.head.before > 0 {
			h.add(c, headLine*int64(c.head.before))
		}
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
