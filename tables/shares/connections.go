package shares

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// Connections bounds the open connections of some servers. Beyond a bound, the connection that has been without a
// request for the longest time gives way, so that idle and stalled clients keep nobody out.
type Connections struct {
	max, maxPerAddress int

	mu         sync.Mutex
	open       map[net.Conn]*connection
	perAddress map[netip.Addr]int
	waiting    list.List // of *connection: those without a request, the longest one first
	closing    bool
}

type connection struct {
	net.Conn
	address netip.Addr
	used    bool          // a request has come on it
	waits   *list.Element // nil: it has a request
}

// NewConnections returns bounds of the connections of all servers together, and of those from one address, which may be
// that of many devices, or of a proxy.
func NewConnections(max, maxPerAddress int) *Connections {
	return &Connections{max: max, maxPerAddress: maxPerAddress,
		open: map[net.Conn]*connection{}, perAddress: map[netip.Addr]int{}}
}

// Note is the ConnState hook of each server.
func (c *Connections) Note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateNew {
		c.add(conn)
		return
	}
	one := c.open[conn]
	if one == nil {
		return // it gave way
	}
	if one.waits != nil {
		c.waiting.Remove(one.waits)
		one.waits = nil
	}
	switch one.used = true; state {
	case http.StateIdle:
		one.waits = c.waiting.PushBack(one)
	case http.StateClosed, http.StateHijacked:
		c.forget(one)
	}
}

func (c *Connections) add(conn net.Conn) {
	one := &connection{Conn: conn, address: AddressOf(conn)}
	full := len(c.open) >= c.max
	if crowded := c.perAddress[one.address] >= c.maxPerAddress; crowded || full {
		if !c.evict(one.address, crowded) {
			Abort(conn) // all of them have requests
			return
		}
	}
	if c.closing {
		Abort(conn)
	}
	c.open[conn] = one
	c.perAddress[one.address]++
	one.waits = c.waiting.PushBack(one)
}

// evict closes the connection that has waited the longest, of one address or of any.
func (c *Connections) evict(address netip.Addr, only bool) bool {
	for e := c.waiting.Front(); e != nil; e = e.Next() {
		if one := e.Value.(*connection); !only || one.address == address {
			c.waiting.Remove(e)
			c.forget(one)
			Abort(one.Conn)
			return true
		}
	}
	return false
}

func (c *Connections) forget(one *connection) {
	delete(c.open, one.Conn)
	if c.perAddress[one.address]--; c.perAddress[one.address] == 0 {
		delete(c.perAddress, one.address)
	}
}

// CloseUnused closes connections that no request has come on, now and from now on. Clients dial them ahead, and
// Shutdown would wait five seconds for each.
func (c *Connections) CloseUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	for _, one := range c.open {
		if !one.used {
			Abort(one.Conn)
		}
	}
}

// Abort closes a connection at once. That of TLS would wait for a client that does not read.
func Abort(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	c.Close()
}

// AddressOf returns the address that a client counts by. One client has a whole /64 of IPv6.
func AddressOf(c net.Conn) netip.Addr {
	remote, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	address := remote.Addr().Unmap().WithZone("")
	if address.Is6() {
		prefix, _ := address.Prefix(64) // no error: 64 bits are fewer than 128
		return prefix.Addr()
	}
	return address
}
