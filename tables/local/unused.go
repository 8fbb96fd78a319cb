package local

import (
	"net"
	"net/http"
	"sync"
)

// unused holds the connections of an http.Server that no request has come on.
// Clients dial them ahead, and Shutdown would wait five seconds for each.
type unused struct {
	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
}

// note is an http.Server's ConnState.
func (u *unused) note(c net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state != http.StateNew {
		delete(u.conns, c)
		return
	}
	if u.closed {
		c.Close()
	}
	u.conns[c] = true
}

func (u *unused) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for c := range u.conns {
		c.Close()
	}
}
