package table

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/wire"
)

// maxOperations is how many operations a transaction may have
// (learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions).
const maxOperations = 100

// A part is a request inside a transaction's body.
type part struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
}

// parseBatch reads the body of POST $batch: one change set, or one query.
func parseBatch(contentType string, body []byte) (parts []part, isQuery bool, err error) {
	outer, err := multipartOf(contentType, body)
	if err != nil {
		return nil, false, err
	}
	p, err := outer.NextRawPart()
	if err != nil {
		return nil, false, badBatch(err)
	}
	content, err := io.ReadAll(p) // bounded: the whole body is
	if err != nil {
		return nil, false, badBatch(err)
	}
	media := p.Header.Get("Content-Type")
	if strings.HasPrefix(media, "application/http") {
		one, err := parsePart(content)
		if err != nil {
			return nil, false, err
		}
		if one.method != http.MethodGet {
			return nil, false, entity.Invalid("A write in a transaction must be in a change set.")
		}
		parts, isQuery = []part{one}, true
	} else if parts, err = parseChangeSet(media, content); err != nil {
		return nil, false, err
	}
	if _, err := outer.NextRawPart(); !errors.Is(err, io.EOF) {
		return nil, false, entity.Invalid("A transaction has one change set, or one query.")
	}
	return parts, isQuery, nil
}

func parseChangeSet(media string, content []byte) ([]part, error) {
	inner, err := multipartOf(media, content)
	if err != nil {
		return nil, err
	}
	var parts []part
	for {
		p, err := inner.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, badBatch(err)
		}
		if len(parts) == maxOperations {
			return nil, entity.Invalid("The batch request operation exceeds the maximum 100 changes per change set.")
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return nil, badBatch(err)
		}
		one, err := parsePart(content)
		if err != nil {
			return nil, err
		}
		if id := p.Header.Get("Content-Id"); id != "" && one.header.Get("Content-Id") == "" {
			one.header.Set("Content-Id", id)
		}
		parts = append(parts, one)
	}
	if len(parts) == 0 {
		return nil, entity.Invalid("The change set is empty.")
	}
	return parts, nil
}

func multipartOf(contentType string, body []byte) (*multipart.Reader, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/mixed" || params["boundary"] == "" {
		return nil, &wire.Error{Status: 400, Code: "InvalidInput",
			Message: "A transaction's content type must be multipart/mixed with a boundary."}
	}
	return multipart.NewReader(bytes.NewReader(body), params["boundary"]), nil
}

// parsePart reads a request line, headers and what follows. The body's length
// is the part's, since most clients state none.
func parsePart(content []byte) (part, error) {
	r := bufio.NewReader(bytes.NewReader(content))
	text := textproto.NewReader(r)
	line, err := text.ReadLine()
	if err != nil {
		return part{}, badBatch(err)
	}
	method, rest, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(rest, " ")
	u, err := url.Parse(target)
	if err != nil || !strings.HasPrefix(version, "HTTP/1.") {
		return part{}, entity.Invalid("The request line " + strconv.Quote(clip(line)) + " in the transaction is malformed.")
	}
	header, err := text.ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) {
		return part{}, badBatch(err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return part{}, badBatch(err)
	}
	return part{method, u, http.Header(header), body}, nil
}

func clip(s string) string { return s[:min(len(s), 200)] }

func badBatch(err error) error {
	return entity.Invalid("The transaction's body is malformed: " + strings.TrimPrefix(err.Error(), "multipart: ") + ".")
}
