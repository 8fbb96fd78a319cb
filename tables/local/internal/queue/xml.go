package queue

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"time"

	"furrow/tables/local/internal/wire"
)

// maxText bounds a message's text, in bytes of UTF-8
// (learn.microsoft.com/rest/api/storageservices/put-message).
const maxText = 64 << 10

// maxBody bounds the XML around it: text may be escaped throughout.
const maxBody = 6*maxText + 1<<10

// parseText reads <QueueMessage><MessageText>…</MessageText></QueueMessage>. It
// gives the text exactly, but for line ends, which XML has as a line feed. A
// QueueMessage without text is not found.
func parseText(body []byte) (text []byte, found bool, err error) {
	p := textParser{d: xml.NewDecoder(bytes.NewReader(wire.TrimBOM(body)))}
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
		return nil, false, wire.BadXML("no QueueMessage element")
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
	return wire.BadXML(err.Error())
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
			return wire.BadXML("text outside of MessageText")
		}
	case xml.Directive:
		return wire.BadXML("a document type is not allowed")
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
		return wire.BadXML("the element " + name + " is not expected here")
	}
	return nil
}

// appendMessage writes a message as a client is to see it: with its receipt where
// the client is to hold it, and counted with how often it was given out, and its text.
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
	dst = wire.AppendXML(append(dst, '>'), value)
	return append(append(append(dst, "</"...), name...), '>')
}
