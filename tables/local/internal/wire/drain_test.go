package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// refusing serves a handler that refuses every request unread.
func refusing(t *testing.T) (net.Conn, *bufio.Reader) {
	server := httptest.NewServer(&Handler{Service: Blob, Account: "acct", Now: time.Now,
		Log:   slog.New(slog.DiscardHandler),
		Serve: func(http.ResponseWriter, *Request) error { return NotImplemented("anything") }})
	t.Cleanup(server.Close)
	conn := must.Have(net.Dial("tcp", server.Listener.Addr().String()))(t)
	t.Cleanup(func() { conn.Close() })
	must.Succeed(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	return conn, bufio.NewReader(conn)
}

// wantRefused reads one answer.
func wantRefused(t *testing.T, from *bufio.Reader) *http.Response {
	t.Helper()
	resp := must.Have(http.ReadResponse(from, nil))(t)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusNotImplemented {
		t.Fatalf("%s %v", resp.Status, err)
	}
	return resp
}

// There are clients that write the whole body before they read.
func TestRefusalLeavesTheConnectionUsable(t *testing.T) {
	conn, from := refusing(t)
	body := bytes.Repeat([]byte{'x'}, 16<<20) // more than the sockets' buffers hold
	for range 2 {
		fmt.Fprintf(conn, "PUT /acct/x HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", len(body))
		must.Have(conn.Write(body))(t)
		wantRefused(t, from)
	}
}

func TestRefusalDoesNotWaitForABodyThatWaits(t *testing.T) {
	conn, from := refusing(t)
	fmt.Fprint(conn, "PUT /acct/x HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
	if resp := wantRefused(t, from); !resp.Close {
		t.Error("the connection stays open, where the body may follow or not")
	}
}
