package endpoint

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables/azuretest/must"
)

// A fixture is a server on in-memory connections, so that it can run in a synctest bubble.
type fixture struct {
	t      *testing.T
	pipes  chan net.Conn
	closed chan struct{}
	once   sync.Once
	stop   context.CancelFunc
	ended  chan error
	log    *logged
}

// start serves c, with the settings of s.
func start(t *testing.T, c Config, s Server) *fixture {
	t.Helper()
	h, log := mustNew(t, c)
	f := &fixture{t: t, pipes: make(chan net.Conn), closed: make(chan struct{}), ended: make(chan error, 1), log: log}
	var ctx context.Context
	ctx, f.stop = context.WithCancel(t.Context())
	s.Handler, s.Listener, s.Log = h, f, h.log.log
	go func() { f.ended <- s.Run(ctx) }()
	return f
}

func (f *fixture) Accept() (net.Conn, error) {
	select {
	case c := <-f.pipes:
		return c, nil
	case <-f.closed:
		return nil, net.ErrClosed
	}
}

func (f *fixture) Close() error   { f.once.Do(func() { close(f.closed) }); return nil }
func (f *fixture) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (f *fixture) dial() net.Conn { return f.dialFrom(1) }

// dialFrom connects from the address 192.0.2.host.
func (f *fixture) dialFrom(host byte) net.Conn {
	ours, theirs := net.Pipe()
	f.pipes <- from{theirs, &net.TCPAddr{IP: net.IPv4(192, 0, 2, host), Port: 1}}
	return ours
}

type from struct {
	net.Conn
	address net.Addr
}

func (c from) RemoteAddr() net.Addr { return c.address }

func (f *fixture) mustEnd() {
	f.t.Helper()
	f.stop()
	if err := <-f.ended; err != nil {
		f.t.Errorf("Run returns %v", err)
	}
}

const tokenRequest = "POST /v1/devices/pump-7/token HTTP/1.1\r\nHost: endpoint\r\nAuthorization: " + rightProof + "\r\n"

// exchanged sends a request and reads the response.
func exchanged(t *testing.T, c net.Conn, text string) *http.Response {
	t.Helper()
	go io.WriteString(c, text) // the response may come before the request is written
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%.60q: %v", text, err)
	}
	return response
}

func TestSlowClientsAreCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		send  string
		after time.Duration
	}{
		"nothing":               {"", headerTimeout},
		"half a header":         {"POST /v1/devices/pump-7/token HTTP/1.1\r\nHost: end", headerTimeout},
		"half a body":           {tokenRequest + "Content-Length: 10\r\n\r\n{", readTimeout},
		"silence after a token": {tokenRequest + "Content-Length: 0\r\n\r\n", idleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, Config{}, Server{})
				conn := f.dial()
				began := time.Now()
				go io.WriteString(conn, c.send)
				if _, err := io.Copy(io.Discard, conn); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took < c.after || took > c.after+time.Second {
					t.Errorf("cut off after %v, want %v", took, c.after)
				}
				f.mustEnd()
			})
		})
	}
}

func TestSlowReaderIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, Server{})
		conn := f.dial()
		must.Have(io.WriteString(conn, "GET /openapi.json HTTP/1.1\r\nHost: endpoint\r\n\r\n"))(t)
		time.Sleep(writeTimeout + time.Second) // and read nothing
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			t.Error("it still gets a response")
		}
		f.mustEnd()
	})
}

func TestRequestInProgressIsAnsweredAtShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{Issuer: fakeIssuer{issue: func(ctx context.Context) error {
			select {
			case <-time.After(grace - time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}}, Server{})
		conn := f.dial()
		time.AfterFunc(time.Millisecond, f.stop)
		if response := exchanged(t, conn, tokenRequest+"Content-Length: 0\r\n\r\n"); response.StatusCode != 200 {
			t.Errorf("status %d", response.StatusCode)
		}
		conn.Close()
		f.mustEnd()
	})
}

func TestShutdownCutsOffAndJoinsSlowRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		joined := false
		f := start(t, Config{Issuer: fakeIssuer{issue: func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second) // cleanup
			joined = true
			return ctx.Err()
		}}}, Server{})
		conn := f.dial()
		go io.WriteString(conn, tokenRequest+"Content-Length: 0\r\n\r\n")
		synctest.Wait()
		began := time.Now()
		go io.Copy(io.Discard, conn)
		f.mustEnd()
		if took := time.Since(began); took < grace || took > grace+5*time.Second {
			t.Errorf("Run returns after %v", took)
		}
		if !joined {
			t.Error("the handler still runs after Run has returned")
		}
		if !strings.Contains(f.log.String(), "cut off") {
			t.Errorf("the log is %s", f.log)
		}
	})
}

func TestBrokenListenerEndsTheServer(t *testing.T) {
	h, _ := mustNew(t, Config{})
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	l.Close()
	s := &Server{Handler: h, Listener: l, Log: h.log.log}
	if err := s.Run(t.Context()); err == nil {
		t.Error("Run returns no error")
	}
}

// startServer serves h on a free port until the test ends.
func startServer(t *testing.T, h *Handler) (address string) {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- (&Server{Handler: h, Listener: l, Log: h.log.log}).Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run returns %v", err)
		}
	})
	return l.Addr().String()
}

