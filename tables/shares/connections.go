package shares

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// Connections bounds the open connections of some servers. Beyond a bound, the connection that has been without a
// request for the longest time gives way, so that idle and stalled clients keep nobody out.
type Connections struct {
	max, maxPerAddress int
	heads              *Heads

	mu      sync.Mutex
	open    map[net.Conn]*connection
	from    map[netip.Prefix]int
	waiting list.List // of *connection: those without a request, the longest one first
	closing bool
}

type connection struct {
	net.Conn
	address, network netip.Prefix
	used             bool          // a request has come on it
	waits            *list.Element // nil: it has a request
}

// NewConnections returns bounds of the connections of all servers together, and of those from one address, which may be
// that of many devices, or of a proxy. All addresses of a network of IPv6 may have twice as many together.
func NewConnections(max, maxPerAddress int) *Connections {
	return &Connections{max: max, maxPerAddress: maxPerAddress, heads: NewHeads(max),
		open: map[net.Conn]*connection{}, from: map[netip.Prefix]int{}}
}

// Watch bounds the connections of one of the servers, and the heads of its requests. They must come from Listen.
func (c *Connections) Watch(server *http.Server) {
	server.ConnState = c.Note
	c.heads.Watch(server)
}

// Listen returns a listener for one of the servers; with TLS where config is not nil.
func (c *Connections) Listen(l net.Listener, server *http.Server, config *tls.Config) net.Listener {
	return c.heads.Listen(l, server, config)
}

// Note is the ConnState hook of each server.
func (c *Connections) Note(conn net.Conn, state http.ConnState) {
	c.heads.Note(conn, state)
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
	one := &connection{Conn: conn}
	one.address, one.network = Networks(conn)
	if within, full := c.full(one); full && !c.evict(within) {
		Abort(conn) // all of them have requests
		return
	}
	if c.closing {
		Abort(conn)
	}
	c.open[conn] = one
	one.waits = c.waiting.PushBack(one)
	c.count(one, 1)
}

// full reports whether there is no room for another connection, and in which network one has to give way for it; any
// may where that is zero.
func (c *Connections) full(one *connection) (within netip.Prefix, full bool) {
	switch {
	case c.from[one.address] >= c.maxPerAddress:
		return one.address, true
	case one.network != one.address && c.from[one.network] >= 2*c.maxPerAddress:
		return one.network, true
	}
	return within, len(c.open) >= c.max
}

// evict closes the connection that has waited the longest, within a network or anywhere.
func (c *Connections) evict(within netip.Prefix) bool {
	for e := c.waiting.Front(); e != nil; e = e.Next() {
		if one := e.Value.(*connection); !within.IsValid() || one.address == within || one.network == within {
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
	c.count(one, -1)
}

func (c *Connections) count(one *connection, n int) {
	networks := []netip.Prefix{one.address, one.network}
	for _, network := range slices.Compact(networks) {
		if c.from[network] += n; c.from[network] == 0 {
			delete(c.from, network)
		}
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
	if h, is := c.(counted); is {
		c = h.count().Conn
	}
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	c.Close()
}

// Networks returns what a client counts by: its address and, as a network, the address again. With IPv6 one client has
// a whole /64, and whoever rents a machine has up to a /48: that is the network.
func Networks(c net.Conn) (address, network netip.Prefix) {
	remote, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return address, network
	}
	return NetworksOf(remote.Addr())
}

// NetworksOf returns the networks of a client with an address.
func NetworksOf(from netip.Addr) (address, network netip.Prefix) {
	if !from.IsValid() {
		return address, network
	}
	from = from.Unmap().WithZone("")
	if from.Is4() {
		address = netip.PrefixFrom(from, 32)
		return address, address
	}
	return netip.PrefixFrom(from, 64).Masked(), netip.PrefixFrom(from, 48).Masked()
}
