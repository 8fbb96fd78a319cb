package endpoint

import (
	"net"
	"net/http"
	"sync"

	"furrow/tables/shares"
)

// connections tracks the open connections of a server that accepts at most max of them. An address leaves a quarter to
// others: what it opens beyond that is closed at once, and a device tries again later. Nothing that waits gives way, as
// it does at storage: where a whole fleet boots behind one address, those that have waited the longest are next.
type connections struct {
	max   int
	room  *shares.Shares
	heads *shares.Heads
	all   sync.WaitGroup // a connection is done after its last handler has returned

	mu sync.Mutex
	of map[net.Conn][]string // networks of those that have room
}

func newConnections(max int) *connections {
	return &connections{max: max, room: shares.New(int64(max), int64(max/addressPart)), heads: shares.NewHeads(max),
		of: map[net.Conn][]string{}}
}

// addressPart is the part that an address has of the last quarter: one of so many.
const addressPart = 16

// track is the server's ConnState hook.
func (c *connections) track(conn net.Conn, s http.ConnState) {
	c.heads.Note(conn, s)
	switch s {
	case http.StateNew:
		c.all.Add(1)
		c.adopt(conn)
	case http.StateClosed, http.StateHijacked:
		c.give(conn)
		c.all.Done()
	}
}

func (c *connections) adopt(conn net.Conn) {
	owners := ownersOf(conn)
	if !c.room.Take(1, owners...) {
		shares.Abort(conn)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[conn] = owners
}

// ownersOf returns whose share a connection takes: an address of IPv4; with IPv6 a network and, within it, one of 64
// bits, which leaves half to others.
func ownersOf(conn net.Conn) []string {
	address, network := shares.Networks(conn)
	if address == network {
		return []string{network.String()}
	}
	return []string{network.String(), address.String()}
}

func (c *connections) give(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if owners, has := c.of[conn]; has {
		delete(c.of, conn)
		c.room.Give(1, owners...)
	}
}

// closeWhenBusy closes each connection after its response while more than half of max
// are open: a device with a token needs no connection for an hour, and others may be waiting.
func (c *connections) closeWhenBusy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.room.Used() > int64(c.max/2) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
