package wire

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables/azuretest/must"
)

// bodied is a server on connections without a network, which may be in a bubble.
type bodied struct {
	t      *testing.T
	bodies *Bodies
	conns  chan net.Conn
}

func newBodied(t *testing.T) *bodied {
	b := &bodied{t, NewBodies(), make(chan net.Conn)}
	server := &http.Server{Handler: &Handler{Service: Table, Account: "acct", Now: time.Now, Bodies: b.bodies,
		Log: slog.New(slog.DiscardHandler), Serve: func(w http.ResponseWriter, r *Request) error {
			if _, err := r.ReadBody(4 << 20); err != nil {
				return err
			}
			return Empty(w, http.StatusNoContent)
		}}}
	ended := make(chan error)
	go func() { ended <- server.Serve(b) }()
	t.Cleanup(func() {
		close(b.conns)
		<-ended
		server.Close()
		time.Sleep(time.Second) // it waits before it closes a connection with an answer that a client may not have read
	})
	return b
}

func (b *bodied) Accept() (net.Conn, error) {
	if c, ok := <-b.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (b *bodied) Close() error   { return nil }
func (b *bodied) Addr() net.Addr { return &net.TCPAddr{} }

// send sends n bytes of a body with a token of a device; without one, it has the account key. The first byte of the
// answer ends what is still to be sent.
func (b *bodied) send(device string, size, n int) (answer chan string) {
	client, answer := b.begin(device, size)
	go func() {
		for sent := 0; sent < n; sent += 64 << 10 { // it fails once the server has answered
			if _, err := client.Write(make([]byte, min(64<<10, n-sent))); err != nil {
				return
			}
		}
	}()
	return answer
}

// begin sends the head of a request.
func (b *bodied) begin(device string, size int) (client net.Conn, answer chan string) {
	client, server := net.Pipe()
	b.t.Cleanup(func() { client.Close() })
	b.conns <- server
	query := ""
	if device != "" {
		query = "?sig=" + rand.Text() + "&spk=" + device + "&epk=" + device
	}
	fmt.Fprintf(client, "POST /acct/rows%s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", query, size)
	answer = make(chan string, 1)
	go func() {
		resp, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- resp.Status + " " + resp.Header.Get("x-ms-error-code") + " " + resp.Header.Get("Retry-After")
	}()
	return client, answer
}

const (
	stored  = "204 No Content  "
	busy    = "503 Service Unavailable ServerBusy 1"
	tooSlow = "408 Request Timeout RequestTimeout "
)

func (b *bodied) wants(what, device string, size int, want string) {
	b.t.Helper()
	if got := <-b.send(device, size, size); got != want {
		b.t.Errorf("%s: %s", what, got)
	}
}

// TestNoDeviceTakesTheRoomOfOthers has a device send bodies that never end, each with another token.
func TestNoDeviceTakesTheRoomOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBodied(t)
		for range 40 {
			b.send("contoso:p1", 3<<20, 3<<20-1)
		}
		synctest.Wait()
		if held := b.bodies.tokens.Used(); held > tokenBodies/2+3<<20 {
			t.Errorf("one device holds %d MiB", held>>20)
		}
		b.wants("a small body of another device", "contoso:p2", 10<<10, stored)
		b.wants("a large body of another tenant", "fabrikam:p1", 3<<20, stored)
		b.wants("a large body of a worker", "", 4<<20, stored)
	})
}

// TestSlowestLargeBodyGivesWay where devices of many tenants have taken all room for large ones.
func TestSlowestLargeBodyGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBodied(t)
		var all []chan string
		for i := range 40 {
			all = append(all, b.send(fmt.Sprintf("t%d:p", i), 2<<20, 1<<20+i<<10))
			synctest.Wait() // one after the other, until there is no room for another
		}
		b.wants("a small body", "honest:p", 10<<10, stored)
		b.wants("a large body, before any is slow", "honest:p", 2<<20, busy)
		time.Sleep(bodyBegins)
		b.wants("a large body", "honest:p", 2<<20, stored)
		synctest.Wait()
		ended := 0
		for _, answer := range all {
			select {
			case got := <-answer:
				if got == tooSlow {
					ended++
				}
			default:
			}
		}
		if ended < 1 || ended > 2 { // the slowest holds little
			t.Errorf("%d slow bodies have given way", ended)
		}
	})
}

// drip sends a body, a part of it each second.
func (b *bodied) drip(device string, size, part int) (answer chan string) {
	client, answer := b.begin(device, size)
	go func() {
		for sent := 0; sent < size; sent += part {
			if _, err := client.Write(make([]byte, min(part, size-sent))); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
	return answer
}

// TestBodiesThatStalledGiveWayToThoseThatArrive, even where these have sent less in all.
func TestBodiesThatStalledGiveWayToThoseThatArrive(t *testing.T) {
	for _, stalled := range []string{"contoso:p%d", "t%[1]d:p%[1]d"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBodied(t)
			var slow []chan string
			for i := range 20 {
				slow = append(slow, b.drip(fmt.Sprintf("contoso:slow%d", i), 12<<10, 2<<10))
			}
			synctest.Wait()
			for i := range 900 {
				b.send(fmt.Sprintf(stalled, i), smallBody-2, smallBody/2+1<<10)
			}
			for i, answer := range slow {
				if got := <-answer; got != stored {
					t.Errorf("slow body %d beside %s: %s", i, stalled, got)
				}
			}
		})
	}
}

