package shares

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// held waits until the heads of some servers take at least so many bytes, or nothing where that is zero.
func (h *Heads) held(bytes int64) {
	for {
		h.mu.Lock()
		used := h.used
		h.mu.Unlock()
		if used >= bytes && (bytes > 0 || used == 0) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestEndlessHeadsGiveWay has an address send heads of many short fields that never end: what they take is bounded, and
// the heads of others are read on.
func TestEndlessHeadsGiveWay(t *testing.T) {
	const connections = 32 // heads may take 256 KiB
	to, c := served(t, connections, connections)
	slow := dialFrom(t, "127.0.0.2", to, strings.TrimSuffix(whole, "\r\n"))
	c.heads.held(1)
	line := headLine + int64(len("aaa:\r\n"))
	fields := strings.Repeat("aaa:\r\n", 200)
	var endless []net.Conn
	for range 16 { // 27 KB each
		conn := dialFrom(t, "127.0.0.1", to, "GET / HTTP/1.1\r\nHost: h\r\n"+fields)
		endless = append(endless, conn)
		c.heads.held(min(c.heads.max-200*line, int64(len(endless))*200*line))
	}
	c.heads.mu.Lock()
	used := c.heads.used
	c.heads.mu.Unlock()
	if used > c.heads.max {
		t.Errorf("%d bytes, more than %d", used, c.heads.max)
	}
	gone := 0
	for _, conn := range endless {
		must.Succeed(t, conn.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
		if closed(conn) {
			gone++
		}
	}
	if gone == 0 {
		t.Error("no endless head has given way")
	}
	if fmt.Fprint(slow, "\r\n"); !answered(slow) {
		t.Error("a small head of another address has no answer")
	}
}

// TestHeadCountsUntilItsAnswer: its fields stay in memory while a body arrives.
func TestHeadCountsUntilItsAnswer(t *testing.T) {
	to, c := served(t, 4, 4)
	fields := strings.Repeat("aaa:\r\n", 100)
	conn := dialFrom(t, "127.0.0.1", to, "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n"+fields+"\r\n1")
	for !c.busy(1) {
		time.Sleep(time.Millisecond)
	}
	c.heads.held(100 * headLine)
	conn.Write(bytes.Repeat([]byte{'\n'}, 4999)) // lines of a body are no fields
	if !answered(conn) {
		t.Fatal("no answer")
	}
	c.heads.held(0)
	if fmt.Fprint(conn, whole); !answered(conn) {
		t.Error("a second request has no answer")
	}
	c.heads.held(0)
	dialFrom(t, "127.0.0.1", to, "GET / HTTP/1.1\r\n").Close()
	c.until(1)
	c.heads.held(0)
}

// TestHeadWithTooManyFieldsIsNotRead on, however its lines begin and end. Lines of a body are no fields.
func TestHeadWithTooManyFieldsIsNotRead(t *testing.T) {
	to, _ := served(t, 40, 40)
	fields := func(n int) string { return strings.Repeat("aaa: b\r\n", n) }
	body := strings.Repeat("\n", 3000)
	for head, want := range map[string]bool{
		fields(maxFields - 2):                   true,
		fields(maxFields):                       false,
		" \n" + fields(maxFields):               false, // goes on with the line before
		"\t\r\n" + fields(maxFields) + "b: c\n": false,
		"Content-Length: 3000\r\n" + fields(9):  true,
	} {
		if got := answered(dialFrom(t, "127.0.0.1", to, "PUT / HTTP/1.1\r\nHost: h\r\n"+head+"\r\n"+body)); got != want {
			t.Errorf("%.60q of %d bytes is answered: %v", head, len(head), got)
		}
	}
}

// TestBlankLineBeforeAHeadDoesNotEndIt, where net/http skips it, or where it ends a line that was read before.
func TestBlankLineBeforeAHeadDoesNotEndIt(t *testing.T) {
	to, _ := served(t, 40, 40)
	for _, parts := range [][2]string{
		{"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", "\r\n" + whole},
		{"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n\r\n", "\r\n" + whole},
		{whole + strings.TrimSuffix(whole, "\r\n\r\n"), "\r\n\r\n"},
		{whole + strings.TrimSuffix(whole, "\r\n"), "\r\n"},
		{"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", "\r\r\n\n" + whole},
		{"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n\r\r", "\n\n" + whole},
		{"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nxx\r", "\n\r\n" + whole},
	} {
		for fields, want := range map[int]bool{10: true, maxFields + 1: false} {
			conn := dialFrom(t, "127.0.0.1", to, parts[0])
			if !answered(conn) {
				t.Fatal("no answer to the first request")
			}
			fmt.Fprint(conn, strings.TrimSuffix(parts[1], "\r\n")+strings.Repeat("a:\r\n", fields)+"\r\n")
			if got := answered(conn); got != want {
				t.Errorf("%q and %d fields are answered: %v", parts[1], fields, got)
			}
		}
	}
}

// TestHeadInTheBufferCounts: its fields take memory as soon as the request before has been answered.
func TestHeadInTheBufferCounts(t *testing.T) {
	to, c := served(t, 40, 40)
	conn := dialFrom(t, "127.0.0.1", to, whole+strings.TrimSuffix(whole, "\r\n")+strings.Repeat("a:\r\n", 100))
	if !answered(conn) {
		t.Fatal("no answer")
	}
	c.heads.held(102 * headLine)
}

// TestOnlyWhatIsBehindABodyCountsForTheNextHead, however it comes.
func TestOnlyWhatIsBehindABodyCountsForTheNextHead(t *testing.T) {
	for _, c := range []struct {
		reads, follows []string
		body           int64
		before         int
	}{
		{[]string{"a\n\n"}, nil, 0, 0},
		{[]string{"a\n\n1\n2\n"}, nil, 4, 0},
		{[]string{"a\n\n1\n"}, []string{"2\n"}, 4, 0},
		{[]string{"a\n\n"}, []string{"1\n2\n"}, -1, 0},
		{[]string{"a\n\na\nb\n"}, []string{"c"}, 0, 2},
		{[]string{"a\n\n1\n2\na\n"}, nil, 4, 3},
		{[]string{"a\n", "\n"}, []string{"1\n2\na\n"}, 4, 3},
		{[]string{"\n"}, nil, 0, 0},
		{[]string{"\na\n"}, nil, 0, 2},
		{[]string{"\n", "a\n"}, nil, 0, 1},
		{[]string{"a\n\n5\r\n1\n2\n", "3\r\n"}, []string{"5\r\n01\n1\n\r\n00;x\r\n\r\n"}, -1, 2},
		{[]string{"a\n\n0"}, []string{"\r\n\r\na\n"}, -1, 3},
		{[]string{"a\n\n0\r\n"}, []string{"\r\na\nb\n\na\n"}, -1, 5},
	} {
		var h head
		for _, part := range c.reads {
			h.read([]byte(part))
		}
		for _, part := range c.follows {
			h.follow([]byte(part))
		}
		next := h.next(c.body)
		if next.before != c.before {
			t.Errorf("%q, %q, a body of %d: %d lines, want %d", c.reads, c.follows, c.body, next.before, c.before)
		}
		if again := next.next(0); again.before != c.before {
			t.Errorf("%q, %q, and a request that was in the buffer: %d lines, want %d", c.reads, c.follows, again.before,
				c.before)
		}
	}
}

// TestEndOfAHeadInTheBufferIsNotTakenForThatOfTheNext: both come at once.
func TestEndOfAHeadInTheBufferIsNotTakenForThatOfTheNext(t *testing.T) {
	var h head
	h.read([]byte("a\n\nb\nc\n\r"))
	if h = h.next(0); h.before != 2 {
		t.Fatalf("%d lines are in the buffer", h.before)
	}
	h.read([]byte("\nthe body of b\n\nd\ne\nf\n"))
	if h = h.next(50); h.before < 3 {
		t.Errorf("%d lines of the third head count", h.before)
	}
}

// TestBodyOfAHeadInTheBufferIsNoLineOfTheNext: that begins with the end of a line.
func TestBodyOfAHeadInTheBufferIsNoLineOfTheNext(t *testing.T) {
	var h head
	h.read([]byte("a\n\nb\n\n"))
	h = h.next(0)
	h.follow([]byte("xx\r"))
	h = h.next(2)
	h.read([]byte("\n\r\n" + strings.Repeat("c\n", maxFields)))
	if h.fields != maxFields {
		t.Errorf("%d fields count", h.fields)
	}
}

// TestLinesInTheBufferAreCountedOnce, in each of many requests that come with the first lines of the next.
func TestLinesInTheBufferAreCountedOnce(t *testing.T) {
	var h head
	for range 1000 {
		h.read([]byte("\na\nb\n"))
		if h = h.next(0); h.before > 3 {
			t.Fatalf("%d lines", h.before)
		}
	}
}

// TestOptionsOfTheServerBeginARequest: lines behind it are not those of the body before.
func TestOptionsOfTheServerBeginARequest(t *testing.T) {
	to, c := served(t, 40, 40)
	conn := dialFrom(t, "127.0.0.1", to,
		"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n\r\n"+strings.Repeat("x", 5000))
	if !answered(conn) {
		t.Fatal("no answer")
	}
	fmt.Fprint(conn, "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\n"+strings.Repeat("a:\n", 100))
	if !answered(conn) {
		t.Fatal("no answer to OPTIONS")
	}
	c.heads.held(100 * headLine)
}

// encrypted returns the configuration of a server with TLS, and that of its clients.
func encrypted(t *testing.T) (server, client *tls.Config) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates}, &tls.Config{InsecureSkipVerify: true}
}

// TestEncryptedHeadsCountAsOthers: neither the handshake nor a body is a part of one, and it may have as many fields.
func TestEncryptedHeadsCountAsOthers(t *testing.T) {
	server, client := encrypted(t)
	to, c := servedWith(t, 40, 40, server)
	conn := tls.Client(dialFrom(t, "127.0.0.1", to, ""), client)
	must.Succeed(t, conn.Handshake())
	c.heads.held(0)
	put := "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 20000\r\n\r\n"
	fmt.Fprint(conn, put+strings.Repeat("x", 10_000))
	for !c.busy(1) {
		time.Sleep(time.Millisecond)
	}
	c.heads.mu.Lock()
	used := c.heads.used
	c.heads.mu.Unlock()
	if used < 3*headLine || used > 4<<10+3*headLine {
		t.Errorf("a head of three lines counts as %d bytes", used)
	}
	if fmt.Fprint(conn, strings.Repeat("x", 10_000)); !answered(conn) {
		t.Error("an upload has no answer")
	}
	for fields, want := range map[int]bool{10: true, maxFields: false} {
		conn := tls.Client(dialFrom(t, "127.0.0.1", to, ""), client)
		fmt.Fprint(conn, strings.TrimSuffix(whole, "\r\n")+strings.Repeat("a:\r\n", fields)+"\r\n")
		if got := answered(conn); got != want {
			t.Errorf("%d fields are answered: %v", fields, got)
		}
	}
}

// TestHandshakeThatDoesNotEndCounts as what has come of it.
func TestHandshakeThatDoesNotEndCounts(t *testing.T) {
	server, _ := encrypted(t)
	to, _ := servedWith(t, 4, 4, server)
	gone := make(chan bool, 3)
	for range 3 { // heads may take 32 KiB
		conn := dialFrom(t, "127.0.0.1", to, "\x16\x03\x01\x3f\xff\x01\x00\xff\xff"+strings.Repeat("x", 15_000))
		go func() { gone <- closed(conn) }()
	}
	<-gone // one gives way
}

// TestHandshakeWithLargeCertificatesIsNotRead: they would stay in memory.
func TestHandshakeWithLargeCertificatesIsNotRead(t *testing.T) {
	server, client := encrypted(t)
	server.ClientAuth = tls.RequestClientCert
	to, _ := servedWith(t, 40, 40, server)
	for bytes, want := range map[int]bool{20_000: true, 60_000: false} {
		own := server.Certificates[0] // and junk behind it, as if somebody had signed it
		for sum := 0; sum < bytes; sum += len(own.Certificate[0]) {
			own.Certificate = append(own.Certificate[:len(own.Certificate):len(own.Certificate)], own.Certificate[0])
		}
		config := client.Clone()
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
		conn := tls.Client(dialFrom(t, "127.0.0.1", to, ""), config)
		fmt.Fprint(conn, whole)
		if got := answered(conn); got != want {
			t.Errorf("certificates of %d bytes are accepted: %v", bytes, got)
		}
	}
}

// TestTLSWithoutContentIsNotRead: a message behind the handshake may have 256 KiB, and would stay in memory.
func TestTLSWithoutContentIsNotRead(t *testing.T) {
	server, _ := encrypted(t)
	raw := &fakeConn{}
	c := newHeadedTLS(&headed{Conn: raw, heads: NewHeads(4)}, nil, server)
	c.shaken = true
	read := 0
	for below := (handshaking{raw, c}); !raw.closed && read < 1<<20; {
		n, _ := below.Read(make([]byte, 1<<10))
		read += n
	}
	if !raw.closed {
		t.Errorf("the connection is open after %d bytes", read)
	}
}

// An eager connection has as many bytes as are asked for, until it has read so many.
type eager struct {
	net.Conn
	left int
}

func (c *eager) Read(p []byte) (n int, err error) {
	if c.left <= 0 {
		return c.Conn.Read(p)
	}
	n, err = io.ReadFull(c.Conn, p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// TestUploadOverTLSMayComeAtOnce: TLS reads several records at a time then, and all of them have content.
func TestUploadOverTLSMayComeAtOnce(t *testing.T) {
	server, client := encrypted(t)
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	conn := tls.Client(dialFrom(t, "127.0.0.1", l.Addr().String(), ""), client)
	raw := &eager{Conn: must.Have(l.Accept())(t)}
	defer raw.Close()
	c := newHeadedTLS(&headed{Conn: raw, heads: NewHeads(4)}, &http.Server{}, server)
	sent := []byte("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n" + strings.Repeat("x", 2_000_000))
	done := make(chan error, 1)
	go func() {
		_, err := conn.Write(sent) // after the handshake
		done <- err
	}()
	c.ConnectionState()
	raw.left = len(sent) // encrypted, they are more
	if n, err := io.ReadFull(c, make([]byte, len(sent))); err != nil {
		t.Fatalf("%d of %d bytes come: %v", n, len(sent), err)
	}
	must.Succeed(t, <-done)
}

// TestProtocolThatIsNotHTTPIsClosed after the handshake, which is all that an ACME authority needs.
func TestProtocolThatIsNotHTTPIsClosed(t *testing.T) {
	server, client := encrypted(t)
	server.NextProtos = []string{"http/1.1", "acme-tls/1"}
	to, _ := servedWith(t, 40, 40, server)
	for protocol, want := range map[string]bool{"http/1.1": true, "acme-tls/1": false} {
		config := client.Clone()
		config.NextProtos = []string{protocol}
		conn := tls.Client(dialFrom(t, "127.0.0.1", to, ""), config)
		must.Succeed(t, conn.Handshake())
		fmt.Fprint(conn, whole)
		if got := answered(conn); got != want {
			t.Errorf("HTTP over %s is answered: %v", protocol, got)
		}
	}
}

// TestPlainRequestToTLSIsAnswered with the reason why it is not served.
func TestPlainRequestToTLSIsAnswered(t *testing.T) {
	server, _ := encrypted(t)
	to, _ := servedWith(t, 4, 4, server)
	text, _ := io.ReadAll(dialFrom(t, "127.0.0.1", to, whole))
	if !strings.Contains(string(text), "HTTPS") {
		t.Errorf("the answer is %q", text)
	}
}

// TestClientThatStillSendsGetsItsAnswer, and then the end of the connection: a reset would take the answer with it.
func TestClientThatStillSendsGetsItsAnswer(t *testing.T) {
	to, _ := served(t, 4, 4)
	conn := dialFrom(t, "127.0.0.1", to,
		"POST /unread HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n"+strings.Repeat("x", 20_000))
	if text, err := io.ReadAll(conn); err != nil || !bytes.Contains(text, []byte(" 413 ")) {
		t.Errorf("%q, %v", text, err)
	}
}

func TestHeadsTakeNoMoreThanIsCounted(t *testing.T) {
	head := "GET / HTTP/1.1\r\nHost: h\r\n"
	for i := range 10_000 {
		head += fmt.Sprintf("%03x:\r\n", i)
	}
	counted := int64(len(head) + headLine*strings.Count(head, "\n"))
	took := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "\r\n"))); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if took > 2*counted { // a part of it is garbage, while tables grow
		t.Errorf("a head of %d bytes allocates %d, and is counted as %d", len(head), took, counted)
	}
}

// TestNetworksOfIPv6AreBounded: who has many networks of 64 bits has one of 48.
func TestNetworksOfIPv6AreBounded(t *testing.T) {
	c := NewConnections(100, 10)
	from := func(address string) *fakeConn {
		conn := &fakeConn{address: netip.AddrPortFrom(netip.MustParseAddr(address), 1)}
		c.Note(conn, http.StateNew)
		c.Note(conn, http.StateActive)
		return conn
	}
	open := 0
	for i := range 100 {
		if !from(fmt.Sprintf("2001:db8:0:%x::1", i)).closed {
			open++
		}
	}
	if open != 20 {
		t.Errorf("a network has %d connections; an address may have 10, and it 20", open)
	}
	if from("2001:db8:1::1").closed || from("192.0.2.1").closed {
		t.Error("others have none")
	}
}

type fakeConn struct {
	net.Conn
	address netip.AddrPort
	closed  bool
}

func (c *fakeConn) Read(p []byte) (int, error) { return len(p), nil }
func (c *fakeConn) RemoteAddr() net.Addr       { return net.TCPAddrFromAddrPort(c.address) }
func (c *fakeConn) Close() error               { c.closed = true; return nil }
