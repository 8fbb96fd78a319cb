package endpoint

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A yard is a server on connections without a network, so that its time can be
// that of a synctest bubble.
type yard struct {
	pipes  chan net.Conn
	closed chan struct{}
	once   sync.Once
	stop   context.CancelFunc
	ended  chan error
	log    *logged
}

func startYard(t *testing.T, c Config, protect *tls.Config) *yard {
	t.Helper()
	h, log := mustNew(t, c)
	y := &yard{pipes: make(chan net.Conn), closed: make(chan struct{}), ended: make(chan error, 1), log: log}
	var ctx context.Context
	ctx, y.stop = context.WithCancel(t.Context())
	s := &Server{Handler: h, Listener: y, TLS: protect, Log: h.journal.log}
	go func() { y.ended <- s.Run(ctx) }()
	return y
}

func (y *yard) Accept() (net.Conn, error) {
	select {
	case c := <-y.pipes:
		return c, nil
	case <-y.closed:
		return nil, net.ErrClosed
	}
}

func (y *yard) Close() error   { y.once.Do(func() { close(y.closed) }); return nil }
func (y *yard) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (y *yard) dial() net.Conn {
	ours, theirs := net.Pipe()
	y.pipes <- theirs
	return ours
}

func (y *yard) mustEnd(t *testing.T) {
	t.Helper()
	y.stop()
	if err := <-y.ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}

const tokenRequest = "POST /v1/devices/pump-7/token HTTP/1.1\r\nHost: endpoint\r\nAuthorization: " + rightProof + "\r\n"

// exchanged sends a request and reads the answer.
func exchanged(t *testing.T, c net.Conn, text string) *http.Response {
	t.Helper()
	go io.WriteString(c, text) // the answer may come before all is written
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%.60q: %v", text, err)
	}
	return answer
}

func TestSlowClientsAreCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		send  string
		after time.Duration
	}{
		"no word":               {"", headerTimeout},
		"half a header":         {"POST /v1/devices/pump-7/token HTTP/1.1\r\nHost: end", headerTimeout},
		"a word and no more":    {tokenRequest + "Content-Length: 10\r\n\r\n{", readTimeout},
		"silence after a token": {tokenRequest + "Content-Length: 0\r\n\r\n", idleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y := startYard(t, Config{}, nil)
				conn := y.dial()
				began := time.Now()
				go io.WriteString(conn, c.send)
				if _, err := io.Copy(io.Discard, conn); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took < c.after || took > c.after+time.Second {
					t.Errorf("it is cut off after %v, want %v", took, c.after)
				}
				y.mustEnd(t)
			})
		})
	}
}

func TestSlowReaderIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := startYard(t, Config{}, nil)
		conn := y.dial()
		if _, err := io.WriteString(conn, "GET /openapi.json HTTP/1.1\r\nHost: endpoint\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(writeTimeout + time.Second) // and read nothing
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			t.Error("it is still answered")
		}
		y.mustEnd(t)
	})
}

func TestRequestInFlightIsAnsweredBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := startYard(t, Config{Issuer: fakeIssuer{issue: func(ctx context.Context) error {
			select {
			case <-time.After(grace - time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}}, nil)
		conn := y.dial()
		time.AfterFunc(time.Millisecond, y.stop)
		if answer := exchanged(t, conn, tokenRequest+"Content-Length: 0\r\n\r\n"); answer.StatusCode != 200 {
			t.Errorf("status %d", answer.StatusCode)
		}
		conn.Close()
		y.mustEnd(t)
	})
}

func TestRequestThatTakesTooLongIsCutOffAndJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		joined := false
		y := startYard(t, Config{Issuer: fakeIssuer{issue: func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second) // it tidies up
			joined = true
			return ctx.Err()
		}}}, nil)
		conn := y.dial()
		go io.WriteString(conn, tokenRequest+"Content-Length: 0\r\n\r\n")
		synctest.Wait()
		began := time.Now()
		go io.Copy(io.Discard, conn)
		y.mustEnd(t)
		if took := time.Since(began); took < grace || took > grace+5*time.Second {
			t.Errorf("it ends after %v", took)
		}
		if !joined {
			t.Error("what was done for the request goes on after the end")
		}
		if !strings.Contains(y.log.String(), "cut off") {
			t.Errorf("the log is %s", y.log)
		}
	})
}

