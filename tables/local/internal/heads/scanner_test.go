package heads

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
)

// requests is what a client may send on one connection without waiting.
const requests = "PUT /a HTTP/1.1\r\nHost: h\r\nx-ms-meta-camelCase: 1\r\nX-MS-META-lower: 2\r\n" +
	"Content-Length: 22\r\n\r\n" +
	"\r\nx-ms-meta-NotMe: 1\r\n" + "GET /b HTTP/1.1\r\nHost: h\r\n\r\n" +
	"PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nx-ms-meta-One: 1\r\nExpect: 100-continue\r\n\r\n" +
	"18;ext=1\r\n\r\n\r\nx-ms-meta-NotMe: 1\r\n\r\n5\r\nhello\r\n0\r\nx-ms-meta-Trailer: 1\r\n\r\n" +
	"PUT /d HTTP/1.1\nHost: h\nx-ms-meta-ONE: 1\ncontent-length: 0\n\nGET /e HTTP/1.1\r\nHost: h\r\nx-ms-meta-: 1\r\n\r\n"

// However a connection cuts what it reads, the names belong to their requests, and to those that net/http finds.
func TestNamesBelongToTheirRequests(t *testing.T) {
	want := []map[string]string{{"camelcase": "camelCase"}, nil, {"one": "One"}, {"one": "ONE"}, nil}
	for size := range len(requests) {
		var s scanner
		for rest := []byte(requests); len(rest) > 0; {
			n := min(size+1, len(rest))
			s.write(rest[:n])
			rest = rest[n:]
		}
		if s.lost || !reflect.DeepEqual(s.heads, want) {
			t.Fatalf("in pieces of %d bytes: %v, want %v", size+1, s.heads, want)
		}
	}
	if found := parsed(t, requests); found != len(want) {
		t.Errorf("net/http finds %d requests, want %d", found, len(want))
	}
}

// parsed counts the requests that net/http reads.
func parsed(t *testing.T, text string) (n int) {
	t.Helper()
	for r := bufio.NewReader(strings.NewReader(text)); ; n++ {
		request, err := http.ReadRequest(r)
		if errors.Is(err, io.EOF) {
			return n
		}
		must.Succeed(t, err)
		must.Have(io.Copy(io.Discard, request.Body))(t)
	}
}

// A client cannot have a scanner keep more than a line of a head.
func TestScannerKeepsLittle(t *testing.T) {
	var s scanner
	s.write([]byte("GET / HTTP/1.1\r\n"))
	for range 1000 {
		s.write([]byte(strings.Repeat("x", 1000)))
	}
	if len(s.line) > maxLine+1000 {
		t.Errorf("it keeps %d bytes of a line", len(s.line))
	}
}

// However what is read is cut, the scanner follows the same requests.
func FuzzScanner(f *testing.F) {
	f.Add(requests)
	f.Add("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc")
	f.Add("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		var whole, pieces scanner
		whole.write([]byte(text))
		for i := range len(text) {
			pieces.write([]byte(text[i : i+1]))
		}
		if got, want := fmt.Sprint(pieces.heads, pieces.lost), fmt.Sprint(whole.heads, whole.lost); got != want {
			t.Errorf("byte by byte %s, at once %s", got, want)
		}
	})
}

// BenchmarkHead is what a scanner adds to a request without metadata.
func BenchmarkHead(b *testing.B) {
	head := []byte("POST /furrow/readings?sv=2019 HTTP/1.1\r\nHost: 127.0.0.1:10002\r\nUser-Agent: azsdk-go\r\n" +
		"Accept: application/json\r\nContent-Length: 250\r\nContent-Type: application/json\r\nPrefer: return-no-content\r\n" +
		"X-Ms-Date: Sun, 22 Nov 2026 10:00:00 GMT\r\nX-Ms-Version: 2019-02-02\r\n\r\n" + strings.Repeat("x", 250))
	c := &Conn{}
	b.ReportAllocs()
	for b.Loop() {
		c.scanner.write(head)
		c.next()
	}
}
