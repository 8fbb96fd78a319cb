package notify

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Bounds of a sending.
const (
	sendWithin  = 15 * time.Second
	dialWithin  = 5 * time.Second
	maxResponse = 64 << 10 // bytes that are read of an answer
)

// dialer connects to public addresses and, if private, to those of private networks. It checks the address that it
// connects to, after the name was resolved, so a name that leads elsewhere the second time does not help.
func dialer(private bool) *net.Dialer {
	check := func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return admit(at.Addr().Unmap(), private)
	}
	return &net.Dialer{Timeout: dialWithin, ControlContext: check}
}

// admit refuses addresses that notifications must not go to.
func admit(a netip.Addr, private bool) error {
	switch {
	case a.IsLoopback(), a.IsPrivate(), shared(a):
		if !private {
			return fmt.Errorf("%s is a private address; set private: true if that is meant", a)
		}
	case !a.IsGlobalUnicast(), translated(a), special(a):
		return fmt.Errorf("notifications never go to the address %s", a)
	}
	return nil
}

// shared reports addresses of carriers, between their customers and them: RFC 6598.
func shared(a netip.Addr) bool { return netip.MustParsePrefix("100.64.0.0/10").Contains(a) }

// translated reports addresses that stand for IPv4 addresses, any of them: NAT64, 6to4 and Teredo.
func translated(a netip.Addr) bool {
	return netip.MustParsePrefix("64:ff9b::/32").Contains(a) || netip.MustParsePrefix("2002::/16").Contains(a) ||
		netip.MustParsePrefix("2001::/32").Contains(a)
}

// special reports networks that are not for hosts: this one, of protocols, of benchmarks, and reserved ones.
func special(a netip.Addr) bool {
	for _, p := range []string{"0.0.0.0/8", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4"} {
		if netip.MustParsePrefix(p).Contains(a) {
			return true
		}
	}
	return false
}

// client returns a client that follows no redirects and uses no proxy, which would resolve names itself.
func (n *Notifier) client(private bool) *http.Client {
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer(private).DialContext, DisableKeepAlives: true,
			TLSHandshakeTimeout: dialWithin, TLSClientConfig: &tls.Config{RootCAs: n.roots()},
			MaxResponseHeaderBytes: maxResponse},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
