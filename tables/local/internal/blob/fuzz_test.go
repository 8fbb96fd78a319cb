package blob

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"
)

// A block list is refused with 400, or all its entries are valid.
func FuzzParseBlockList(f *testing.F) {
	f.Add([]byte(`<?xml version="1.0" encoding="utf-8"?><BlockList><Latest>QQ==</Latest><Committed>Qg==</Committed></BlockList>`))
	f.Add([]byte("\uFEFF<BlockList>\n <Uncommitted>QQ==</Uncommitted>\n</BlockList>\n"))
	f.Add([]byte("<BlockList><Latest><![CDATA[QQ==]]></Latest><!-- x --></BlockList>"))
	f.Add([]byte("<BlockList/>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		list, err := parseBlockList(body)
		if err != nil {
			if e, ok := errors.AsType[*wire.Error](err); !ok || e.Status != 400 {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		for _, l := range list {
			if l.id == "" || len(l.id) > maxBlockID || !bytes.Contains(body, []byte(l.from)) {
				t.Fatalf("entry %+v", l)
			}
		}
	})
}

// A range is absent, refused with 400 or 416, or lies within the blob.
func FuzzParseRange(f *testing.F) {
	f.Add("bytes=0-", "", int64(10))
	f.Add("", "bytes=5-9", int64(10))
	f.Add("bytes=9223372036854775807-", "bytes=-1", int64(1<<40))
	f.Add("bytes=0-9223372036854775807", "", int64(1))
	f.Fuzz(func(t *testing.T, own, plain string, size int64) {
		if size < 0 {
			return
		}
		h := http.Header{"X-Ms-Range": {own}, "Range": {plain}}
		b, err := parseRange(h)
		if err != nil {
			if e, ok := errors.AsType[*wire.Error](err); !ok || e.Status != 400 || own == "" {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		s, err := b.spanIn(size)
		if err != nil {
			if err != errRange || b.from < size {
				t.Fatalf("%+v of %d bytes: %v", b, size, err)
			}
			return
		}
		if s.off < 0 || s.n < 0 || s.off > size-s.n || b.given && s.n == 0 || !b.given && s != (span{0, size}) {
			t.Fatalf("%+v of %d bytes is %+v", b, size, s)
		}
	})
}

// Encoded blocks are decoded to the same blocks. Damage is an error and no panic.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte("id"), int64(1), true, []byte{})
	f.Add([]byte{}, int64(0), false, []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, id []byte, size int64, file bool, damage []byte) {
		if size < 0 {
			return
		}
		want := []block{{string(id), content.Ref{ID: content.ID{1, 2, 3}, Size: size, File: file}},
			{"", content.Ref{Size: 1}}}
		record := appendBlocks(nil, want)
		got, err := parseBlocks(record)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%+v came back as %+v, %v", want, got, err)
		}
		if _, err := parseBlocks(record[:len(record)-1]); err == nil {
			t.Fatal("a record cut short was read")
		}
		if _, err := parseBlocks(damage); err == nil && len(damage) > 1 && damage[0] != blocksFormat {
			t.Fatalf("%x was read", damage)
		}
	})
}

// A name is refused with 400, or Put, Get and List return it unchanged.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"a", "dir/b", "ä", "a b+%", "\x01", "a\r\nb", "\uFFFF", "..", "a//b", "<&>"} {
		f.Add(name, "/")
	}
	f.Add("\uFFFF", "\xef") // a delimiter within a letter
	f.Fuzz(func(t *testing.T, name, delimiter string) {
		s := withData(t)
		path := "/data/" + url.PathEscape(name)
		a := s.put(path, "x")
		if a.Status == 400 && (name == "" || !utf8.ValidString(name) || strings.ContainsRune(name, 0) ||
			len(name) > 254) || name == "" {
			return
		}
		a.Want(t, 201, "")
		if a = s.Do("GET", path, ""); a.Status != 200 || a.Body != "x" {
			t.Fatalf("%q: %d %s", name, a.Status, a.Body)
		}
		a = s.Do("GET", "/data?restype=container&comp=list&delimiter="+url.QueryEscape(delimiter), "")
		if !utf8.ValidString(delimiter) {
			a.Want(t, 400, "InvalidQueryParameterValue")
			return
		}
		a.Want(t, 200, "")
		var list struct {
			Blobs struct {
				Blob, BlobPrefix []struct {
					Name struct {
						Encoded bool   `xml:",attr"`
						Text    string `xml:",chardata"`
					}
				}
			}
		}
		if err := xml.Unmarshal([]byte(a.Body), &list); err != nil {
			t.Fatalf("%s: %v", a.Body, err)
		}
		name = strings.ReplaceAll(name, `\`, "/") // as Azure has it
		want, in := name, list.Blobs.Blob
		if head, _, ok := strings.Cut(name, delimiter); ok && delimiter != "" {
			want, in = head+delimiter, list.Blobs.BlobPrefix
		}
		if len(in) != 1 {
			t.Fatalf("%q by %q: %s", name, delimiter, a.Body)
		}
		got := in[0].Name.Text
		if in[0].Name.Encoded {
			var err error
			if got, err = url.PathUnescape(got); err != nil {
				t.Fatal(err)
			}
		}
		if got != want {
			t.Fatalf("%q listed as %q", want, got)
		}
	})
}

// Every request, signed or not, gets a status and an error code that Azure has.
func FuzzRequests(f *testing.F) {
	f.Add("GET", "/data",
		"comp=list&restype=container&prefix=a&delimiter=/&marker=QQ&include=metadata,uncommittedblobs",
		"Range", "bytes=0-", []byte("x"))
	f.Add("PUT", "/data/x", "comp=block&blockid=QQ==", "Content-MD5", "x", []byte("x"))
	f.Add("PUT", "/data/x", "comp=blocklist", "x-ms-content-crc64", "AAAAAAAAAAA=", []byte("<BlockList/>"))
	f.Add("PUT", "/data", "restype=container&comp=acl", "x-ms-meta-a", "b", []byte("<SignedIdentifiers/>"))
	f.Add("DELETE", "/data/x", "sv=2021-12-02&sr=b&sp=d&sig=x", "If-Match", "*", []byte{})
	f.Fuzz(func(t *testing.T, method, path, query, header, value string, sent []byte) {
		s := withData(t)
		s.put("/data/x", "hello")
		req := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Host: "localhost",
			ContentLength: int64(len(sent)), RequestURI: "/" + wiretest.Account + path + "?" + query,
			RemoteAddr: "127.0.0.1:1", Body: io.NopCloser(bytes.NewReader(sent)),
			Header: http.Header{"X-Ms-Version": {"2024-08-04"}, "X-Ms-Date": {time.Now().UTC().Format(http.TimeFormat)},
				"X-Ms-Blob-Type": {"BlockBlob"}}}
		req.Header.Set(header, value)
		req.Header.Set("Content-Length", strconv.Itoa(len(sent))) // as net/http's server does
		// The test's signer cannot sign every request; an unsigned one is tested, too.
		signed := req.Clone(t.Context())
		signed.URL.Path = "/" + wiretest.Account + path
		req.Header.Set("Authorization", s.Sign(signed).Header.Get("Authorization"))
		w := httptest.NewRecorder()
		s.service.Handler(time.Now, slog.New(slog.DiscardHandler)).ServeHTTP(w, req)
		if w.Code < 200 || w.Code > 599 || w.Code == 500 || w.Code >= 400 && w.Header()["x-ms-error-code"] == nil {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}

// A marker is refused, or decodes to the name that was encoded.
func FuzzMarker(f *testing.F) {
	f.Add("a/b")
	f.Add("ä")
	f.Fuzz(func(t *testing.T, name string) {
		if got, err := decodeMarker(encodeMarker(name)); err != nil && utf8.ValidString(name) && len(name) <= maxName ||
			err == nil && got != name {
			t.Fatalf("%q came back as %q, %v", name, got, err)
		}
		if got, err := decodeMarker(name); err == nil && !utf8.ValidString(got) {
			t.Fatalf("%q was read as %q (%s)", name, got, base64.RawURLEncoding.EncodeToString([]byte(got)))
		}
	})
}
