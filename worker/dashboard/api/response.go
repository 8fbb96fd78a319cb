package api

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"furrow/worker/answers"
)

func writeJSON(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := answers.Marshal(v)
	if err != nil {
		p := NewProblem(Internal, "Internal error", "The answer cannot be encoded. The dashboard's log has the reason.")
		p.cause = err
		return p
	}
	writeTagged(w, r, append(body, '\n'))
	return nil
}

// writeTagged answers with JSON and its ETag, so that a browser can keep it and ask whether it changed.
func writeTagged(w http.ResponseWriter, r *http.Request, body []byte) {
	sum := sha256.Sum256(body)
	tag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"` // weak: compression changes the bytes
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("ETag", tag)
	for known := range strings.SplitSeq(listOf(r, "If-None-Match"), ",") {
		if known = strings.TrimSpace(known); known == "*" ||
			strings.TrimPrefix(known, "W/") == strings.TrimPrefix(tag, "W/") {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	Write(w, r, http.StatusOK, "application/json", body)
}

// listOf returns a header that is a list. A client may send it in several lines, and a proxy may split it.
func listOf(r *http.Request, name string) string { return strings.Join(r.Header.Values(name), ",") }

// Write writes a whole answer; for a HEAD request, only its headers.
func Write(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that is gone cannot be told
	}
}
