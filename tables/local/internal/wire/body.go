package wire

import (
	"io"
	"net/http"
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
	b := &timedBody{body: r.Body, connection: http.NewResponseController(w)}
	b.prolong()
	return b
}

type timedBody struct {
	body       io.Reader
	connection *http.ResponseController
	read       int // bytes since the last prolong
}

func (b *timedBody) prolong() {
	b.read = 0
	b.connection.SetReadDeadline(time.Now().Add(bodyTime)) // unsupported only by a recorder in tests
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	switch b.read += n; {
	case err == io.EOF:
		b.connection.SetReadDeadline(time.Time{}) // or the server would take the client for gone
	case b.read >= bodyStep:
		b.prolong()
	}
	return n, err
}
