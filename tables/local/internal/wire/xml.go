package wire

import (
	"bytes"
	"unicode/utf8"
)

// TrimBOM takes the byte order mark off a document, which readers of XML and
// JSON would take for text. Writers of .NET begin with one.
func TrimBOM(document []byte) []byte { return bytes.TrimPrefix(document, []byte("\uFEFF")) }

// AppendXML appends s as the text of an XML element. A line feed stays as it is,
// because there are SDKs that read no character references; a carriage return
// would then be read as a line feed. What XML cannot hold becomes U+FFFD.
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

// escapeOf tells what stands for the character at i, if not itself, and its width.
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
