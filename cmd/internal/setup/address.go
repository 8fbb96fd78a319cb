package setup

import (
	"fmt"
	"net"
	"net/url"
)

// Exposed reports whether other machines can reach a listener.
func Exposed(l net.Listener) bool {
	at, ok := l.Addr().(*net.TCPAddr)
	return ok && !at.IP.IsLoopback()
}

// Local returns the host:port of a listener for this machine.
func Local(l net.Listener) string { return addressWith(l, "127.0.0.1") }

// Public returns the host:port of a listener for clients. If it listens on all addresses, that is the first
// one that other machines can use.
func Public(l net.Listener) string {
	host := "127.0.0.1"
	if others := Addresses(); len(others) > 0 {
		host = others[0].String()
	}
	return addressWith(l, host)
}

// addressWith returns the address of a listener, with host if it listens on all addresses.
func addressWith(l net.Listener, host string) string {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return l.Addr().String()
	}
	return net.JoinHostPort(host, fmt.Sprint(at.Port))
}

// OnLoopback reports whether a URL is on this machine's loopback.
func OnLoopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
