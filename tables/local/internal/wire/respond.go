package wire

import (
	"net/http"
	"strconv"
	"time"
)

// Empty answers without a body.
func Empty(w http.ResponseWriter, status int) error {
	if status != http.StatusNoContent {
		Set(w.Header(), "Content-Length", "0")
	}
	w.WriteHeader(status)
	return nil
}

// XML answers with a document.
func XML(w http.ResponseWriter, status int, document []byte) error {
	h := w.Header()
	Set(h, "Content-Type", "application/xml")
	Set(h, "Content-Length", strconv.Itoa(len(document)))
	w.WriteHeader(status)
	w.Write(document) // fails only if the client is gone
	return nil
}

// A Reply is the answer to a request within another, in memory.
type Reply struct {
	Status int
	Head   http.Header
	Body   []byte
}

func (p *Reply) Header() http.Header    { return p.Head }
func (p *Reply) WriteHeader(status int) { p.Status = status }

func (p *Reply) Write(b []byte) (int, error) {
	p.Body = append(p.Body, b...)
	return len(b), nil
}

// SetHeaders sets the headers that every answer of the service has.
func (s Service) SetHeaders(h http.Header) {
	if s == Queue || s == Table {
		Set(h, "Cache-Control", "no-cache")
	}
	if s == Table {
		Set(h, "X-Content-Type-Options", "nosniff")
		Set(h, "DataServiceVersion", "3.0;")
	}
}

// Set sets a header as Azure spells it, which is not always as Go would.
func Set(h http.Header, name, value string) { h[name] = []string{value} }

// answerTime is how long a client may take to read what is written at a time: mostly an answer, or 32 KiB of a blob. A
// backup keeps deleted files on disk.
const answerTime = time.Minute

// timeAnswer returns w with a deadline for each write. Without one, clients that read nothing would hold connections,
// bodies and what they asked for without an end.
func timeAnswer(w http.ResponseWriter) http.ResponseWriter {
	return &timedAnswer{w, http.NewResponseController(w)}
}

type timedAnswer struct {
	http.ResponseWriter
	connection *http.ResponseController
}

func (a *timedAnswer) WriteHeader(status int) {
	a.prolong(0)
	a.ResponseWriter.WriteHeader(status)
}

func (a *timedAnswer) Write(p []byte) (int, error) {
	a.prolong(len(p))
	return a.ResponseWriter.Write(p)
}

// prolong gives a client time for so many bytes more: as long again for each 256 KiB.
func (a *timedAnswer) prolong(n int) {
	until := time.Now().Add(answerTime * time.Duration(1+n/bodyStep))
	_ = a.connection.SetWriteDeadline(until) // a client in the same process has none
}

// Unwrap serves http.ResponseController.
func (a *timedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
