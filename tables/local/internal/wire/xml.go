package wire

import (
	"bytes"
	"encoding/xml"
	"io"
	"maps"
	"slices"
	"unicode/utf8"
)

// TrimBOM removes a byte order mark, which .NET writes before a document and
// readers of XML and JSON would take for text.
func TrimBOM(document []byte) []byte { return bytes.TrimPrefix(document, []byte("\uFEFF")) }

// ParseXML reads a document with a single root element into v, as encoding/xml
// does. Text and document types outside the root are refused.
func ParseXML(document []byte, v any) error {
	d := xml.NewDecoder(bytes.NewReader(TrimBOM(document)))
	for parsed := false; ; {
		token, err := d.Token()
		if err == io.EOF && parsed {
			return nil
		}
		if err != nil {
			return BadXML(err.Error())
		}
		switch t := token.(type) {
		case xml.StartElement:
			if parsed {
				return BadXML("the document has a second root element")
			}
			if err := d.DecodeElement(v, &t); err != nil {
				return BadXML(err.Error())
			}
			parsed = true
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return BadXML("there is text outside the root element")
			}
		case xml.Directive:
			return BadXML("a document type is not allowed")
		}
	}
}

// AppendMetadata appends a Metadata element.
func AppendMetadata(dst []byte, metadata map[string]string) []byte {
	if len(metadata) == 0 {
		return append(dst, "<Metadata />"...)
	}
	dst = append(dst, "<Metadata>"...)
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		dst = AppendElement(dst, name, metadata[name])
	}
	return append(dst, "</Metadata>"...)
}

// AppendElements appends elements given by name and value.
func AppendElements(dst []byte, elements [][2]string) []byte {
	for _, e := range elements {
		dst = AppendElement(dst, e[0], e[1])
	}
	return dst
}

// AppendElement appends an element with a text.
func AppendElement[T string | []byte](dst []byte, name string, value T) []byte {
	dst = append(append(dst, '<'), name...)
	if len(value) == 0 {
		return append(dst, " />"...)
	}
	dst = AppendXML(append(dst, '>'), value)
	return append(append(append(dst, "</"...), name...), '>')
}

// AppendXML appends s as the text of an XML element. A line feed stays as it is,
// because some SDKs read no character references; a carriage return would then
// be read as a line feed. What XML cannot hold becomes U+FFFD.
func AppendXML[T string | []byte](dst []byte, s T) []byte {
	from := 0 // what is before is written
	for i := 0; i < len(s); {
		escaped, width := escapeOf(s, i)
		if escaped != "" {
			dst = append(append(dst, s[from:i]...), escaped...)
			from = i + width
		}
		i += width
	}
	return append(dst, s[from:]...)
}

// escapeOf returns what replaces the character at i, empty if it stays, and its width.
func escapeOf[T string | []byte](s T, i int) (escaped string, width int) {
	switch c := s[i]; {
	case c == '<':
		return "&lt;", 1
	case c == '>':
		return "&gt;", 1
	case c == '&':
		return "&amp;", 1
	case c == '\r':
		return "&#xD;", 1
	case c < 0x20 && c != '\t' && c != '\n':
		return "\uFFFD", 1
	case c < utf8.RuneSelf:
		return "", 1
	}
	r, width := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
	if r == utf8.RuneError && width == 1 || r == 0xFFFE || r == 0xFFFF {
		return "\uFFFD", width
	}
	return "", width
}
