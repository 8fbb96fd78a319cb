package wire

import (
	"net/http"
	"strconv"
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
