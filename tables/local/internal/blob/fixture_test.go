package blob

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/tables/local/internal/store"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	azcontainer "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const account = "furrow"

var accountKey = bytes.Repeat([]byte{7}, 64)

// A fixture is an open service behind an HTTP server.
type fixture struct {
	t       testing.TB
	fs      vfs.FS
	dir     string
	store   *store.Store
	service *Service
	server  *httptest.Server
	log     bytes.Buffer
}

// open opens a service on what fs holds below dir.
func open(t testing.TB, fs vfs.FS, dir string) *fixture {
	t.Helper()
	f := &fixture{t: t, fs: fs, dir: dir}
	log := slog.New(slog.NewTextHandler(&f.log, nil))
	var err error
	if f.store, err = store.Open(fs, fs.PathJoin(dir, "db"), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if f.service, err = New(f.store, fs, fs.PathJoin(dir, "blobs"), account, accountKey); err != nil {
		t.Fatal(err)
	}
	f.server = httptest.NewServer(f.service.Handler(time.Now, log))
	t.Cleanup(f.close)
	return f
}

func (f *fixture) close() {
	if f.server == nil {
		return
	}
	f.server.Close()
	if err := f.store.Close(); err != nil {
		f.t.Error(err)
	}
	f.server = nil
}

// inMemory opens a service on nothing.
func inMemory(t testing.TB) *fixture {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("/data", 0o700); err != nil {
		t.Fatal(err)
	}
	return open(t, fs, "/data")
}

func (f *fixture) base() string { return f.server.URL + "/" + account }

func (f *fixture) client() *service.Client {
	f.t.Helper()
	cred, err := azblob.NewSharedKeyCredential(account, base64.StdEncoding.EncodeToString(accountKey))
	if err != nil {
		f.t.Fatal(err)
	}
	c, err := service.NewClientWithSharedKeyCredential(f.base(), cred, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// container makes a container.
func (f *fixture) container(name string) *azcontainer.Client {
	f.t.Helper()
	c := f.client().NewContainerClient(name)
	if _, err := c.Create(f.t.Context(), nil); err != nil {
		f.t.Fatal(err)
	}
	return c
}

// An answer is what a raw request got.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) code() string { return a.header.Get("x-ms-error-code") }

// do sends a raw request, signed with the account's key. Headers are pairs.
func (f *fixture) do(method, path, body string, headers ...string) answer {
	f.t.Helper()
	req := f.request(method, path, strings.NewReader(body), headers...)
	req.ContentLength = int64(len(body))
	if body == "" {
		req.Body = http.NoBody
	}
	return f.send(f.sign(req))
}

func (f *fixture) request(method, path string, body io.Reader, headers ...string) *http.Request {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.base()+path, body)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

func (f *fixture) send(req *http.Request) answer {
	f.t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// sign puts the Authorization of SharedKey on a request.
func (f *fixture) sign(req *http.Request) *http.Request {
	h := req.Header
	h.Set("x-ms-date", time.Now().UTC().Format(http.TimeFormat))
	h.Set("x-ms-version", "2024-08-04")
	length := ""
	if req.ContentLength > 0 {
		length = strconv.FormatInt(req.ContentLength, 10)
	}
	lines := []string{req.Method, h.Get("Content-Encoding"), h.Get("Content-Language"), length, h.Get("Content-MD5"),
		h.Get("Content-Type"), "", h.Get("If-Modified-Since"), h.Get("If-Match"), h.Get("If-None-Match"), h.Get("If-Unmodified-Since"), h.Get("Range")}
	var own []string
	for name, v := range h {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			own = append(own, name+":"+strings.Join(strings.Fields(v[0]), " "))
		}
	}
	slices.SortFunc(own, func(a, b string) int { // by name alone
		return strings.Compare(a[:strings.IndexByte(a, ':')], b[:strings.IndexByte(b, ':')])
	})
	lines = append(lines, own...)
	lines = append(lines, "/"+account+req.URL.EscapedPath())
	q := req.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(q)) {
		lines = append(lines, strings.ToLower(name)+":"+strings.Join(q[name], ","))
	}
	h.Set("Authorization", "SharedKey "+account+":"+mac(strings.Join(lines, "\n")))
	return req
}

func mac(text string) string {
	m := hmac.New(sha256.New, accountKey)
	m.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(m.Sum(nil))
}

// sas is the query of a service SAS for a container (resource c) or a blob (b).
func sas(resource, canon, permissions string, more ...string) string {
	q := url.Values{"sv": {"2021-12-02"}, "sr": {resource}, "sp": {permissions},
		"se": {time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05Z")}}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	text := strings.Join([]string{q.Get("sp"), q.Get("st"), q.Get("se"), "/blob/" + account + "/" + canon, q.Get("si"), "", "", q.Get("sv"),
		resource, "", "", q.Get("rscc"), q.Get("rscd"), q.Get("rsce"), q.Get("rscl"), q.Get("rsct")}, "\n")
	q.Set("sig", mac(text))
	return q.Encode()
}

// want checks an answer's status and error code, and that the body tells it too.
func (a answer) want(t *testing.T, status int, code string) answer {
	t.Helper()
	if a.status != status || a.code() != code {
		t.Fatalf("answer %d %s, want %d %s\n%s", a.status, a.code(), status, code, a.body)
	}
	if code != "" && a.body != "" {
		var e struct{ Code, Message string }
		if err := xml.Unmarshal([]byte(a.body), &e); err != nil || e.Code != code || e.Message == "" {
			t.Fatalf("error body %q: %v", a.body, err)
		}
	}
	return a
}

// files are the content files that there are.
func (f *fixture) files() []string {
	f.t.Helper()
	names, err := f.fs.List(f.fs.PathJoin(f.dir, "blobs"))
	if err != nil {
		f.t.Fatal(err)
	}
	return names
}

// keys counts the store's keys with a prefix.
func (f *fixture) keys(prefix byte) (n int) {
	f.t.Helper()
	it, err := f.store.Iter([]byte{prefix}, []byte{prefix + 1})
	if err != nil {
		f.t.Fatal(err)
	}
	defer it.Close()
	for it.First(); it.Valid(); it.Next() {
		n++
	}
	return n
}

// heap is how many bytes live objects, and dead ones not yet collected, take.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
