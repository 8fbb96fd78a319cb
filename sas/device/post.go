package device

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"furrow/tables"
)

// A reply is a response of the endpoint with its whole body.
type reply struct {
	status int
	header http.Header
	body   []byte
}

const (
	maxReply = 1 << 20
	patience = 30 * time.Second // for a response, besides the time that a large request takes
	slowest  = 2 << 10          // bytes of rows per second on the slowest link supported
)

var errSlow = errors.New("no response in time")

// post sends a request to the endpoint.
func (c *Client) post(ctx context.Context, to string, header http.Header, body string) (reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header = header
	resp, err := c.http.Do(req)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	r := reply{status: resp.StatusCode, header: resp.Header}
	if r.body, err = io.ReadAll(io.LimitReader(resp.Body, maxReply+1)); err == nil && len(r.body) > maxReply {
		err = fmt.Errorf("the response is longer than %d bytes", maxReply)
	}
	return r, err
}

// longestWait bounds the wait that a server may request.
const longestWait = time.Hour

// retryAfter is the wait that a response requests, in seconds.
func retryAfter(h http.Header) time.Duration {
	seconds, _ := strconv.ParseInt(h.Get("Retry-After"), 10, 64)
	return time.Duration(min(max(seconds, 0), int64(longestWait/time.Second))) * time.Second
}

// newTransport returns a transport that trusts the certificates of CAFile, or the system's, and presents that of
// CertFile, if there is one.
func newTransport(of Config, now func() time.Time) (http.RoundTripper, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, Time: now}
	if of.CertFile != "" {
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(of.CertFile, of.KeyFile)
			return &pair, err
		}
		if _, err := load(); err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	if caFile := of.CAFile; caFile != "" {
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
	if u.Scheme == "https" || u.Scheme == "http" && tables.IsLoopback(u.Hostname()) {
		return nil
	}
	return errors.New("use https; plain http is only allowed on loopback, because anyone who reads a token can use it")
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
