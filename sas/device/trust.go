package device

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// newTransport returns a transport that trusts the certificates of a file, or the system's.
func newTransport(caFile string, now func() time.Time) (http.RoundTripper, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, Time: now}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("trusted certificates: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("trusted certificates: %s contains none in PEM", caFile)
		}
	}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true,
		DialContext:         (&net.Dialer{Timeout: 20 * time.Second}).DialContext,
		TLSHandshakeTimeout: 20 * time.Second,
		IdleConnTimeout:     3 * time.Minute, // longer than the usual cadence
	}
	return t, nil
}

// secure returns why a token must not be sent to u.
func secure(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()) {
		return nil
	}
	return errors.New("use https; plain http is only allowed on loopback, because anyone who reads a token can use it")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// notYetValid reports whether err says that a certificate is not valid yet at now, and
// returns the start of its validity.
func notYetValid(err error, now time.Time) (day time.Time, ok bool) {
	bad, ok := errors.AsType[x509.CertificateInvalidError](err)
	if !ok || bad.Reason != x509.Expired || bad.Cert == nil || !now.Before(bad.Cert.NotBefore) {
		return time.Time{}, false
	}
	return bad.Cert.NotBefore, true
}
