package endpoint

import (
	"net"
	"net/http"
	"sync"
)

// A crowd is the connections of a server, as many as it can hold. It is a listener
// that waits with the next one until another has gone.
type crowd struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	close  func() error
	gone   sync.WaitGroup // every connection, and with it what was done for it
}

func newCrowd(l net.Listener, most int) *crowd {
	c := &crowd{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{})}
	c.close = sync.OnceValue(func() error {
		close(c.closed)
		return l.Close()
	})
	return c
}

func (c *crowd) Accept() (net.Conn, error) {
	select {
	case c.places <- struct{}{}:
	case <-c.closed:
		return nil, net.ErrClosed
	}
	conn, err := c.Listener.Accept()
	if err != nil {
		<-c.places
	}
	return conn, err
}

func (c *crowd) Close() error { return c.close() }

// watch is told by the server of every connection's beginning, before it is served,
// and of its end, after that.
func (c *crowd) watch(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		c.gone.Add(1)
	case http.StateClosed, http.StateHijacked:
		<-c.places
		c.gone.Done()
	}
}

// thin closes connections once they are answered while more than half of the
// places are taken: a device that has its token needs no connection for an hour,
// and others may be waiting for one.
func (c *crowd) thin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if taken := len(c.places) - 1; taken > cap(c.places)/2 { // one is for the next
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
