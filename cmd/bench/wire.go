package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// An exchange is the size of one request to storage and of its answer, in bytes of their bodies.
type exchange struct{ sent, received int64 }

// A recorder is a transport that remembers the exchanges while it is on. It is safe for concurrent use.
type recorder struct {
	next http.RoundTripper
	on   atomic.Bool

	mu   sync.Mutex
	seen []*exchange
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(req)
	if err != nil || !r.on.Load() {
		return answer, err
	}
	x := &exchange{sent: max(0, req.ContentLength)}
	answer.Body = &countedBody{answer.Body, &x.received}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, x)
	return answer, nil
}

// recorded ends recording and returns what was seen. All answers must have been read.
func (r *recorder) recorded() []*exchange {
	r.on.Store(false)
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

// A countedBody counts what is read of an answer. The client reads each answer before the job that asked for it ends.
type countedBody struct {
	io.ReadCloser
	read *int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	*b.read += int64(n)
	return n, err
}

// answerSize is the header that asks the null service for a body of so many bytes.
const answerSize = "X-Answer-Size"

// wireTime exchanges as many bytes in as many requests with a service that does nothing, and returns the CPU time of
// both ends: what HTTP alone costs, without signatures, JSON and storage.
func wireTime(ctx context.Context, exchanges []*exchange, clients int) (time.Duration, error) {
	if len(exchanges) == 0 {
		return 0, nil
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	server := &http.Server{Handler: http.HandlerFunc(doNothing)}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // until it is closed
	defer serving.Wait()
	defer server.Close()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, clients
	defer transport.CloseIdleConnections()

	began := cpu()
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(clients)
	for _, x := range exchanges {
		asking.Go(func() error { return x.repeat(ctx, transport, "http://"+listener.Addr().String()) })
	}
	err = asking.Wait()
	return cpu() - began, err
}

// repeat makes an exchange of these sizes with the null service.
func (x *exchange) repeat(ctx context.Context, transport http.RoundTripper, url string) error {
	body := io.LimitReader(zeros{}, x.sent)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return err
	}
	if req.ContentLength = x.sent; x.sent == 0 {
		req.Body = http.NoBody
	}
	req.Header.Set(answerSize, strconv.FormatInt(x.received, 10))
	answer, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// doNothing is the null service: it reads the request and answers with as many zeros as were asked for.
func doNothing(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the client reports what fails
	size := r.Header.Get(answerSize)
	w.Header().Set("Content-Length", size)
	n, _ := strconv.ParseInt(size, 10, 64)
	_, _ = io.CopyN(w, zeros{}, n)
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// tick is the unit of CPU times in /proc, on every platform of Linux that Go supports.
const tick = 10 * time.Millisecond

// cpu returns the CPU time that this process has used, and 0 where Linux's /proc does not tell.
func cpu() time.Duration {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	// The name, in parentheses, may have spaces. utime and stime are the 12th and 13th fields after it.
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')'):]), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick
}
