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

// Bounds of a request, beyond which it is refused before it is read.
const (
	MaxURL     = 32 << 10 // bytes of the request line's target
	MaxHeaders = 64 << 10 // bytes of all header names and values
	MaxQuery   = 64       // query parameters
)

// A Handler turns HTTP into Requests for one service and what they return into
// answers: ids, versions, the account, the bounds and Azure's errors are here
// and nowhere else.
type Handler struct {
	Service Service
	Account string
	Now     func() time.Time
	Log     *slog.Logger
	Serve   func(w http.ResponseWriter, r *Request) error
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	r := &Request{Request: hr, Service: h.Service, Now: h.Now(), ID: uuid.NewString(), Version: hr.Header.Get("x-ms-version")}
	h.setHeaders(w, r)
	defer h.recover(w, r)
	err := r.parse(h.Account)
	if err == nil {
		err = h.Serve(w, r)
	}
	if err == nil {
		return
	}
	e := AsError(err)
	if e.Status == http.StatusInternalServerError {
		h.Log.Error("request failed", "service", h.Service, "operation", r.Operation, "method", hr.Method,
			"path", hr.URL.Path, "request", r.ID, "err", err)
	}
	h.drain(w, hr)
	WriteError(w, r, e)
}

// Bounds of a body that is read for nothing.
const (
	maxDrain  = 256 << 20 // bytes; what SDKs send at once
	drainTime = 30 * time.Second
)

// drain reads what is left of a refused request's body: a client that writes all
// of it before it reads would find the connection broken, and no answer. One that
// waits for a 100 Continue has sent nothing, and one with more to come is cut off.
func (h *Handler) drain(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 || r.ContentLength > maxDrain || r.Header.Get("Expect") != "" {
		return
	}
	if http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime)) == nil {
		io.CopyN(io.Discard, r.Body, maxDrain) // an error is that the client is gone
	}
}

// recover answers a panic with 500, so that one bad request costs itself only.
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
	WriteError(w, r, AsError(fmt.Errorf("panic: %v", p)))
}

func (h *Handler) setHeaders(w http.ResponseWriter, r *Request) {
	head := w.Header()
	Set(head, "Server", "Furrow-"+string(h.Service)+"/1.0")
	Set(head, "Date", HTTPTime(r.Now))
	Set(head, "x-ms-request-id", r.ID)
	h.Service.SetHeaders(head)
	if r.Version != "" && len(r.Version) <= 32 && Printable(r.Version) {
		Set(head, "x-ms-version", r.Version)
	}
	if id := r.Header.Get("x-ms-client-request-id"); id != "" && len(id) <= 1024 && Printable(id) {
		Set(head, "x-ms-client-request-id", id)
	}
}

// Printable holds for text that is safe to echo in a header.
func Printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c > 0x7e })
}
