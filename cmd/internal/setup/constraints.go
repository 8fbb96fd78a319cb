package setup

import (
	"crypto/x509"
	"log/slog"
	"net"
	"slices"
	"strings"
)

// constrain limits an authority to the hosts, so that its key cannot impersonate any other to the clients that trust
// it. A private address stands for its whole range, because such addresses change. The constraints are not critical:
// Mbed TLS, which many devices have, does not know them, and could not load a certificate with critical ones.
func constrain(ca *x509.Certificate, hosts []string) {
	for _, host := range append([]string{"localhost", "127.0.0.1", "::1"}, hosts...) {
		if ip := net.ParseIP(host); ip == nil {
			if !slices.Contains(ca.PermittedDNSDomains, host) {
				ca.PermittedDNSDomains = append(ca.PermittedDNSDomains, host)
			}
		} else if !permitsIP(ca, ip) {
			ca.PermittedIPRanges = append(ca.PermittedIPRanges, rangeOf(ip))
		}
	}
}

// rangeOf returns the private range of an address, or the address alone.
func rangeOf(ip net.IP) *net.IPNet {
	for _, private := range []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "fc00::/7"} {
		if _, n, err := net.ParseCIDR(private); err == nil && n.Contains(ip) {
			return n
		}
	}
	if four := ip.To4(); four != nil {
		ip = four
	}
	return &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))}
}

func permitsIP(ca *x509.Certificate, ip net.IP) bool {
	return slices.ContainsFunc(ca.PermittedIPRanges, func(n *net.IPNet) bool { return n.Contains(ip) })
}

// permits reports whether clients accept a certificate for a host from the authority.
func (a *authority) permits(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return len(a.certificate.PermittedIPRanges) == 0 || permitsIP(a.certificate, ip)
	}
	within := func(domain string) bool {
		return strings.EqualFold(host, domain) || strings.HasSuffix(strings.ToLower(host), "."+strings.ToLower(domain))
	}
	return len(a.certificate.PermittedDNSDomains) == 0 || slices.ContainsFunc(a.certificate.PermittedDNSDomains, within)
}

// permitted returns the hosts for which the authority may sign, and logs the others.
func (a *authority) permitted(hosts []string, log *slog.Logger) []string {
	return slices.DeleteFunc(slices.Clone(hosts), func(host string) bool {
		if a.permits(host) {
			return false
		}
		log.Warn("host left out of the certificate: its authority was created for others", "host", host,
			"help", "remove "+a.file+" to create a new authority, and give that to clients")
		return true
	})
}
