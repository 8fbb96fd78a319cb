package local

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"
)

// Requests that come on one connection without waiting are answered in turn, with and without TLS.
func TestPipelinedRequestsAreAnsweredInTurn(t *testing.T) {
	token := wiretest.SAS(wire.Blob, "data", "sr", "c", "sp", "rcw", "se", wiretest.Expiry, "spr", "https,http")
	onlyTLS := wiretest.SAS(wire.Blob, "data", "sr", "c", "sp", "rcw", "se", wiretest.Expiry, "spr", "https")
	plain := serveBlobs(t, nil)
	if got := pipelined(t, plain, nil, token); !strings.Contains(got, "\r\nx-ms-meta-camelcase: 1\r\n") ||
		!strings.Contains(got, "\r\nx-ms-meta-other: 2\r\n") || strings.Contains(strings.ToLower(got), "notme") {
		t.Errorf("without TLS: %s", got)
	}
	if got := pipelined(t, plain, nil, onlyTLS); !strings.Contains(got, "AuthorizationProtocolMismatch") {
		t.Errorf("a token for https without TLS: %s", got)
	}
	certificates := httptest.NewUnstartedServer(nil)
	certificates.StartTLS()
	t.Cleanup(certificates.Close)
	config := &tls.Config{Certificates: certificates.TLS.Certificates}
	protected := serveBlobs(t, config)
	if got := pipelined(t, protected, config, onlyTLS); !strings.Contains(got, "\r\nx-ms-meta-camelcase: 1\r\n") {
		t.Errorf("with TLS: %s", got)
	}
	if got := pipelined(t, protected, nil, onlyTLS); !strings.Contains(got, "HTTP request to an HTTPS server") {
		t.Errorf("without TLS where it is needed: %s", got)
	}
}

// serveBlobs serves a directory with the container data, and returns the address of its blobs.
func serveBlobs(t *testing.T, config *tls.Config) string {
	t.Helper()
	s := must.Have(Open(Config{Dir: t.TempDir(), Key: []byte(wiretest.Key)}))(t)
	wiretest.Serve(t, s.Blobs()).Do("PUT", "/data?restype=container", "").Want(t, 201, "")
	l := must.Have(Listen("127.0.0.1:0", false))(t)
	l.TLS = config
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		serving.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return l.Blob.Addr().String()
}

// pipelined sends four requests at once, and returns the answers as they are on the wire.
func pipelined(t *testing.T, address string, config *tls.Config, token url.Values) string {
	t.Helper()
	conn := must.Have(net.Dial("tcp", address))(t)
	defer conn.Close()
	if config != nil {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	const body = "\r\nx-ms-meta-NotMe: 9\r\n"
	query := strings.ReplaceAll(token.Encode(), "%", "%%")
	put := "PUT /furrow/data/%s?" + query + " HTTP/1.1\r\nHost: h\r\nx-ms-blob-type: BlockBlob\r\n" +
		"%s\r\nContent-Length: %d\r\n\r\n" + body
	head := "HEAD /furrow/data/%s?" + query + " HTTP/1.1\r\nHost: h\r\n%s\r\n"
	fmt.Fprintf(conn, put+put+head+head, "a", "x-ms-meta-camelCase: 1", len(body), "b", "x-ms-meta-OTHER: 2", len(body),
		"a", "", "b", "Connection: close\r\n")
	got, err := io.ReadAll(conn)
	if err != nil && len(got) == 0 {
		t.Fatal(err)
	}
	return string(got)
}
