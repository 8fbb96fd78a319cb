package shares

import (
	"bufio"
	"bytes"
	"fmt"

	"net"
	"net/http"
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

// TestEncryptedHeadsCountAsShortFields beyond what a handshake and an ordinary head have.
func TestEncryptedHeadsCountAsShortFields(t *testing.T) {
	var h head
	if n := h.read(append([]byte{0x16, 3, 1}, make([]byte, 2045)...)); n != 2048 {
		t.Errorf("a handshake of 2048 bytes takes %d", n)
	}
	if n := h.read([]byte(strings.Repeat("\n", 10<<10))); n != 10<<10+tlsField*8<<10 || h.fields > 0 {
		t.Errorf("10 KiB more take %d, with %d fields", n, h.fields)
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

func (c *fakeConn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.address) }
func (c *fakeConn) Close() error         { c.closed = true; return nil }
