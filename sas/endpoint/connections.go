package endpoint

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// connections tracks the open connections of a server that accepts at most max of them.
type connections struct {
	max  int
	open atomic.Int64
	all  sync.WaitGroup // a connection is done after its last handler has returned
}

// track is the server's ConnState hook.
func (c *connections) track(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		c.open.Add(1)
		c.all.Add(1)
	case http.StateClosed, http.StateHijacked:
		c.open.Add(-1)
		c.all.Done()
	}
}

// closeWhenBusy closes each connection after its response while more than half of max
// are open: a device with a token needs no connection for an hour, and others may be waiting.
func (c *connections) closeWhenBusy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.open.Load() > int64(c.max/2) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
