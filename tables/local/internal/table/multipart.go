package table

import (
	"bytes"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/wire"
)

// Limits of a transaction, in addition to the length of its body
// (learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions).
const (
	maxOperations  = 100
	maxPartHeaders = 64
)

// A part is a request inside a transaction's body.
type part struct {
	method string
	url    *url.URL
	query  url.Values
	header http.Header
	body   []byte
}

// parseBatch parses the body of POST $batch: one change set or one query.
//
// The parts are slices of the body. The readers of mime/multipart and net/http copy
// each part three times, which was a fifth of the cost of a transaction.
func parseBatch(contentType string, body []byte) (parts []part, isQuery bool, err error) {
	outer, err := split(contentType, body)
	if err != nil {
		return nil, false, err
	}
	if len(outer) != 1 {
		return nil, false, entity.Invalid("A transaction has one change set, or one query.")
	}
	header, content, err := cutHeader(outer[0])
	if err != nil {
		return nil, false, err
	}
	media := header.Get("Content-Type")
	if !strings.HasPrefix(media, "application/http") {
		parts, err = parseChangeSet(media, content)
		return parts, false, err
	}
	query, err := parsePart(content)
	if err == nil && query.method != http.MethodGet {
		err = entity.Invalid("A write in a transaction must be in a change set.")
	}
	return []part{query}, true, err
}

func parseChangeSet(media string, content []byte) ([]part, error) {
	inner, err := split(media, content)
	if err != nil {
		return nil, err
	}
	switch {
	case len(inner) == 0:
		return nil, entity.Invalid("The change set is empty.")
	case len(inner) > maxOperations:
		return nil, entity.Invalid("The batch request operation exceeds the maximum 100 changes per change set.")
	}
	parts := make([]part, len(inner))
	for i, raw := range inner {
		header, content, err := cutHeader(raw)
		if err != nil {
			return nil, err
		}
		if parts[i], err = parsePart(content); err != nil {
			return nil, err
		}
		if id := header.Get("Content-Id"); id != "" && parts[i].header.Get("Content-Id") == "" {
			parts[i].header.Set("Content-Id", id)
		}
	}
	return parts, nil
}

// split splits a multipart body at its boundaries, which start a line. It ignores
// what precedes the first and follows the last (RFC 2046, 5.1.1).
func split(contentType string, body []byte) ([][]byte, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/mixed" || params["boundary"] == "" || len(params["boundary"]) > 200 {
		return nil, entity.Invalid("A transaction's content type must be multipart/mixed with a boundary.")
	}
	boundary := []byte("--" + params["boundary"])
	var parts [][]byte
	start := -1 // of the part being read
	for at := 0; ; {
		i := bytes.Index(body[at:], boundary)
		if i < 0 {
			return nil, entity.Invalid("The transaction's body ends before its last boundary.")
		}
		i += at
		at = i + len(boundary)
		line, _, _ := bytes.Cut(body[at:], []byte("\n"))
		rest := strings.TrimRight(string(line[:min(len(line), 8)]), " \t\r")
		if i > 0 && body[i-1] != '\n' || rest != "" && rest != "--" {
			continue // inside a line of the content, or the start of a longer boundary
		}
		if start >= 0 {
			parts = append(parts, trimLine(body[start:i]))
		}
		if rest == "--" {
			return parts, nil
		}
		if len(parts) > maxOperations {
			return parts, nil // too many: the caller refuses them
		}
		start = min(at+len(line)+1, len(body))
		at = start
	}
}

// trimLine removes the line break that belongs to the next boundary.
func trimLine(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
}

// cutHeader parses header lines up to an empty one, and returns the rest.
func cutHeader(b []byte) (http.Header, []byte, error) {
	h := make(http.Header, 8)
	for n := 0; ; n++ {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		b = rest
		if len(line) == 0 {
			return h, b, nil
		}
		name, value, ok := strings.Cut(string(line), ":")
		if !ok || name == "" || strings.TrimSpace(name) != name || n == maxPartHeaders {
			return nil, nil, entity.Invalid("The header line " + strconv.Quote(clip(string(line))) +
				" in the transaction is malformed, or there are too many headers.")
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		h[name] = append(h[name], strings.TrimSpace(value))
	}
}

// parsePart parses a request line, headers and body. The body ends with the part,
// because most clients send no Content-Length.
func parsePart(content []byte) (part, error) {
	content = bytes.TrimLeft(content, "\r\n")
	first, rest, _ := bytes.Cut(content, []byte("\n"))
	line := strings.TrimSuffix(string(first), "\r")
	method, target, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(target, " ")
	u, err := url.Parse(target)
	if err != nil || len(target) > wire.MaxURL || !strings.HasPrefix(version, "HTTP/1.") {
		return part{}, entity.Invalid("The request line " + strconv.Quote(clip(line)) +
			" in the transaction is malformed.")
	}
	query, err := wire.ParseQuery(u.RawQuery)
	if err != nil {
		return part{}, err
	}
	header, body, err := cutHeader(rest)
	return part{method, u, query, header, body}, err
}

func clip(s string) string { return s[:min(len(s), 200)] }
