package api

import (
	"net/http"
	"strconv"
	"time"

	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

// Headers of an answer with many rows.
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
	// heldBytes and heldFor are how much of an answer is held, and how long it is read, before it ends with a cursor to
	// the rest. Its head says how far it reaches: most clients cannot read a trailer.
	heldBytes = 4 << 20
	heldFor   = 5 * time.Second
	// sendBytes is how much is sent at a time, within sendTimeout.
	sendBytes = 64 << 10
)

// A sender holds an answer until it is complete, and sends it.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	answer  model.Export
	parts   [][]byte // of sendBytes each, but for the last one: a buffer that grows is copied again and again
	size    int      // of all parts together, in bytes
}

func newSender(w http.ResponseWriter, f answers.Format, answer model.Export) *sender {
	h := w.Header()
	h.Set("Content-Type", f.MediaType())
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept")
	b := answer.Answer.Limits()
	if b.From != nil {
		h.Set(headerFrom, b.From.UTC().Format(time.RFC3339Nano))
		h.Set(headerTo, b.To.UTC().Format(time.RFC3339Nano))
	}
	h.Set(headerLimit, strconv.Itoa(b.Limit))
	answer.Answer.Reach().EndAfter(heldFor)
	return &sender{w: w, control: http.NewResponseController(w), answer: answer}
}

// Write takes a part of the answer.
func (s *sender) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		last := len(s.parts) - 1
		if last < 0 || len(s.parts[last]) == sendBytes {
			s.parts = append(s.parts, make([]byte, 0, sendBytes))
			last++
		}
		n := min(len(rest), sendBytes-len(s.parts[last]))
		s.parts[last] = append(s.parts[last], rest[:n]...)
		rest = rest[n:]
	}
	if s.size += len(p); s.size >= heldBytes {
		s.answer.Answer.Reach().End()
	}
	return len(p), nil
}

// send says how far the answer reaches, and sends it in parts that each have a deadline. A client that is gone, or too
// slow, sees that it has less than Content-Length says.
func (s *sender) send() {
	e, h := s.answer.Answer.Reach(), s.w.Header()
	h.Set(headerCount, strconv.FormatInt(e.Count, 10))
	h.Set(headerRowsRead, strconv.FormatInt(e.RowsRead, 10))
	h.Set(headerUnreadable, strconv.FormatInt(e.Unreadable, 10))
	h.Set(headerOperations, strconv.Itoa(e.Operations))
	if e.Next != "" {
		h.Set(headerNext, e.Next)
	}
	h.Set("Content-Length", strconv.Itoa(s.size))
	s.w.WriteHeader(http.StatusOK)
	for _, part := range s.parts {
		_ = s.control.SetWriteDeadline(time.Now().Add(sendTimeout)) // a test's recorder has no deadline
		if _, err := s.w.Write(part); err != nil {
			return
		}
	}
}