func TestListenerThatBreaksEndsTheServer(t *testing.T) {
	h, _ := mustNew(t, Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := &Server{Handler: h, Listener: l, Log: h.journal.log}
	if err := s.Run(t.Context()); err == nil {
		t.Error("it ends without an error")
	}
}

// startServer is a server on a port of its own, until the test ends.
func startServer(t testing.TB, h *Handler, protect *tls.Config) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- (&Server{Handler: h, Listener: l, TLS: protect, Log: h.journal.log}).Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ends with %v", err)
		}
	})
	return l.Addr().String()
}

func TestOverTheNetwork(t *testing.T) {
	h, _ := mustNew(t, Config{})
	address := startServer(t, h, nil)
	dial := func() net.Conn {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	if answer := exchanged(t, dial(), tokenRequest+"Content-Length: 0\r\n\r\n"); answer.StatusCode != 200 || answer.Header.Get("Date") == "" {
		t.Errorf("status %d, header %v", answer.StatusCode, answer.Header)
	}
	large := strings.Repeat("x", 1<<20)
	wantProblem(t, exchanged(t, dial(), tokenRequest+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(large), large)), BodyTooLarge)
	wantProblem(t, exchanged(t, dial(), tokenRequest+"Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat("1000\r\n"+large[:4096]+"\r\n", 5)), BodyTooLarge)
}

func TestHeadersAreBounded(t *testing.T) {
	h, _ := mustNew(t, Config{})
	address := startServer(t, h, nil)
	for size, want := range map[int]int{8 << 10: 200, 17 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if answer := exchanged(t, c, tokenRequest+"Content-Length: 0\r\nX-Large: "+strings.Repeat("x", size)+"\r\n\r\n"); answer.StatusCode != want {
			t.Errorf("a header of %d bytes: %s", size, answer.Status)
		}
		c.Close()
	}
}

func TestUncleanPathsAreNotRedirected(t *testing.T) {
	h, _ := mustNew(t, Config{})
	address := startServer(t, h, nil)
	for path, want := range map[string]Code{"//healthz": NotFound, "/v1/devices/../devices/pump-7/token": BadDeviceID, "/v1/./healthz": NotFound} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		wantProblem(t, exchanged(t, c, "POST "+path+" HTTP/1.1\r\nHost: endpoint\r\nContent-Length: 0\r\n\r\n"), want)
		c.Close()
	}
}

func TestCrowdIsBoundedAndThinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := &yard{pipes: make(chan net.Conn), closed: make(chan struct{})}
		c := newCrowd(y, 4)
		server := &http.Server{ConnState: c.watch, Handler: c.thin(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))}
		go server.Serve(c)
		get := "GET / HTTP/1.1\r\nHost: endpoint\r\n\r\n"
		first, second := y.dial(), y.dial()
		for _, conn := range []net.Conn{first, second} {
			if exchanged(t, conn, get).Close {
				t.Error("it closes connections although there is room")
			}
		}
		third := y.dial()
		if !exchanged(t, third, get).Close {
			t.Error("it keeps connections although there is little room")
		}
		io.Copy(io.Discard, third)
		synctest.Wait()
		y.dial()
		y.dial() // idle ones: now there are four
		late := make(chan net.Conn)
		go func() { late <- y.dial() }()
		synctest.Wait()
		select {
		case <-late:
			t.Error("a fifth is accepted")
		default:
		}
		first.Close()
		(<-late).Close()
		server.Close()
		c.gone.Wait()
	})
}

// TestTLSSpeaksAndSlowHandshakesAreCutOff has a certificate of its own; that files
// are read again when they change is a test of cmd/internal/setup.
func TestTLSSpeaksAndSlowHandshakesAreCutOff(t *testing.T) {
	protect, roots := certificate(t)
	synctest.Test(t, func(t *testing.T) {
		y := startYard(t, Config{}, protect)
		conn := tls.Client(y.dial(), &tls.Config{RootCAs: roots, ServerName: "localhost", Time: func() time.Time { return time.Now() }})
		if answer := exchanged(t, conn, tokenRequest+"Content-Length: 0\r\n\r\n"); answer.StatusCode != 200 {
			t.Errorf("status %d", answer.StatusCode)
		}
		conn.Close()
		silent := y.dial()
		began := time.Now()
		io.Copy(io.Discard, silent)
		if took := time.Since(began); took > headerTimeout+time.Second {
			t.Errorf("who does not shake hands is cut off after %v", took)
		}
		y.mustEnd(t)
	})
}

func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)} // a bubble is in 2000
	der, err2 := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, roots
}