func TestOverTheNetwork(t *testing.T) {
	h, _ := mustNew(t, Config{})
	address := startServer(t, h)
	dial := func() net.Conn {
		c := must.Have(net.Dial("tcp", address))(t)
		t.Cleanup(func() { c.Close() })
		return c
	}
	if response := exchanged(t, dial(), tokenRequest+"Content-Length: 0\r\n\r\n"); response.StatusCode != 200 ||
		response.Header.Get("Date") == "" {
		t.Errorf("status %d, header %v", response.StatusCode, response.Header)
	}
	large := strings.Repeat("x", 1<<20)
	wantProblem(t, exchanged(t, dial(), tokenRequest+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(large), large)),
		BodyTooLarge)
	wantProblem(t, exchanged(t, dial(), tokenRequest+"Transfer-Encoding: chunked\r\n\r\n"+
		strings.Repeat("1000\r\n"+large[:4096]+"\r\n", 5)), BodyTooLarge)
}

func TestHeadersAreBounded(t *testing.T) {
	h, _ := mustNew(t, Config{})
	address := startServer(t, h)
	for size, want := range map[int]int{8 << 10: 200, 17 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		c := must.Have(net.Dial("tcp", address))(t)
		if response := exchanged(t, c, tokenRequest+"Content-Length: 0\r\nX-Large: "+strings.Repeat("x", size)+
			"\r\n\r\n"); response.StatusCode != want {
			t.Errorf("a header of %d bytes: %s", size, response.Status)
		}
		c.Close()
	}
}

func TestUncleanPathsAreNotRedirected(t *testing.T) {
	h, _ := mustNew(t, Config{})
	address := startServer(t, h)
	for path, want := range map[string]Code{"//healthz": NotFound, "/v1/devices/../devices/pump-7/token": BadDeviceID,
		"/v1/./healthz": NotFound} {
		c := must.Have(net.Dial("tcp", address))(t)
		wantProblem(t, exchanged(t, c, "POST "+path+" HTTP/1.1\r\nHost: endpoint\r\nContent-Length: 0\r\n\r\n"), want)
		c.Close()
	}
}

func TestConnectionsAreLimitedAndClosedWhenMostAreInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, Server{MaxConnections: 4})
		get := "GET /healthz HTTP/1.1\r\nHost: endpoint\r\n\r\n"
		first, second := f.dial(), f.dial()
		for _, conn := range []net.Conn{first, second} {
			if exchanged(t, conn, get).Close {
				t.Error("closed a connection with half of them free")
			}
		}
		third := f.dial()
		if !exchanged(t, third, get).Close {
			t.Error("kept a connection with most of them in use")
		}
		io.Copy(io.Discard, third)
		synctest.Wait()
		idle := []net.Conn{f.dial(), f.dialFrom(2)} // now there are four
		late := make(chan net.Conn)
		go func() { late <- f.dial() }()
		synctest.Wait()
		select {
		case <-late:
			t.Error("accepted a fifth connection")
		default:
		}
		for _, conn := range append(idle, first, second) {
			conn.Close()
		}
		(<-late).Close()
		f.mustEnd()
	})
}

// TestNoAddressTakesEveryConnection, so that strangers who hold some do not keep devices from their tokens.
func TestNoAddressTakesEveryConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, Server{MaxConnections: 32})
		var held []net.Conn
		for range 100 {
			c := f.dial()
			synctest.Wait()
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				held = append(held, c)
			}
		}
		if len(held) != 24 {
			t.Errorf("an address holds %d of 32 connections, want 24", len(held))
		}
		c := f.dialFrom(2)
		exchanged(t, c, "GET /healthz HTTP/1.1\r\nHost: endpoint\r\n\r\n")
		c.Close()
		for _, c := range held {
			c.Close()
		}
		f.mustEnd()
	})
}

func TestTLSWorksAndSlowHandshakesAreCutOff(t *testing.T) {
	certified := httptest.NewTLSServer(nil) // for its certificate
	certified.Close()
	roots := x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, Server{TLS: certified.TLS})
		conn := tls.Client(f.dial(), &tls.Config{RootCAs: roots, ServerName: "example.com", Time: time.Now})
		if response := exchanged(t, conn, tokenRequest+"Content-Length: 0\r\n\r\n"); response.StatusCode != 200 {
			t.Errorf("status %d", response.StatusCode)
		}
		conn.Close()
		silent := f.dial()
		began := time.Now()
		io.Copy(io.Discard, silent)
		if took := time.Since(began); took > headerTimeout+time.Second {
			t.Errorf("a client without a handshake is cut off after %v", took)
		}
		f.mustEnd()
	})
}

// TestClientThatHalfClosesIsServed has clients that end their half of the connection after the request, as nc -N does:
// net/http then cancels the request.
func TestClientThatHalfClosesIsServed(t *testing.T) {
	h, _ := mustNew(t, Config{Issuer: fakeIssuer{issue: func(ctx context.Context) error { return ctx.Err() }}})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequest("POST", "/v1/devices/pump-7/token", nil).WithContext(canceled)
	r.Header.Set("Authorization", rightProof)
	if w := ask(patient(t.Context(), h), r); w.Code != http.StatusOK {
		t.Errorf("a canceled request: %d %s", w.Code, w.Body)
	}
	server := httptest.NewServer(patient(t.Context(), h))
	defer server.Close()
	conn := must.Have(net.Dial("tcp", server.Listener.Addr().String()))(t)
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/devices/pump-8/token HTTP/1.1\r\nHost: furrow\r\nAuthorization: %s\r\n\r\n", rightProof)
	must.Succeed(t, conn.(*net.TCPConn).CloseWrite())
	answer := must.Have(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	if answer.Body.Close(); answer.StatusCode != http.StatusOK {
		t.Errorf("a half-closed connection: %s", answer.Status)
	}
}
