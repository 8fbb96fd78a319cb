package table

import (
	"bytes"
	"cmp"
	"errors"
	"mime"
	"net/http"
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
	method    string
	path      string // escaped
	query     url.Values
	header    fields
	body      []byte
	contentID string // which the answer repeats; may be empty
}

// fields are the header of a part. A transaction has up to a hundred parts
// with a few fields each, for which maps are slow.
type fields []field

type field struct{ name, value string }

// Get returns the first value of a field, or nothing, as http.Header does.
func (f fields) Get(name string) string {
	for i := range f {
		if strings.EqualFold(f[i].name, name) {
			return f[i].value
		}
	}
	return ""
}

// http returns f in the form of net/http.
func (f fields) http() http.Header {
	h := make(http.Header, len(f))
	for _, one := range f {
		h.Add(one.name, one.value)
	}
	return h
}

// parseBatch parses the body of POST $batch: one change set or one query.
//
// The parts are slices of the body. The readers of mime/multipart and net/http copy
// each part three times, which was a fifth of the cost of a transaction.
func parseBatch(contentType string, body []byte) (parts []part, isQuery bool, err error) {
	outer, err := split(contentType, body)
	if errors.Is(err, errNoEnd) && len(outer) == 1 {
		err = nil // clients in Rust end like this; the change set inside has an end of its own
	}
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
	if len(inner) == 0 {
		return nil, entity.Invalid("The change set is empty.")
	}
	inner = inner[:min(len(inner), maxOperations+1)]
	parts := make([]part, len(inner))
	for i, raw := range inner {
		header, content, err := cutHeader(raw)
		if err != nil {
			return nil, err
		}
		if parts[i], err = parsePart(content); err != nil {
			return nil, err
		}
		parts[i].contentID = cmp.Or(parts[i].header.Get("Content-Id"), header.Get("Content-Id"))
	}
	return parts, nil
}

// errNoEnd means that the last boundary of a body has no dashes behind it.
var errNoEnd = entity.Invalid("The transaction's body ends before its last boundary.")

// split splits a multipart body at its boundaries, which start a line. It ignores
// what precedes the first and follows the last (RFC 2046, 5.1.1). With errNoEnd come the
// parts if nothing follows the last boundary, and else none.
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
			if start >= 0 && len(bytes.TrimSpace(body[start:])) > 0 {
				parts = nil
			}
			return parts, errNoEnd
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

// trimLine removes a line break from the end.
func trimLine[T []byte | string](text T) T {
	n := len(text)
	if n > 0 && text[n-1] == '\n' {
		n--
	}
	if n > 0 && text[n-1] == '\r' {
		n--
	}
	return text[:n]
}

// cutHeader parses header lines up to an empty one, and returns the rest.
func cutHeader(b []byte) (fields, []byte, error) {
	end := endOfHeader(b)
	text, header := string(b[:end]), make(fields, 0, 6)
	for line := range strings.Lines(text) {
		line = trimLine(line)
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.TrimSpace(name) != name || len(header) == maxPartHeaders {
			return nil, nil, entity.Invalid("The header line " + strconv.Quote(clip(line)) +
				" in the transaction is malformed, or there are too many headers.")
		}
		header = append(header, field{name, strings.TrimSpace(value)})
	}
	return header, b[end:], nil
}

// endOfHeader returns the length of b up to and with its first empty line.
func endOfHeader(b []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			return len(b)
		}
		if line := b[at : at+i+1]; len(trimLine(line)) == 0 {
			return at + i + 1
		}
		at += i + 1
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
	if len(target) > wire.MaxURL || !strings.HasPrefix(version, "HTTP/1.") {
		return part{}, entity.Invalid("The request line " + strconv.Quote(clip(line)) +
			" in the transaction is malformed.")
	}
	path, raw, _ := strings.Cut(target, "?")
	if _, after, ok := strings.Cut(path, "://"); ok {
		_, path, _ = strings.Cut(after, "/")
	}
	query, err := wire.ParseQuery(raw)
	if err != nil {
		return part{}, err
	}
	header, body, err := cutHeader(rest)
	return part{method: method, path: path, query: query, header: header, body: body}, err
}

func clip(s string) string { return s[:min(len(s), 200)] }
