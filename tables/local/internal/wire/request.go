// Package wire is what the three services have in common of Azure's REST
// protocol: how a request is addressed, how an answer is headed, how a refusal
// reads, and the bounds of both.
package wire

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Service is one of the three protocols.
type Service string

const (
	Blob  Service = "blob"
	Queue Service = "queue"
	Table Service = "table"
)

// A Request is an HTTP request with what every operation needs of it, parsed once.
type Request struct {
	*http.Request
	Service Service
	Account string
	Target  string     // the path as it came on the wire, escaped: what clients sign
	Path    string     // Target below the account, still escaped, without a leading slash
	Query   url.Values // decoded; names as they came
	Version string     // x-ms-version, which may be empty
	ID      string
	Now     time.Time

	Operation string // its name once it is known, for the log
}

var (
	errURLLong = &Error{http.StatusRequestURITooLong, "InvalidUri", "The request URI is too long.", nil}
	errHeaders = &Error{http.StatusRequestHeaderFieldsTooLarge, "RequestHeaderTooLarge", "The request's headers exceed the maximum permissible limit.", nil}
	errQuery   = &Error{http.StatusBadRequest, "InvalidQueryParameterValue", "The request's query is malformed or has too many parameters.", nil}
	errVersion = &Error{http.StatusBadRequest, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.",
		[]Detail{{"HeaderName", "x-ms-version"}}}
)

// parse fills r from its HTTP request, which may name the account in its path
// (http://127.0.0.1:10002/furrow/…) or in its host (http://furrow.table.…/…).
func (r *Request) parse(account string) error {
	r.Account = account
	if len(r.RequestURI) > MaxURL {
		return errURLLong
	}
	size := 0
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	if size > MaxHeaders {
		return errHeaders
	}
	if r.Version != "" {
		if _, err := time.Parse(time.DateOnly, r.Version); err != nil {
			return errVersion
		}
	}
	var raw string
	r.Target, raw, _ = strings.Cut(origin(r.RequestURI), "?")
	if strings.Count(raw, "&") >= MaxQuery {
		return errQuery
	}
	var err error
	if r.Query, err = ParseQuery(raw); err != nil {
		return err
	}
	return r.address()
}

// ParseQuery reads the parameters of a URL. Unlike net/url's, it takes a
// semicolon as it is: $format=application/json;odata=nometadata is one value.
func ParseQuery(raw string) (url.Values, error) {
	query := url.Values{}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, errName := url.QueryUnescape(name)
		value, errValue := url.QueryUnescape(value)
		if errName != nil || errValue != nil {
			return nil, errQuery
		}
		query.Add(name, value)
	}
	return query, nil
}

// Base is the URL below which the account's resources are, without a trailing slash.
func (r *Request) Base() string {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + r.Host + strings.TrimSuffix(strings.TrimSuffix(r.Target, r.Path), "/")
}

// Below is an escaped path as Path is: without the account, if r's has it.
func (r *Request) Below(path string) string {
	path = strings.TrimPrefix(path, "/")
	if rest, ok := strings.CutPrefix(path, r.Account+"/"); ok {
		return rest
	}
	return path
}

// origin gives the path and query of a request target, which a proxy's client
// sends as a whole URL. It stays escaped as it came, since clients sign it so.
func origin(target string) string {
	if strings.HasPrefix(target, "/") {
		return target
	}
	if _, after, ok := strings.Cut(target, "://"); ok {
		if i := strings.IndexAny(after, "/?"); i >= 0 && after[i] == '/' {
			return after[i:]
		}
	}
	return "/"
}

// address cuts the account off the target.
func (r *Request) address() error {
	first, rest, _ := strings.Cut(strings.TrimPrefix(r.Target, "/"), "/")
	if first == r.Account {
		r.Path = rest
		return nil
	}
	if host, _, ok := strings.Cut(r.Host, "."); ok && host == r.Account {
		r.Path = strings.TrimPrefix(r.Target, "/")
		return nil
	}
	return ErrURI.With("Reason", "The URL names another account than "+r.Account+".")
}

// ReadBody reads the request's body whole, up to max bytes. Memory follows what
// arrives, not what the header promises.
func (r *Request) ReadBody(max int64) ([]byte, error) {
	if r.ContentLength > max {
		return nil, TooLarge(max)
	}
	buf := make([]byte, 0, min(uint64(r.ContentLength), 128<<10)+1)
	for {
		n, err := r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > max {
			return nil, TooLarge(max)
		}
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return nil, ErrBodyCut
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// TooLarge refuses a body of more than max bytes.
func TooLarge(max int64) *Error {
	return (&Error{http.StatusRequestEntityTooLarge, "RequestBodyTooLarge",
		"The request body is too large and exceeds the maximum permissible limit.", nil}).
		With("MaxLimit", strconv.FormatInt(max, 10))
}