// TestBodyDoesNotGiveWayToItself: it needs room for more, and has stalled for longer than the others.
func TestBodyDoesNotGiveWayToItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBodied(t)
		const size = 3 << 20
		client, answer := b.begin("honest:p", size)
		must.Have(client.Write(make([]byte, smallBody)))(t)
		for i := range 40 {
			b.send(fmt.Sprintf("t%d:p", i), 2<<20, 2<<20-1)
			synctest.Wait()
		}
		time.Sleep(2 * bodyBegins)
		go client.Write(make([]byte, size-smallBody))
		if got := <-answer; got != stored {
			t.Error(got)
		}
	})
}

// TestSlowSmallBodiesGiveWay: devices whose IDs name no tenant, and others of one tenant, have taken what there is with
// small bodies that do not come.
func TestSlowSmallBodiesGiveWay(t *testing.T) {
	for _, stalled := range []string{"p%d", "contoso:p%d"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBodied(t)
			for i := range 900 {
				b.send(fmt.Sprintf(stalled, i), smallBody-2, smallBody/2+1<<10)
			}
			synctest.Wait()
			b.wants("of another tenant", "fabrikam:p1", 10<<10, stored)
			time.Sleep(bodyBegins)
			b.wants("of the same tenant", fmt.Sprintf(stalled, 1000), 10<<10, stored)
			b.wants("of one that has stalled", fmt.Sprintf(stalled, 1), 10<<10, stored)
		})
	}
}

// TestHoldingMemoryCostsSending has devices begin many bodies, and send one byte of each. None of them is old
// enough to give way.
func TestHoldingMemoryCostsSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBodied(t)
		for i := range 720 {
			b.send(fmt.Sprintf("contoso:p%d", i%8), smallBody-2, 1)
		}
		synctest.Wait()
		b.wants("of the same tenant", "contoso:honest", 1<<10, stored)
		if held := b.bodies.tokens.Used(); held > 720*(firstHold+1) {
			t.Errorf("720 bytes hold %d KiB", held>>10)
		}
	})
}

// TestSmallBodyNeedsNoRoomOfLargeOnes has a device stall large bodies, and other tenants send one each.
func TestSmallBodyNeedsNoRoomOfLargeOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBodied(t)
		for range 20 {
			b.send("contoso:p1", 1<<20, 1<<20-1)
			synctest.Wait()
		}
		for i := range 10 {
			b.send(fmt.Sprintf("t%d:p", i), 1<<20, 1<<20-1)
			synctest.Wait()
		}
		b.wants("a small body of the tenant", "contoso:honest", 1<<10, stored)
	})
}

// TestWholeBodyIsNotEnded where it became whole while it was chosen to give way.
func TestWholeBodyIsNotEnded(t *testing.T) {
	var w deadlines
	r := httptest.NewRequest("POST", "/", strings.NewReader("abc"))
	body := timeBody(&w, r)
	must.Have(io.ReadAll(body))(t)
	if body.(*timedBody).endIfSlow(); !w.last.IsZero() {
		t.Errorf("its connection may be read until %v", w.last)
	}
}

type deadlines struct {
	http.ResponseWriter
	last time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.last = t
	return nil
}

// TestBodiesAreCountedExactly ends bodies in each way.
func TestBodiesAreCountedExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBodied(t)
		b.wants("whole", "contoso:p1", 1<<20, stored)
		b.wants("too large", "contoso:p1", 5<<20, "413 Request Entity Too Large RequestBodyTooLarge ")
		slow := b.send("contoso:p1", 1<<20, 1000)
		if got := <-slow; got != tooSlow {
			t.Errorf("a body that stalls: %s", got)
		}
		synctest.Wait()
		if n := b.bodies.all.Used() + b.bodies.tokens.Used() + b.bodies.large.Used(); n != 0 || len(b.bodies.arriving) != 0 {
			t.Errorf("%d bytes are counted, of %d bodies", n, len(b.bodies.arriving))
		}
	})
}

func TestTokensLeaveRoomForTheAccountKey(t *testing.T) {
	b := NewBodies()
	for i := range 100 {
		h := hold{bodies: b, owners: []string{fmt.Sprint(i), fmt.Sprint(i)}}
		for h.holdMore(t.Context(), 32<<10) == nil && h.bytes < smallBody {
		}
	}
	key := hold{bodies: b}
	if err := key.holdMore(t.Context(), maxBodies-tokenBodies); err != nil {
		t.Error(err)
	}
}
