// Package wiretest sends signed requests to a service under test.
package wiretest

import (
	"encoding/xml"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/store"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// OpenStore opens a store in memory or on disk. close may be called before the
// test ends, and again.
func OpenStore(t testing.TB, fs vfs.FS, dir string) (s *store.Store, close func()) {
	t.Helper()
	s, err := store.Open(fs, dir, 0, slog.New(slog.DiscardHandler))
	must.Succeed(t, err)
	close = sync.OnceFunc(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(close)
	return s, close
}

// A Server is a service behind HTTP. Its requests are signed with Key, and dated by Now.
type Server struct {
	testing.TB
	*httptest.Server
	Now func() time.Time
}

// Serve serves h until the test ends.
func Serve(t testing.TB, h http.Handler) *Server {
	s := &Server{t, httptest.NewServer(h), time.Now}
	t.Cleanup(s.Server.Close)
	return s
}

// Base is the URL of the account.
func (s *Server) Base() string { return s.URL + "/" + Account }

// Do sends a signed request. Headers are pairs of name and value.
func (s *Server) Do(method, path, body string, headers ...string) Answer {
	s.Helper()
	req := s.Request(method, path, strings.NewReader(body), headers...)
	if body == "" {
		req.Body = http.NoBody
	}
	return s.Send(s.Sign(req))
}

// Request is a request without authorization. The path is below the account.
func (s *Server) Request(method, path string, body io.Reader, headers ...string) *http.Request {
	s.Helper()
	req := must.Have(http.NewRequestWithContext(s.Context(), method, s.Base()+path, body))(s)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

// Send sends a request and reads the answer.
func (s *Server) Send(req *http.Request) Answer {
	s.Helper()
	resp := must.Have(http.DefaultTransport.RoundTrip(req))(s)
	defer resp.Body.Close()
	b := must.Have(io.ReadAll(resp.Body))(s)
	return Answer{resp.StatusCode, resp.Header, string(b), req.Method + " " + req.URL.Path}
}

// An Answer is what a request got.
type Answer struct {
	Status  int
	Header  http.Header
	Body    string
	request string
}

// Code is the error code, empty for a success.
func (a Answer) Code() string { return a.Header.Get("x-ms-error-code") }

// Want checks an answer's status and error code, and that the body has the code too.
func (a Answer) Want(t testing.TB, status int, code string) Answer {
	t.Helper()
	if a.Status != status || a.Code() != code {
		t.Fatalf("%s: answer %d %q, want %d %q\n%s", a.request, a.Status, a.Code(), status, code, a.Body)
	}
	if code != "" && a.Body != "" {
		var e struct{ Code, Message string }
		if err := xml.Unmarshal([]byte(a.Body), &e); err != nil || e.Code != code || e.Message == "" {
			t.Fatalf("%s: error body %q: %v", a.request, a.Body, err)
		}
	}
	return a
}

// WantHeaders checks headers, given as pairs of name and value. An empty value means
// that the header is absent or empty.
func (a Answer) WantHeaders(t testing.TB, headers ...string) Answer {
	t.Helper()
	for i := 0; i < len(headers); i += 2 {
		if got := a.Header.Get(headers[i]); got != headers[i+1] {
			t.Errorf("%s: %s %q, want %q", a.request, headers[i], got, headers[i+1])
		}
	}
	return a
}

// WantBody checks that the body contains a text.
func (a Answer) WantBody(t testing.TB, part string) Answer {
	t.Helper()
	if !strings.Contains(a.Body, part) {
		t.Errorf("%s: body %s\nwant %s", a.request, a.Body, part)
	}
	return a
}
