package local

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
)

// Direct returns a transport for clients within the process. Requests for queues and tables at these addresses
// (host:port, without TLS) go to the services without a connection, which takes half the processor time or less
// (BenchmarkEmptyQuery). A request is signed, checked, counted and answered as it is over a connection, but runs on the
// caller's goroutine: it ends before RoundTrip does, also if its context ends. All others go through other, among
// them those for blobs, which may be large and are not held in memory.
func (s *Server) Direct(queues, tables string, other http.RoundTripper) http.RoundTripper {
	return &direct{other: other, handlers: map[string]http.Handler{queues: s.Queues(), tables: s.Tables()}}
}

// Transport returns a transport for tests, whose blobs are small: as Direct's, for all three services.
func (r *Running) Transport(other http.RoundTripper) http.RoundTripper {
	host := func(address string) string {
		return strings.TrimSuffix(strings.TrimPrefix(address, "http://"), "/"+r.Account())
	}
	return &direct{other: other, handlers: map[string]http.Handler{host(r.BlobURL): r.Blobs(),
		host(r.QueueURL): r.Queues(), host(r.TableURL): r.Tables()}}
}

type direct struct {
	handlers map[string]http.Handler // by host and port
	other    http.RoundTripper
	answers  sync.Pool // of *answer
}

func (d *direct) RoundTrip(r *http.Request) (*http.Response, error) {
	handler := d.handlers[r.URL.Host]
	if handler == nil || r.URL.Scheme != "http" {
		return d.other.RoundTrip(r)
	}
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := context.Cause(r.Context()); err != nil {
		return nil, err
	}
	a, ok := d.answers.Get().(*answer)
	if !ok {
		a = &answer{}
	}
	a.pool, a.header, a.status = &d.answers, make(http.Header, 16), 0
	a.buffer.Reset()
	if err := serve(handler, a, received(r)); err != nil {
		return nil, err
	}
	if err := context.Cause(r.Context()); err != nil { // a client over a connection would not see the answer either
		return nil, err
	}
	return a.response(r), nil
}

// CloseIdleConnections serves http.Client.
func (d *direct) CloseIdleConnections() {
	if t, ok := d.other.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// serve calls a handler, and returns an error where it would cut the connection.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch p := recover(); {
		case p == http.ErrAbortHandler:
			err = io.ErrUnexpectedEOF
		case p != nil:
			panic(p)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// received returns a client's request as a server gets it.
func received(r *http.Request) *http.Request {
	header := make(http.Header, len(r.Header))
	for name, values := range r.Header {
		name = textproto.CanonicalMIMEHeaderKey(name)
		header[name] = append(header[name], values...)
	}
	writes := r.Method == http.MethodPut || r.Method == http.MethodPost
	if r.ContentLength > 0 || r.ContentLength == 0 && writes { // as net/http sends it
		header.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	}
	in := new(*r)
	in.Header, in.RequestURI = header, r.URL.RequestURI()
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.RemoteAddr = "127.0.0.1:0"; in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}

// An answer is a response in memory. It keeps its buffer for later ones.
type answer struct {
	pool   *sync.Pool
	header http.Header
	status int
	buffer bytes.Buffer
	read   bytes.Reader
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.buffer.Write(p)
}

// response returns the answer as a client gets it.
func (a *answer) response(r *http.Request) *http.Response {
	a.WriteHeader(http.StatusOK)
	header := make(http.Header, len(a.header))
	for name, values := range a.header {
		header[textproto.CanonicalMIMEHeaderKey(name)] = values
	}
	length := int64(a.buffer.Len())
	if r.Method == http.MethodHead {
		a.buffer.Reset()
		length, _ = strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	}
	a.read.Reset(a.buffer.Bytes())
	return &http.Response{Status: strconv.Itoa(a.status) + " " + http.StatusText(a.status), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Body: &body{answer: a}, ContentLength: length,
		Request: r}
}

// A body is read until Close, which gives the answer's buffer back.
type body struct{ answer *answer }

func (b *body) Read(p []byte) (int, error) {
	if b.answer == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.answer.read.Read(p)
}

func (b *body) Close() error {
	if a := b.answer; a != nil {
		b.answer = nil
		a.header = nil
		a.pool.Put(a)
	}
	return nil
}
