package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// TestNoTokenHoldsTheMemoryOfOthers: connections that keep the last byte of a body take no more than a share.
func TestNoTokenHoldsTheMemoryOfOthers(t *testing.T) {
	bodies := NewBodies()
	server := httptest.NewServer(&Handler{Service: Table, Account: "acct", Now: time.Now, Bodies: bodies,
		Log: slog.New(slog.DiscardHandler), Serve: func(w http.ResponseWriter, r *Request) error {
			if _, err := r.ReadBody(4 << 20); err != nil {
				return err
			}
			return Empty(w, http.StatusNoContent)
		}})
	defer server.Close()
	const size = 3 << 20
	body := bytes.Repeat([]byte{'x'}, size)
	send := func(sig string, n int) net.Conn {
		t.Helper()
		conn := must.Have(net.Dial("tcp", server.Listener.Addr().String()))(t)
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "POST /acct/rows?sig=%s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", sig, size)
		must.Have(conn.Write(body[:n]))(t)
		return conn
	}
	answer := func(conn net.Conn) *http.Response {
		t.Helper()
		resp := must.Have(http.ReadResponse(bufio.NewReader(conn), nil))(t)
		return resp
	}
	held := []net.Conn{send("a", size-1), send("a", size-1)}
	waitFor(t, bodies, func() bool { return bodies.bySAS["a"] == 2*(4<<20+1) })
	refused := answer(send("a", size))
	if refused.StatusCode != 503 || refused.Header.Get("Retry-After") == "" ||
		refused.Header.Get("x-ms-error-code") != "ServerBusy" {
		t.Errorf("a third body of one token: %s %v", refused.Status, refused.Header)
	}
	for _, sig := range []string{"b", ""} {
		if resp := answer(send(sig, size)); resp.StatusCode != http.StatusNoContent {
			t.Errorf("a body of %q: %s", sig, resp.Status)
		}
	}
	for _, conn := range held {
		if fmt.Fprint(conn, "x"); answer(conn).StatusCode != http.StatusNoContent {
			t.Error("a body that is complete is refused")
		}
	}
	if resp := answer(send("a", size)); resp.StatusCode != http.StatusNoContent {
		t.Errorf("a body after the others: %s", resp.Status)
	}
	waitFor(t, bodies, func() bool { return bodies.all == 0 && bodies.sas == 0 && len(bodies.bySAS) == 0 })
}

// waitFor waits until is holds for the bodies.
func waitFor(t *testing.T, b *Bodies, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		b.mu.Lock()
		done := is()
		b.mu.Unlock()
		if done {
			return
		}
	}
	t.Fatalf("%d bytes, %v", b.all, b.bySAS)
}

func TestTokensLeaveRoomForTheAccountKey(t *testing.T) {
	b := NewBodies()
	for i := range maxSASBodies >> 20 {
		must.Succeed(t, b.take(fmt.Sprint(i), 1<<20))
	}
	if err := b.take("another", 1); err != ErrBusy {
		t.Errorf("a token beyond the bound of all: %v", err)
	}
	if err := b.take("", maxBodies-maxSASBodies); err != nil {
		t.Error(err)
	}
	if err := b.take("", 1); err != ErrBusy {
		t.Errorf("beyond the bound: %v", err)
	}
}
