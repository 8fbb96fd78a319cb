package api

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"time"

	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

// Headers, or trailers, of an answer with many rows.
const (
	headerFrom       = "Furrow-From"
	headerTo         = "Furrow-To"
	headerLimit      = "Furrow-Limit"
	headerCount      = "Furrow-Count"
	headerRowsRead   = "Furrow-Rows-Read"
	headerNext       = "Furrow-Next"
	headerUnreadable = "Furrow-Unreadable"
	headerOperations = "Furrow-Operations"
)

const (
	// heldBytes and heldFor are how much of an answer, and how long, waits for its end, which then is in the headers.
	heldBytes = 1 << 20
	heldFor   = 5 * time.Second
	// sendBytes is how much is sent at a time, within sendTimeout.
	sendBytes = 64 << 10
)

// errGone means that the client does not take the answer.
var errGone = errors.New("the client is gone or too slow")

// A sender sends an answer. What it holds does not grow with the answer.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	answer  model.Export
	opened  time.Time
	held    bytes.Buffer
	begun   bool
}

func newSender(w http.ResponseWriter, f answers.Format, answer model.Export) *sender {
	h := w.Header()
	h.Set("Content-Type", f.MediaType())
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept")
	b := answer.Bounds
	if b.From != nil {
		h.Set(headerFrom, b.From.UTC().Format(time.RFC3339Nano))
		h.Set(headerTo, b.To.UTC().Format(time.RFC3339Nano))
	}
	h.Set(headerLimit, strconv.Itoa(b.Limit))
	return &sender{w: w, control: http.NewResponseController(w), answer: answer, opened: time.Now()}
}

// Write takes a part of the answer. Its error is errGone.
func (s *sender) Write(p []byte) (int, error) {
	n, most := len(p), sendBytes
	if !s.begun {
		most = heldBytes
	}
	s.held.Write(p)
	if s.held.Len() < most && (s.begun || time.Since(s.opened) < heldFor) {
		return n, nil
	}
	if !s.begun {
		s.w.Header().Set("Trailer", headerCount+", "+headerRowsRead+", "+headerNext+", "+headerUnreadable+", "+
			headerOperations)
		s.begin()
	}
	return n, s.flush()
}

func (s *sender) begin() {
	s.begun = true
	s.w.WriteHeader(http.StatusOK)
}

// flush sends what is held, in parts that each have a deadline.
func (s *sender) flush() error {
	for s.held.Len() > 0 {
		_ = s.control.SetWriteDeadline(time.Now().Add(sendTimeout)) // a test's recorder has no deadline
		if _, err := s.w.Write(s.held.Next(sendBytes)); err != nil {
			return errGone
		}
	}
	if s.held.Cap() > heldBytes { // a row can be large
		s.held = bytes.Buffer{}
	}
	return nil
}

// end says how far the answer reaches, and sends what is left of it.
func (s *sender) end() error {
	e, h := s.answer.Extent, s.w.Header()
	h.Set(headerCount, strconv.FormatInt(e.Count, 10))
	h.Set(headerRowsRead, strconv.FormatInt(e.RowsRead, 10))
	h.Set(headerUnreadable, strconv.FormatInt(e.Unreadable, 10))
	h.Set(headerOperations, strconv.Itoa(e.Operations))
	if e.Next != "" {
		h.Set(headerNext, e.Next)
	}
	if !s.begun {
		h.Set("Content-Length", strconv.Itoa(s.held.Len()))
		s.begin()
	}
	return s.flush()
}

// abort sends what is held, after which the connection has to be closed.
func (s *sender) abort() {
	if s.flush() == nil {
		_ = s.control.Flush()
	}
}
