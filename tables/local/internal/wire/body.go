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
	read       int         // bytes since the last prolong
	whole      atomic.Bool // all has arrived
	ended      atomic.Bool // it gets no more time

	deciding sync.Mutex // whether it became whole or was ended first

	counting sync.Mutex
	pace     int64    // how many have passed since it began
	came     [2]int64 // bytes in the current pace, and in the one before
}

// bodyPace is the time over which the speed of bodies is compared. By their average since they began, a device on a
// slow network would lose to one that sent much at once and then stalled.
const bodyPace = time.Second

// endIfSlow ends a body that arrives too slowly. It reports whether it did: a body that has become whole goes on.
func (b *timedBody) endIfSlow() bool {
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

// lately counts n bytes that have arrived, and returns how many arrived in this pace and the one before.
func (b *timedBody) lately(n int, now time.Time) int64 {
	b.counting.Lock()
	defer b.counting.Unlock()
	switch pace := int64(now.Sub(b.began) / bodyPace); {
	case pace == b.pace+1:
		b.pace, b.came = pace, [2]int64{0, b.came[0]}
	case pace > b.pace:
		b.pace, b.came = pace, [2]int64{}
	}
	b.came[0] += int64(n)
	return b.came[0] + b.came[1]
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
	b.lately(n, time.Now())
	switch b.read += n; {
	case err == io.EOF:
		b.arrive()
	case b.read >= bodyStep:
		b.prolong()
	}
	return n, err
}
