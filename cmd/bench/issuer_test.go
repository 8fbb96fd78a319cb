package main

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables/azuretest/must"
)

// newTestIssuer serves h over TLS in this process and calls shaken for each connection.
func newTestIssuer(t *testing.T, h http.HandlerFunc, shaken func(tls.ConnectionState)) *issuer {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateActive {
			shaken(c.(*tls.Conn).ConnectionState())
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	e := &issuer{tokenSite: &tokenSite{key: sas.NewKey()}, name: overHTTPS, url: s.URL}
	must.Succeed(t, e.connect("", 1))
	for _, c := range []*http.Client{e.kept, e.fresh, e.resumed} {
		to := c.Transport.(*http.Transport)
		if to.TLSClientConfig == nil {
			to.TLSClientConfig = &tls.Config{}
		}
		to.TLSClientConfig.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	}
	return e
}

func TestConnectionsAreKeptFreshOrResumed(t *testing.T) {
	var resumed atomic.Int32
	from := map[string]bool{}
	e := newTestIssuer(t, func(w http.ResponseWriter, r *http.Request) {
		from[r.RemoteAddr] = true // one at a time
		io.WriteString(w, `{"sas":"sv=1"}`)
	}, func(s tls.ConnectionState) {
		if s.DidResume {
			resumed.Add(1)
		}
	})
	r := must.Have(e.request("pump-7"))(t)
	for _, c := range []struct {
		name                 string
		over                 *http.Client
		connections, resumed int
	}{{"kept", e.kept, 1, 0}, {"fresh", e.fresh, 5, 0}, {"kept", e.kept, 1, 0}, {"resumed", e.resumed, 5, 4}} {
		clear(from)
		resumed.Store(0)
		for range 5 {
			must.Succeed(t, e.ask(t.Context(), r, c.over))
		}
		if got := len(from); got != c.connections {
			t.Errorf("%s: five tokens over %d connections, want %d", c.name, got, c.connections)
		}
		if got := int(resumed.Load()); got != c.resumed {
			t.Errorf("%s: %d sessions were resumed, want %d", c.name, got, c.resumed)
		}
	}
}

func TestProofsAreValid(t *testing.T) {
	e := newTestIssuer(t, func(w http.ResponseWriter, r *http.Request) {}, func(tls.ConnectionState) {})
	r := must.Have(e.request("pump-7"))(t)
	proof := must.Have(sas.ParseProof(r.Header.Get("Authorization")))(t)
	if err := proof.Verify(time.Now(), e.key.Of("pump-7")); err != nil || proof.Resource != "bench/registrations/pump-7" {
		t.Errorf("%v, for %s", err, proof.Resource)
	}
}

func TestAnswersWithoutATokenAreErrors(t *testing.T) {
	answer := func(w http.ResponseWriter) {}
	e := newTestIssuer(t, func(w http.ResponseWriter, r *http.Request) { answer(w) }, func(tls.ConnectionState) {})
	r := must.Have(e.request("pump-7"))(t)
	answer = func(w http.ResponseWriter) { io.WriteString(w, "{}") }
	if err := e.ask(t.Context(), r, e.kept); err == nil {
		t.Error("an empty object passes for a token")
	}
	answer = func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, `{"code":"storage-busy"}`)
	}
	err := e.ask(t.Context(), r, e.kept)
	refused, ok := errors.AsType[*refusal](err)
	if !ok || refused.after != 7*time.Second || !strings.Contains(err.Error(), "503 storage-busy") {
		t.Errorf("the error is %v", err)
	}
}
