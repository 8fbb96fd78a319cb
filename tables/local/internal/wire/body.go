package wire

import (
	"io"
	"net/http"
	"os"
	"sync"
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

	deciding sync.Mutex // whether it became whole or was ended first
}

// end ends a body that arrives too slowly. It reports whether it did: a body that has become whole goes on.
func (b *timedBody) end() bool {
	b.deciding.Lock()
	defer b.deciding.Unlock()
	if b.whole.Load() {
		return false
	}
	b.ended.Store(true)
	b.connection.SetReadDeadline(time.Now())
	return true
}

// arrive gives a body that is whole all the time that the request takes: past a deadline, the server would take the
// client for gone.
func (b *timedBody) arrive() {
	b.deciding.Lock()
	defer b.deciding.Unlock()
	b.whole.Store(true)
	b.connection.SetReadDeadline(time.Time{})
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
		b.arrive()
	case b.read >= bodyStep:
		b.prolong()
	}
	return n, err
}
