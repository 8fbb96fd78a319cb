package blob

import (
	"crypto/md5"
	"encoding/base64"
	"net/http"

	"furrow/tables/local/internal/wire"
)

// headers are the content headers that a blob's writer set.
type headers struct {
	Type        string `json:",omitempty"`
	Encoding    string `json:",omitempty"`
	Language    string `json:",omitempty"`
	Cache       string `json:",omitempty"`
	Disposition string `json:",omitempty"`
	MD5         []byte `json:",omitempty"`
}

// fields returns the headers with their names.
func (h *headers) fields() []struct {
	name  string
	value *string
} {
	return []struct {
		name  string
		value *string
	}{{"Content-Type", &h.Type}, {"Content-Encoding", &h.Encoding}, {"Content-Language", &h.Language},
		{"Cache-Control", &h.Cache}, {"Content-Disposition", &h.Disposition}}
}

// parseHeaders parses the x-ms-blob- headers. The MD5 is stored as given, of any
// length; only Put Blob compares it with the content.
func parseHeaders(from http.Header) (h headers, err error) {
	for _, f := range h.fields() {
		*f.value = from.Get("x-ms-blob-" + f.name)
		if !wire.Printable(*f.value) {
			return h, wire.BadHeader("x-ms-blob-"+f.name, *f.value)
		}
	}
	if text := from.Get("x-ms-blob-content-md5"); text != "" {
		if h.MD5, err = base64.StdEncoding.DecodeString(text); err != nil {
			return h, errMD5
		}
	}
	return h, nil
}

var errMD5 = &wire.Error{Status: 400, Code: "InvalidMd5",
	Message: "The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64 encoded."}

// orPlain takes headers that have no x-ms-blob- form in the request from its plain
// headers, as Put Blob does.
func (h *headers) orPlain(from http.Header) error {
	for _, f := range h.fields() {
		if plain := from.Get(f.name); *f.value == "" && f.name != "Content-Disposition" {
			if !wire.Printable(plain) {
				return wire.BadHeader(f.name, plain)
			}
			*f.value = plain
		}
	}
	return nil
}

// orDefault sets the default content type.
func (h *headers) orDefault() {
	if h.Type == "" {
		h.Type = "application/octet-stream"
	}
}

func parseMD5(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	sum, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sum) != md5.Size {
		return nil, errMD5
	}
	return sum, nil
}

// set sets the headers of an answer.
func (h *headers) set(to http.Header) {
	to["Content-Type"] = nil // net/http must not guess a type
	for _, f := range h.fields() {
		if *f.value != "" {
			wire.Set(to, f.name, *f.value)
		}
	}
	if h.MD5 != nil {
		wire.Set(to, "Content-MD5", base64.StdEncoding.EncodeToString(h.MD5))
	}
}
