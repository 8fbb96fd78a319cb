package blob

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// Limits of a batch (learn.microsoft.com/rest/api/storageservices/blob-batch).
const (
	maxBatch = 4 << 20 // bytes of its body
	maxParts = 256
)

func badBatch(reason string) *wire.Error {
	return (&wire.Error{Status: http.StatusBadRequest, Code: "InvalidInput",
		Message: "One of the request inputs is not valid."}).With("Reason", reason)
}

// A batched request is one of a batch.
type batched struct {
	id      string // which the answer repeats; may be empty
	request *http.Request
}

// batch deletes several blobs. Each part is authorized, done and answered as if it had come alone; that one fails does
// not stop the others.
func (s *Service) batch(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at target) error {
	body, err := r.ReadBody(maxBatch)
	if err != nil {
		return err
	}
	parts, err := parseBatch(r.Header.Get("Content-Type"), body)
	if err != nil {
		return err
	}
	boundary := "batchresponse_" + r.ID
	var answer bytes.Buffer
	for _, p := range parts {
		answer.WriteString("--" + boundary + "\r\nContent-Type: application/http\r\n")
		if p.id != "" && wire.Printable(p.id) {
			answer.WriteString("Content-ID: " + p.id + "\r\n")
		}
		writePart(&answer, s.servePart(r, at, p.request))
	}
	answer.WriteString("--" + boundary + "--\r\n")
	wire.Set(w.Header(), "Content-Type", "multipart/mixed; boundary="+boundary)
	wire.Set(w.Header(), "Content-Length", strconv.Itoa(answer.Len()))
	w.WriteHeader(http.StatusAccepted)
	_, _ = answer.WriteTo(w) // fails only if the client is gone
	return nil
}

func writePart(b *bytes.Buffer, a *wire.Reply) {
	fmt.Fprintf(b, "\r\nHTTP/1.1 %d %s\r\n", a.Status, http.StatusText(a.Status))
	for _, name := range slices.Sorted(maps.Keys(a.Head)) {
		if len(a.Head[name]) > 0 && name != "Content-Length" {
			b.WriteString(name + ": " + a.Head[name][0] + "\r\n")
		}
	}
	fmt.Fprintf(b, "Content-Length: %d\r\n\r\n%s\r\n", len(a.Body), a.Body)
}

// servePart does what a part asks for. The batch may be of one container.
func (s *Service) servePart(r *wire.Request, of target, p *http.Request) *wire.Reply {
	a := &wire.Reply{Status: http.StatusOK, Head: http.Header{}}
	inner, err := r.Within(p.Method, r.Host, p.RequestURI, p.Header)
	if err == nil {
		wire.Set(a.Head, "x-ms-request-id", inner.ID)
		wire.Set(a.Head, "x-ms-version", inner.Version)
		err = s.deletePart(a, inner, of)
	}
	if err != nil {
		wire.WriteError(a, inner, wire.AsError(err))
	}
	return a
}

func (s *Service) deletePart(a *wire.Reply, r *wire.Request, of target) error {
	at, err := parseTarget(r)
	if err != nil {
		return err
	}
	comp := r.Query.Get("comp")
	switch {
	case comp == "tier":
		return wire.NotImplemented(unserved[comp])
	case r.Method != http.MethodDelete || comp != "" || at.blob == "":
		return badBatch("A part of a batch must be Delete Blob.")
	case of.container != "" && at.container != of.container:
		return badBatch("A batch of a container has blobs of this container alone.")
	}
	return s.router().Serve(a, r)
}

// parseBatch parses a body whose parts are requests without bodies.
func parseBatch(contentType string, body []byte) (parts []batched, err error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/mixed" || params["boundary"] == "" {
		return nil, badBatch("The content type must be multipart/mixed with a boundary.")
	}
	all := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		p, err := all.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || len(parts) == maxParts {
			return nil, badBatch("The body is malformed, or has more than 256 parts.")
		}
		text, err := io.ReadAll(p)
		if err != nil {
			return nil, badBatch("The body ends within a part.")
		}
		text = append(bytes.TrimLeft(text, "\r\n"), "\r\n\r\n"...) // some clients leave out the last line break
		request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return nil, badBatch("A part is no request: " + err.Error() + ".")
		}
		parts = append(parts, batched{p.Header.Get("Content-Id"), request})
	}
	if len(parts) == 0 {
		return nil, badBatch("The batch is empty.")
	}
	return parts, nil
}
