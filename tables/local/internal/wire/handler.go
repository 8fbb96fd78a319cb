package wire

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Limits of a request, checked before its body is read.
const (
	MaxURL     = 32 << 10 // bytes of the request line's target
	MaxHeaders = 64 << 10 // bytes of all header names and values
	MaxQuery   = 64       // query parameters
)

// FullHeader is a header of all answers while the disk is full.
const FullHeader = "X-Furrow-Disk-Full"

// A Handler is the HTTP handler of one service. It parses requests, checks their
// limits, sets the common headers, and turns errors into Azure's answers.
type Handler struct {
	Service Service
	Account string
	Now     func() time.Time
	Log     *slog.Logger
	Bodies  *Bodies
	Limits  *Limits
	Answer  func(service Service, status int) // is told how requests ended; zero: nobody is
	Full    func() bool                       // whether the disk is; zero: it never is
	Serve   func(w http.ResponseWriter, r *Request) error
	CORS    func(w http.ResponseWriter, r *http.Request) http.ResponseWriter // of answers; zero: none
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	r := &Request{Request: hr, Service: h.Service, Now: h.Now(), Clock: h.Now, ID: uuid.NewString(),
		Version: hr.Header.Get("X-Ms-Version"), Body: timeBody(w, hr), limits: h.Limits, hold: hold{bodies: h.Bodies}}
	r.hold.body, _ = r.Body.(*timedBody)
	defer r.hold.give()
	w = timeAnswer(w)
	if h.CORS != nil {
		w = h.CORS(w, hr)
	}
	h.setHeaders(w, r)
	defer h.recover(w, r)
	err := r.parse(h.Account)
	if err == nil {
		err = h.Limits.request(r.Now)
	}
	if err == nil {
		err = h.Serve(w, r)
	}
	if err == nil {
		h.answered(http.StatusOK)
		return
	}
	e := AsError(err)
	h.answered(e.Status)
	if e.Status == http.StatusInternalServerError {
		h.Log.Error("request failed", "service", h.Service, "operation", r.Operation, "method", hr.Method,
			"path", hr.URL.Path, "request", r.ID, "err", err)
	}
	if e == ErrBusy {
		Set(w.Header(), "Retry-After", "1")
	}
	if e != errBodySlow {
		h.drain(w, hr)
	}
	WriteError(w, r, e)
}

func (h *Handler) answered(status int) {
	if h.Answer != nil {
		h.Answer(h.Service, status)
	}
}

// Limits of reading the rest of a refused body.
const (
	maxDrain  = 256 << 20 // bytes; SDKs send no more in one request
	drainTime = 30 * time.Second
)

// drain reads the rest of a refused request's body. Otherwise a client that writes
// all of it before it reads would find a broken connection instead of the answer.
// Clients that wait for 100 Continue have not sent a body; longer bodies are cut off.
func (h *Handler) drain(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 || r.ContentLength > maxDrain || r.Header.Get("Expect") != "" {
		return
	}
	if http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime)) == nil {
		io.CopyN(io.Discard, r.Body, maxDrain) // fails only if the client is gone
	}
}

// recover answers a panic with 500, so that it ends one request and not the process.
func (h *Handler) recover(w http.ResponseWriter, r *Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	h.Log.Error("panic", "service", h.Service, "operation", r.Operation, "method", r.Method,
		"path", r.URL.Path, "request", r.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	h.answered(http.StatusInternalServerError)
	WriteError(w, r, AsError(fmt.Errorf("panic: %v", p)))
}

func (h *Handler) setHeaders(w http.ResponseWriter, r *Request) {
	head := w.Header()
	Set(head, "Server", "Furrow-"+string(h.Service)+"/1.0")
	Set(head, "Date", HTTPTime(r.Now))
	Set(head, "x-ms-request-id", r.ID)
	h.Service.SetHeaders(head)
	if h.Full != nil && h.Full() {
		Set(head, FullHeader, "true")
	}
	if r.Version != "" && len(r.Version) <= 32 && Printable(r.Version) {
		Set(head, "x-ms-version", r.Version)
	}
	if id := r.Header.Get("X-Ms-Client-Request-Id"); id != "" && len(id) <= 1024 && Printable(id) {
		Set(head, "x-ms-client-request-id", id)
	}
}

// Printable reports whether s is safe to return in a header.
func Printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c > 0x7e })
}
