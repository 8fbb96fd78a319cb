package tables

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// readTransaction returns the ETags of ops from the answer, or the error of the refused one. It reads slices of the
// answer: the readers of mime/multipart and net/http copy each part three times.
func readTransaction(resp *http.Response, body []byte, ops []Op) ([]ETag, error) {
	etags := make([]ETag, 0, len(ops))
	for part, err := range changeSet(resp.Header.Get("Content-Type"), body) {
		if err != nil {
			return nil, fmt.Errorf("answer of storage: %w", err)
		}
		status, etag, err := readPart(part)
		if err != nil {
			return nil, fmt.Errorf("answer of storage: operation %d: %w", len(etags), err)
		}
		if status >= http.StatusBadRequest {
			return nil, refusedPart(part, resp.Request, ops)
		}
		etags = append(etags, etag)
	}
	if len(etags) != len(ops) {
		return nil, fmt.Errorf("answer of storage: %d operations have %d answers", len(ops), len(etags))
	}
	return etags, nil
}

var errIncomplete = errors.New("it is incomplete")

// changeSet yields the answers in the change set that a batch begins with, or an error as the last one.
func changeSet(contentType string, body []byte) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		mark, err := boundary(contentType)
		if err != nil {
			yield(nil, err)
			return
		}
		_, body, last, ok := nextBoundary(body, mark)
		if !ok || last {
			yield(nil, errIncomplete)
			return
		}
		header, body, _ := cutHeader(body, "Content-Type")
		if mark, err = boundary(header); err != nil {
			yield(nil, err)
			return
		}
		if _, body, last, ok = nextBoundary(body, mark); !ok {
			yield(nil, errIncomplete)
			return
		}
		for !last {
			var part []byte
			if part, body, last, ok = nextBoundary(body, mark); !ok {
				yield(nil, errIncomplete)
				return
			}
			_, answer, whole := cutHeader(part, "")
			if !whole {
				yield(nil, errIncomplete)
				return
			}
			if !yield(answer, nil) {
				return
			}
		}
	}
}

// boundary returns what each boundary of a multipart body begins with.
func boundary(contentType string) ([]byte, error) {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || parameters["boundary"] == "" {
		return nil, fmt.Errorf("its type %q is not multipart", contentType)
	}
	return []byte("--" + parameters["boundary"]), nil
}

// nextBoundary returns what is before and after the first boundary in b, and whether it is the last one of all. A
// boundary fills a line, and the line break before it belongs to it (RFC 2046, 5.1.1).
func nextBoundary(b, mark []byte) (before, after []byte, last, ok bool) {
	for at := 0; ; {
		i := bytes.Index(b[at:], mark)
		if i < 0 {
			return nil, nil, false, false
		}
		i += at
		line, rest, whole := bytes.Cut(b[i+len(mark):], []byte("\n"))
		end := string(bytes.TrimRight(line, " \t\r"))
		if last = end == "--"; (i == 0 || b[i-1] == '\n') && (last || whole && end == "") {
			return bytes.TrimSuffix(bytes.TrimSuffix(b[:i], []byte("\n")), []byte("\r")), rest, last, true
		}
		at = i + len(mark)
	}
}

// cutHeader returns the value of a field, if there is one, and what follows the empty line after all fields.
func cutHeader(b []byte, field string) (value string, rest []byte, ok bool) {
	for {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		if line = bytes.TrimSuffix(line, []byte("\r")); !ok || len(line) == 0 {
			return value, rest, ok
		}
		n := len(field)
		if n > 0 && len(line) > n && line[n] == ':' && strings.EqualFold(string(line[:n]), field) {
			value = string(bytes.TrimSpace(line[n+1:]))
		}
		b = rest
	}
}

// readPart reads the answer to one operation.
func readPart(answer []byte) (status int, etag ETag, err error) {
	line, header, _ := bytes.Cut(answer, []byte("\n"))
	_, text, _ := bytes.Cut(line, []byte(" "))
	if status, err = strconv.Atoi(string(text[:min(3, len(text))])); err != nil || status < 100 {
		return 0, "", fmt.Errorf("%q is not the first line of an HTTP answer", line)
	}
	value, _, whole := cutHeader(header, "ETag")
	if !whole {
		return 0, "", errIncomplete
	}
	return status, ETag(value), nil
}

// refusedPart returns the error of the operation for which a transaction was refused.
func refusedPart(answer []byte, request *http.Request, ops []Op) error {
	a, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), request)
	if err == nil {
		_, err = runtime.Payload(a) // which keeps it
	}
	if err != nil {
		return fmt.Errorf("answer of storage: %w", err)
	}
	return refusal(runtime.NewResponseError(a), ops)
}

// refusal wraps err with the operation that its message names: "2:The specified entity
// already exists."
func refusal(err error, ops []Op) error {
	err = named(err)
	f, ok := err.(*service.Failure)
	if !ok {
		return err
	}
	number, message, ok := strings.Cut(f.Message, ":")
	i, notNumber := strconv.Atoi(number)
	if !ok || notNumber != nil || i < 0 || i >= len(ops) {
		return err
	}
	f.Message = message
	return &TransactionError{Index: i, Op: ops[i], Err: f}
}
