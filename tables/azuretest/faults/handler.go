package faults

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
)

// Handler injects the faults of t's plan into the requests of h, for clients in other
// processes and languages. It buffers each answer in memory. t.Next is not used.
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

// A handler is a transport to a handler in this process.
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
