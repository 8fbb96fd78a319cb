package shares

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// served counts and answers requests on at most max connections.
func served(t *testing.T, max, perAddress int) (address string, c *Connections) {
	return servedWith(t, max, perAddress, nil)
}

// servedWith does so with TLS if config is not nil. It leaves bodies for /unread unread.
func servedWith(t *testing.T, max, perAddress int, config *tls.Config) (address string, c *Connections) {
	c = NewConnections(max, perAddress)
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &http.Server{ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0), Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/unread" {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			io.Copy(io.Discard, r.Body)
		})}
	c.Watch(server)
	done := make(chan error, 1)
	go func() { done <- server.Serve(c.Listen(l, server, config)) }()
	t.Cleanup(func() { server.Close(); <-done })
	return l.Addr().String(), c
}

// dialFrom connects from an address of the loopback network, and sends text.
func dialFrom(t *testing.T, from, to, text string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", to)
	if err != nil {
		t.Skipf("not on this system: %v", err) // outside of Linux the loopback network may have one address
	}
	t.Cleanup(func() { conn.Close() })
	must.Succeed(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	fmt.Fprint(conn, text)
	return conn
}

const whole = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

// answered reports whether a request is answered, and its connection stays open.
func answered(conn net.Conn) bool {
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	return err == nil && r.StatusCode == http.StatusOK
}

func closed(conn net.Conn) bool {
	_, err := conn.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// until waits for so many open connections.
func (c *Connections) until(open int) {
	for {
		c.mu.Lock()
		n := len(c.open)
		c.mu.Unlock()
		if n == open {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestIdleAndStalledConnectionsGiveWay(t *testing.T) {
	to, c := served(t, 4, 4)
	silent := dialFrom(t, "127.0.0.1", to, "")
	c.until(1)
	stalled := dialFrom(t, "127.0.0.1", to, "GET / HTTP/1.1\r\nHost:")
	c.until(2)
	idle := dialFrom(t, "127.0.0.2", to, whole)
	if !answered(idle) {
		t.Fatal("no answer")
	}
	for !c.busy(0) { // the client may have its answer before the server counts the connection as idle
		time.Sleep(time.Millisecond)
	}
	busy := dialFrom(t, "127.0.0.2", to, "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n1")
	for !c.busy(1) {
		time.Sleep(time.Millisecond)
	}
	for i, first := range []net.Conn{silent, stalled, idle} {
		if conn := dialFrom(t, "127.0.0.3", to, whole); !answered(conn) {
			t.Fatalf("connection %d beyond the bound has no answer", i)
		}
		if !closed(first) {
			t.Errorf("connection %d is still open", i)
		}
	}
	fmt.Fprint(busy, "23456789")
	if !answered(busy) {
		t.Error("a connection with a request was closed")
	}
}

// busy reports whether n connections have requests.
func (c *Connections) busy(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)-c.waiting.Len() == n
}

func TestOneAddressTakesNoMoreThanItsShare(t *testing.T) {
	to, c := served(t, 4, 2)
	const head = "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n1"
	dialFrom(t, "127.0.0.1", to, head)
	dialFrom(t, "127.0.0.1", to, head)
	for !c.busy(2) {
		time.Sleep(time.Millisecond)
	}
	if conn := dialFrom(t, "127.0.0.1", to, whole); !closed(conn) {
		t.Error("a third connection of one address is served")
	}
	if conn := dialFrom(t, "127.0.0.2", to, whole); !answered(conn) {
		t.Error("another address is not served")
	}
}

// TestUnusedConnectionsAreClosed holds what Serve relies on: Shutdown waits for connections that never carried a
// request.
func TestUnusedConnectionsAreClosed(t *testing.T) {
	to, c := served(t, 4, 4)
	unused, used := dialFrom(t, "127.0.0.1", to, ""), dialFrom(t, "127.0.0.1", to, whole)
	if !answered(used) {
		t.Fatal("no answer")
	}
	c.until(2)
	c.CloseUnused()
	if !closed(unused) {
		t.Error("a connection without a request stays open")
	}
	fmt.Fprint(used, whole)
	if !answered(used) {
		t.Error("a connection that was used is closed")
	}
}
