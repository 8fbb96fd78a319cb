package queue

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"furrow/tables/local/internal/wire"
)

// maxText bounds a message's text, in bytes of UTF-8
// (learn.microsoft.com/rest/api/storageservices/put-message).
const maxText = 64 << 10

// maxBody bounds the XML around it: text may be escaped throughout.
const maxBody = 6*maxText + 1<<10

const xmlHead = `<?xml version="1.0" encoding="utf-8"?>`

var bom = []byte("\uFEFF")

// parseText reads <QueueMessage><MessageText>…</MessageText></QueueMessage>. It
// gives the text exactly, but for line ends, which XML has as a line feed. A
// QueueMessage without text is not found.
func parseText(body []byte) (text []byte, found bool, err error) {
	p := textParser{d: xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, bom)))}
	for {
		token, err := p.d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = p.step(token)
		}
		if err != nil {
			return nil, false, refusal(err)
		}
	}
	if !p.root {
		return nil, false, badXML("no QueueMessage element")
	}
	if len(p.text) > maxText {
		return nil, false, wire.TooLarge(maxText)
	}
	return p.text, p.found, nil
}

func refusal(err error) error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e
	}
	return badXML(err.Error())
}

type textParser struct {
	d     *xml.Decoder
	depth int // of open elements
	root  bool
	found bool
	text  []byte
}

func (p *textParser) step(token xml.Token) error {
	switch token := token.(type) {
	case xml.StartElement:
		p.depth++
		return p.open(token.Name.Local)
	case xml.EndElement:
		p.depth--
	case xml.CharData:
		if p.depth == 2 {
			p.text = append(p.text, token...)
		} else if len(bytes.TrimSpace(token)) > 0 {
			return badXML("text outside of MessageText")
		}
	case xml.Directive:
		return badXML("a document type is not allowed")
	}
	return nil
}

func (p *textParser) open(name string) error {
	switch {
	case p.depth == 1 && name == "QueueMessage" && !p.root:
		p.root = true
	case p.depth == 2 && name == "MessageText" && !p.found:
		p.found = true
	default:
		return badXML("the element " + name + " is not expected here")
	}
	return nil
}

// appendMessage writes a message as a client is to see it. What a peek does not
// tell is left out where held is false, and the text where it is nil.
func appendMessage(dst []byte, now instant, m *message, held, counted bool, text []byte) []byte {
	dst = append(dst, "<QueueMessage><MessageId>"...)
	dst = append(dst, m.id.String()...)
	dst = appendTime(append(dst, "</MessageId>"...), "InsertionTime", now.shown(m.inserted))
	dst = appendTime(dst, "ExpirationTime", now.shown(m.expires))
	if held {
		dst = appendReceipt(append(dst, "<PopReceipt>"...), m.receipt)
		dst = appendTime(append(dst, "</PopReceipt>"...), "TimeNextVisible", now.shown(m.place.at))
	}
	if counted {
		dst = strconv.AppendUint(append(dst, "<DequeueCount>"...), uint64(m.dequeued), 10)
		dst = appendElement(append(dst, "</DequeueCount>"...), "MessageText", text)
	}
	return append(dst, "</QueueMessage>"...)
}

func appendTime(dst []byte, name string, t time.Time) []byte {
	return appendElement(dst, name, wire.HTTPTime(t))
}

func appendElement[T string | []byte](dst []byte, name string, value T) []byte {
	dst = append(append(dst, '<'), name...)
	if len(value) == 0 {
		return append(dst, " />"...)
	}
	dst = appendEscaped(append(dst, '>'), value)
	return append(append(append(dst, "</"...), name...), '>')
}

// appendEscaped writes XML text, or a value in double quotes. A carriage return
// would be read as a line feed if it were written as it is. What XML cannot hold
// becomes U+FFFD.
func appendEscaped[T string | []byte](dst []byte, s T) []byte {
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
	case c == '"':
		return "&quot;", 1
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
