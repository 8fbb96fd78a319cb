package faults

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
)

// Handler does to the requests of h what t's plan says, for clients that have
// no transport of their own to put it in, in other processes and languages. It
// holds each answer in memory. t.Next is not used.
func (t *Transport) Handler(h http.Handler) http.Handler {
	t.Next = handler{h}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		resp, err := t.RoundTrip(req)
		if err != nil {
			panic(http.ErrAbortHandler) // closes the connection
		}
		defer resp.Body.Close()
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		if _, err := io.Copy(w, resp.Body); err != nil {
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
}

// A handler is a server without a wire.
type handler struct{ http.Handler }

func (h handler) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if req.Body != nil {
		req.Body.Close()
	}
	resp := w.Result()
	resp.Request = req
	return resp, nil
}
