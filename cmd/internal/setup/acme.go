package setup

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// ACMEDirectory is the variable with the URL of an ACME authority other than Let's Encrypt.
const ACMEDirectory = "FURROW_ACME_DIRECTORY"

// CheckACMEHost refuses names for which ACME authorities issue no certificate to a server on one port.
func CheckACMEHost(host string) error {
	if net.ParseIP(host) != nil || !strings.Contains(strings.Trim(host, "."), ".") ||
		strings.ContainsAny(host, "*/:@ ") {
		return fmt.Errorf("%q is not a public host name, such as fleet.contoso.example", host)
	}
	return nil
}

// ACME serves certificates for the hosts that an ACME authority issues, Let's Encrypt unless FURROW_ACME_DIRECTORY
// names another one. It gets them when a client first asks for a host, proves the host on the server's own port
// (TLS-ALPN-01), and renews them 30 days before they end. They are kept in dir, readable only by the owner.
func ACME(dir string, hosts []string, log *slog.Logger) (*TLS, error) {
	keep := filepath.Join(dir, "acme")
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return nil, err
	}
	m := &autocert.Manager{Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(keep),
		HostPolicy: autocert.HostWhitelist(hosts...)}
	if url := os.Getenv(ACMEDirectory); url != "" {
		m.Client = &acme.Client{DirectoryURL: url}
	}
	t := &TLS{Hosts: hosts}
	t.Config = configFor(func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := m.GetCertificate(hello)
		if err != nil && slices.Contains(hosts, hello.ServerName) { // strangers ask for any host
			log.Warn("no certificate", "host", hello.ServerName, "error", err)
		}
		if err == nil && c.Leaf != nil && c.Leaf.VerifyHostname(hosts[0]) == nil {
			t.served.Store(c)
		}
		return c, err
	})
	t.Config.NextProtos = append(t.Config.NextProtos, acme.ALPNProto)
	return t, nil
}
