package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables/azuretest/must"
)

// A pipe is a listener with one connection, whose deadlines follow the clock of a synctest bubble.
type pipe chan net.Conn

func (p pipe) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipe) Close() error   { return nil }
func (p pipe) Addr() net.Addr { return &net.TCPAddr{} }

// overPipe runs a test against a handler of an operation that needs its whole body, and a minute for itself.
func overPipe(t *testing.T, test func(t *testing.T, conn net.Conn, from *bufio.Reader)) {
	synctest.Test(t, func(t *testing.T) {
		serve := func(w http.ResponseWriter, r *Request) error {
			if _, err := r.ReadBody(16 << 20); err != nil {
				return err
			}
			select {
			case <-time.After(time.Minute):
				return Empty(w, http.StatusCreated)
			case <-r.Context().Done():
				return fmt.Errorf("the client counts as gone: %w", r.Context().Err())
			}
		}
		server := &http.Server{Handler: &Handler{Service: Blob, Account: "acct", Now: time.Now,
			Log: slog.New(slog.DiscardHandler), Serve: serve}}
		listener := make(pipe, 1)
		far, conn := net.Pipe()
		listener <- far
		go server.Serve(listener)
		test(t, conn, bufio.NewReader(conn))
		conn.Close()
		close(listener)
		server.Close()
	})
}

func TestABodyThatStopsIsCutOff(t *testing.T) {
	overPipe(t, func(t *testing.T, conn net.Conn, from *bufio.Reader) {
		start := time.Now()
		fmt.Fprintf(conn, "PUT /acct/x HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n12345678")
		resp, err := http.ReadResponse(from, nil)
		if err != nil || resp.Header.Get("x-ms-error-code") != "RequestTimeout" || time.Since(start) != bodyTime {
			t.Fatalf("after %s: %v, %v", time.Since(start), resp, err)
		}
		must.Have(io.ReadAll(resp.Body))(t)
		if _, err := from.ReadByte(); err == nil {
			t.Error("the connection stays open")
		}
	})
}

// A large body may take longer than the deadline of a step, and so may the operation after it.
func TestALargeBodyThatArrivesSlowlyIsAccepted(t *testing.T) {
	overPipe(t, func(t *testing.T, conn net.Conn, from *bufio.Reader) {
		part := bytes.Repeat([]byte{'x'}, bodyStep)
		for range 2 { // a deadline that has passed does not end the connection
			fmt.Fprintf(conn, "PUT /acct/x HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", 5*len(part))
			for range 5 {
				must.Have(conn.Write(part))(t)
				time.Sleep(bodyTime * 3 / 4)
			}
			resp, err := http.ReadResponse(from, nil)
			if err != nil || resp.StatusCode != http.StatusCreated {
				t.Fatalf("%v, %v", resp, err)
			}
		}
	})
}
