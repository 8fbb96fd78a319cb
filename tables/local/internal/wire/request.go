// Package wire implements what the three services share of Azure's REST protocol:
// parsing of requests, common headers and errors of answers, XML, metadata, limits.
package wire

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A Service is one of the three protocols.
type Service string

const (
	Blob  Service = "blob"
	Queue Service = "queue"
	Table Service = "table"
)

// A Request is an HTTP request, parsed as far as every operation needs it.
type Request struct {
	*http.Request
	Service   Service
	Account   string
	Secondary bool       // the URL is that of the secondary endpoint
	Target    string     // path as received, escaped: clients sign it
	Path      string     // Target below the account, escaped, without a leading slash
	Query     url.Values // decoded; names as received
	Version   string     // x-ms-version, which may be empty
	ID        string
	Body      io.Reader // of *http.Request, with a deadline
	BodySize  int       // bytes, once ReadBody has returned
	Now       time.Time // of the request's arrival
	Clock     func() time.Time

	Operation string // name, once it is known; for the log

	limits *Limits
	hold   hold
}

var (
	errURLLong = &Error{http.StatusRequestURITooLong, "InvalidUri", "The request URI is too long.", nil}
	errHeaders = &Error{http.StatusRequestHeaderFieldsTooLarge, "RequestHeaderTooLarge",
		"The request's headers exceed the maximum permissible limit.", nil}
	errQuery = &Error{http.StatusBadRequest, "InvalidQueryParameterValue",
		"The request's query is malformed or has too many parameters.", nil}
	errVersion = &Error{http.StatusBadRequest, "InvalidHeaderValue",
		"The value for one of the HTTP headers is not in the correct format.",
		[]Detail{{"HeaderName", "x-ms-version"}}}
)

// parse fills r from its HTTP request. The account is in the path
// (http://127.0.0.1:10002/furrow/…) or in the host (http://furrow.table.…/…).
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
	var err error
	if r.Query, err = ParseQuery(raw); err != nil {
		return err
	}
	return r.address()
}

// Within returns a request that has come inside of r: a part of a batch, or the source of a copy. It has no body.
func (r *Request) Within(method, host, uri string, header http.Header) (*Request, error) {
	alone := *r.Request
	alone.Method, alone.Host, alone.RequestURI, alone.Header = method, host, uri, header
	alone.ContentLength, alone.Body = 0, http.NoBody
	inner := &Request{Request: &alone, Service: r.Service, Now: r.Now, Clock: r.Clock, ID: uuid.NewString(),
		Version: cmp.Or(header.Get("X-Ms-Version"), r.Version), Body: http.NoBody, limits: r.limits}
	return inner, inner.parse(r.Account)
}

// ParseQuery parses the query of a URL. Unlike net/url's parser it accepts a
// semicolon in a value, as in $format=application/json;odata=nometadata. It accepts
// no more than MaxQuery parameters, also of an operation in a batch.
func ParseQuery(raw string) (url.Values, error) {
	if strings.Count(raw, "&") >= MaxQuery {
		return nil, errQuery
	}
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

// Base returns the URL of the account, without a trailing slash.
func (r *Request) Base() string {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + r.Host + strings.TrimSuffix(strings.TrimSuffix(r.Target, r.Path), "/")
}

// Below removes the leading slash and, if present, the account from an escaped path.
func (r *Request) Below(path string) string {
	path = strings.TrimPrefix(path, "/")
	if rest, ok := strings.CutPrefix(path, r.Account+"/"); ok {
		return rest
	}
	return path
}

// origin returns the path and query of a request target; clients of a proxy send a
// whole URL. It stays escaped as received, because clients sign it that way.
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

// address removes the account from the target.
func (r *Request) address() error {
	first, rest, _ := strings.Cut(strings.TrimPrefix(r.Target, "/"), "/")
	host, _, isName := strings.Cut(r.Host, ".")
	for _, of := range []string{r.Account, r.Account + "-secondary"} {
		switch r.Secondary = of != r.Account; {
		case first == of:
			r.Path = rest
			return nil
		case isName && host == of:
			r.Path = strings.TrimPrefix(r.Target, "/")
			return nil
		}
	}
	return ErrURI.With("Reason", "This server has the account "+r.Account+" only.")
}

// firstHold is what a body takes before any of it has come, in bytes. Beyond it, a body takes no more than twice what
// has come: who wants to hold memory has to send.
const firstHold = 4 << 10

// ReadBody reads the whole body, up to max bytes. It allocates memory as bytes
// arrive, and does not trust Content-Length. It returns an error of status 503 if
// other bodies take too much memory.
func (r *Request) ReadBody(max int64) ([]byte, error) {
	if r.ContentLength > max {
		return nil, TooLarge(max)
	}
	most := max + 1 // and one byte more, which never comes
	if r.ContentLength >= 0 {
		most = r.ContentLength + 1
	}
	size := min(most, firstHold+1)
	if err := r.Hold(size); err != nil {
		return nil, err
	}
	buf := make([]byte, 0, size)
	for {
		n, err := r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > max {
			return nil, TooLarge(max)
		}
		if errors.Is(err, io.EOF) {
			r.BodySize = len(buf)
			return buf, nil
		}
		if err != nil {
			return nil, BodyError(err)
		}
		if len(buf) == cap(buf) {
			if size == most { // it is longer than it said, which net/http does not let through
				most = max + 1
			}
			more := min(size, most-size)
			if err := r.Hold(more); err != nil {
				return nil, err
			}
			size += more
			buf = append(make([]byte, 0, size), buf...)
		}
	}
}

// TooLarge is the error for a body of more than max bytes.
func TooLarge(max int64) *Error {
	return (&Error{http.StatusRequestEntityTooLarge, "RequestBodyTooLarge",
		"The request body is too large and exceeds the maximum permissible limit.", nil}).
		With("MaxLimit", strconv.FormatInt(max, 10))
}
