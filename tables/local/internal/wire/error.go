package wire

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// An Error is an error as Azure answers it: an HTTP status, the error code that
// SDKs compare, and a message for people.
type Error struct {
	Status  int
	Code    string
	Message string
	Details []Detail // further elements of an XML body, such as AuthenticationErrorDetail
}

// XMLHeader is the start of every XML body.
const XMLHeader = `<?xml version="1.0" encoding="utf-8"?>`

// A Detail is an additional element of an XML error body.
type Detail struct{ Name, Value string }

func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// With returns a copy of e with one more detail.
func (e *Error) With(name, value string) *Error {
	c := *e
	c.Details = append(append([]Detail(nil), e.Details...), Detail{name, value})
	return &c
}

// NotImplemented is the error for an operation that this server does not serve.
func NotImplemented(operation string) *Error {
	return &Error{Status: http.StatusNotImplemented, Code: "NotImplemented",
		Message: "This server does not serve " + operation + "."}
}

// AsError returns the *Error in err's chain. Any other error becomes an
// InternalError: its cause belongs in the log, not in the answer.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, syscall.ENOSPC) {
		return ErrFull
	}
	return &Error{Status: http.StatusInternalServerError, Code: "InternalError",
		Message: "The server encountered an internal error. Please retry the request."}
}

// WriteError answers with e in the format of the service.
func WriteError(w http.ResponseWriter, r *Request, e *Error) {
	h := w.Header()
	Set(h, "x-ms-error-code", e.Code)
	for _, name := range []string{"ETag", "Last-Modified", "Content-Length", "Content-MD5"} {
		delete(h, name)
	}
	if e.Status != http.StatusRequestedRangeNotSatisfiable {
		delete(h, "Content-Range")
	}
	if e.Status == http.StatusNotModified || r.Method == http.MethodHead {
		w.WriteHeader(e.Status)
		return
	}
	body, kind := xmlErrorBody, "application/xml"
	if r.Service == Table {
		body = TableErrorBody
		if !wantsXML(r) {
			kind = TableErrorType
		}
	}
	Set(h, "Content-Type", kind)
	w.WriteHeader(e.Status)
	w.Write(body(r, e)) // fails only if the client is gone
}

// message is e's text with the request's ID and time, as Azure adds them.
func message(r *Request, e *Error) string {
	return e.Message + "\nRequestId:" + r.ID + "\nTime:" + r.Now.UTC().Format("2006-01-02T15:04:05.0000000Z")
}

func xmlErrorBody(r *Request, e *Error) []byte {
	var b strings.Builder
	b.WriteString(XMLHeader)
	b.WriteString("<Error><Code>" + e.Code + "</Code><Message>")
	escape(&b, message(r, e))
	b.WriteString("</Message>")
	for _, d := range e.Details {
		b.WriteString("<" + d.Name + ">")
		escape(&b, d.Value)
		b.WriteString("</" + d.Name + ">")
	}
	b.WriteString("</Error>")
	return []byte(b.String())
}

// wantsXML reports whether a table request accepts XML but not JSON, as Get and
// Set Table ACL do.
func wantsXML(r *Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "xml") && !strings.Contains(accept, "json")
}

// TableErrorType is the type of an error of the Table service in JSON.
const TableErrorType = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"

// TableErrorBody renders e as the Table service does, in JSON or in XML.
func TableErrorBody(r *Request, e *Error) []byte {
	if wantsXML(r) {
		var b strings.Builder
		b.WriteString(XMLHeader)
		b.WriteString(`<m:error xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><m:code>` +
			e.Code +
			`</m:code><m:message xml:lang="en-US">`)
		escape(&b, message(r, e))
		b.WriteString("</m:message></m:error>")
		return []byte(b.String())
	}
	b := []byte(`{"odata.error":{"code":"` + e.Code + `","message":{"lang":"en-US","value":`)
	b = AppendString(b, message(r, e))
	return append(b, "}}}"...)
}

// AppendString appends s as a JSON string; invalid UTF-8 becomes U+FFFD.
func AppendString[S ~string | ~[]byte](dst []byte, s S) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // an error only reports replaced bytes
	return dst
}

// escape writes s as XML text.
func escape(b *strings.Builder, s string) { b.Write(AppendXML(nil, s)) }

// HTTPTime formats t for HTTP headers and the services' XML, to the second.
func HTTPTime(t time.Time) string { return t.UTC().Format(http.TimeFormat) }
