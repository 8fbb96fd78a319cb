package wire

import (
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// A body may take bodyTime to arrive, and as long again for each bodyStep bytes: a block may be large and the
// network slow.
const (
	bodyTime = 30 * time.Second
	bodyStep = 256 << 10
)

// timeBody returns the body of a request with a deadline. Without one, clients could hold memory and connections
// for ever. It does not replace the body in r, whose type net/http looks at.
func timeBody(w http.ResponseWriter, r *http.Request) io.Reader {
	if r.ContentLength == 0 {
		return r.Body
	}
	b := &timedBody{body: r.Body, connection: http.NewResponseController(w), began: time.Now()}
	b.prolong()
	return b
}

type timedBody struct {
	body       io.Reader
	connection *http.ResponseController
	began      time.Time
	read       int          // bytes since the last prolong
	arrived    atomic.Int64 // bytes
	whole      atomic.Bool  // all have
	ended      atomic.Bool  // it gets no more time
}

// end ends a body that arrives too slowly.
func (b *timedBody) end() {
	b.ended.Store(true)
	b.connection.SetReadDeadline(time.Now())
}

// rate is how fast a body arrives, in bytes a second.
func (b *timedBody) rate(now time.Time) float64 {
	return float64(b.arrived.Load()) / now.Sub(b.began).Seconds()
}

func (b *timedBody) prolong() {
	b.read = 0
	b.connection.SetReadDeadline(time.Now().Add(bodyTime)) // unsupported only by a recorder in tests
}

func (b *timedBody) Read(p []byte) (int, error) {
	if b.ended.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := b.body.Read(p)
	b.arrived.Add(int64(n))
	switch b.read += n; {
	case err == io.EOF:
		b.whole.Store(true)
		b.connection.SetReadDeadline(time.Time{}) // or the server would take the client for gone
	case b.read >= bodyStep:
		b.prolong()
	}
	return n, err
}
