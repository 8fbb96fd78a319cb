package local

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// Bounds of the connections of all services together. Each may cost up to 64 KiB while its request's head arrives.
const (
	maxConnections           = 4096
	maxConnectionsPerAddress = 1024 // an address may be that of many devices, or of a proxy
)

// connections bounds the open connections of some servers. Beyond a bound, the connection that has been without a
// request for the longest time gives way, so that idle and stalled clients keep nobody out.
type connections struct {
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

func newConnections(max, maxPerAddress int) *connections {
	return &connections{max: max, maxPerAddress: maxPerAddress,
		open: map[net.Conn]*connection{}, perAddress: map[netip.Addr]int{}}
}

// note is the ConnState hook of each server.
func (c *connections) note(conn net.Conn, state http.ConnState) {
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

func (c *connections) add(conn net.Conn) {
	one := &connection{Conn: conn, address: addressOf(conn)}
	full := len(c.open) >= c.max
	if crowded := c.perAddress[one.address] >= c.maxPerAddress; crowded || full {
		if !c.evict(one.address, crowded) {
			abort(conn) // all of them have requests
			return
		}
	}
	if c.closing {
		abort(conn)
	}
	c.open[conn] = one
	c.perAddress[one.address]++
	one.waits = c.waiting.PushBack(one)
}

// evict closes the connection that has waited the longest, of one address or of any.
func (c *connections) evict(address netip.Addr, only bool) bool {
	for e := c.waiting.Front(); e != nil; e = e.Next() {
		if one := e.Value.(*connection); !only || one.address == address {
			c.waiting.Remove(e)
			c.forget(one)
			abort(one.Conn)
			return true
		}
	}
	return false
}

func (c *connections) forget(one *connection) {
	delete(c.open, one.Conn)
	if c.perAddress[one.address]--; c.perAddress[one.address] == 0 {
		delete(c.perAddress, one.address)
	}
}

// closeUnused closes connections that no request has come on, now and from now on. Clients dial them ahead, and
// Shutdown would wait five seconds for each.
func (c *connections) closeUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	for _, one := range c.open {
		if !one.used {
			abort(one.Conn)
		}
	}
}

// abort closes a connection at once. That of TLS would wait for a client that does not read.
func abort(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	c.Close()
}

// addressOf returns the address that a client counts by. One client has a whole /64 of IPv6.
func addressOf(c net.Conn) netip.Addr {
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
