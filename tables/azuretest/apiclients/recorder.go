package apiclients

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
)

// A recorder keeps the answers of a handler, which it has send them as they are, and ends streams after an event.
type recorder struct {
	next    http.Handler
	answers []*httptest.ResponseRecorder
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, asked *http.Request) {
	asked.Header.Del("Accept-Encoding")
	kept := httptest.NewRecorder()
	r.answers = append(r.answers, kept)
	ctx, end := context.WithCancel(asked.Context())
	defer end()
	asked = asked.WithContext(ctx)
	if strings.HasSuffix(asked.URL.Path, "/stream") {
		r.next.ServeHTTP(stream{kept, end}, asked)
	} else {
		r.next.ServeHTTP(kept, asked)
	}
	for name, values := range kept.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(kept.Code)
	_, _ = w.Write(kept.Body.Bytes())
}

// A stream ends when something in it is flushed.
type stream struct {
	*httptest.ResponseRecorder
	end context.CancelFunc
}

func (s stream) Flush() {
	s.ResponseRecorder.Flush()
	if s.Body.Len() > 0 {
		s.end()
	}
}
