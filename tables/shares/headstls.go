package shares

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// headedTLS is a connection whose heads are encrypted. TLS is below it, so that it counts what net/http reads.
type headedTLS struct {
	*headed
	tls    *tls.Conn
	server *http.Server
	shaken bool // the handshake is over
	read   int  // encrypted bytes since it was, or since content last came of them
}

// maxEncrypted is how many bytes TLS may read before content comes of them: a handshake with certificates, which stay
// in memory, or a record of 16 KiB. Without it, a message behind the handshake may have 256 KiB.
const maxEncrypted = 40 << 10

var errEncrypted = errors.New("TLS has read too much without content")

func newHeadedTLS(c *headed, server *http.Server, config *tls.Config) *headedTLS {
	t := &headedTLS{headed: c, server: server}
	t.tls = tls.Server(handshaking{c.Conn, t}, config)
	c.Conn = t.tls
	return t
}

// ConnectionState does the handshake, as net/http does for its own connections of TLS: it asks for the state before it
// reads the first request, whose time begins then.
func (c *headedTLS) ConnectionState() tls.ConnectionState {
	if limit := c.server.ReadHeaderTimeout; limit > 0 {
		c.tls.SetDeadline(time.Now().Add(limit))
	}
	if err := c.tls.Handshake(); err != nil {
		c.failed(err)
	}
	c.tls.SetDeadline(time.Time{})
	c.shaken, c.read = true, 0
	c.heads.forget(c.headed, false)
	state := c.tls.ConnectionState()
	if p := state.NegotiatedProtocol; p != "" && p != "http/1.1" { // an ACME authority needs only the handshake
		c.tls.Close()
	}
	return state
}

// failed tells why a handshake failed, in the words of net/http. Reading from the connection fails from then on.
func (c *headedTLS) failed(err error) {
	if plain, is := errors.AsType[tls.RecordHeaderError](err); is && plain.Conn != nil {
		io.WriteString(plain.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
	}
	if c.server.ErrorLog != nil {
		c.server.ErrorLog.Printf("TLS handshake with %s: %v", c.RemoteAddr(), err)
	}
}

func (c *headedTLS) Read(p []byte) (n int, err error) {
	if n, err = c.headed.Read(p); n > 0 {
		c.read = 0
	}
	return n, err
}

// handshaking is the connection below TLS. It counts the bytes of the handshake, and bounds those without content.
type handshaking struct {
	net.Conn
	of *headedTLS
}

func (h handshaking) Read(p []byte) (n int, err error) {
	// TLS may ask for several records at once, so the bound is on what it gets: of that many bytes it has a whole record.
	left := maxEncrypted - h.of.read
	if left <= 0 {
		h.Conn.Close()
		return 0, errEncrypted
	}
	n, err = h.Conn.Read(p[:min(len(p), left)])
	h.of.read += n
	if n > 0 && !h.of.shaken {
		h.of.heads.add(h.of.headed, int64(n))
	}
	return n, err
}
