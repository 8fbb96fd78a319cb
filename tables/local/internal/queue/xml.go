package queue

import (
	"encoding/xml"
	"strconv"
	"strings"
	"time"

	"furrow/tables/local/internal/wire"
)

// maxText is the maximum size of a message's text, in bytes of UTF-8
// (learn.microsoft.com/rest/api/storageservices/put-message).
const maxText = 64 << 10

// maxBody is the maximum size of its XML: every character may be escaped.
const maxBody = 6*maxText + 1<<10

// parseText reads <QueueMessage><MessageText>…</MessageText></QueueMessage>. It
// returns the text exactly, except that XML turns every line end into a line
// feed. found is false for a QueueMessage without a MessageText.
func parseText(body []byte) (text []byte, found bool, err error) {
	var m struct {
		XMLName xml.Name `xml:"QueueMessage"`
		Texts   []struct {
			Text  []byte     `xml:",chardata"`
			Inner []struct{} `xml:",any"`
		} `xml:"MessageText"`
		Others []struct{} `xml:",any"`
		Around string     `xml:",chardata"`
	}
	if err := wire.ParseXML(body, &m); err != nil {
		return nil, false, err
	}
	switch {
	case len(m.Texts) > 1 || len(m.Others) > 0:
		return nil, false, wire.BadXML("a QueueMessage has one element, MessageText")
	case strings.TrimSpace(m.Around) != "":
		return nil, false, wire.BadXML("text outside of MessageText")
	case len(m.Texts) == 0:
		return nil, false, nil
	case len(m.Texts[0].Inner) > 0:
		return nil, false, wire.BadXML("MessageText contains an element")
	case len(m.Texts[0].Text) > maxText:
		return nil, false, wire.TooLarge(maxText)
	}
	return m.Texts[0].Text, true, nil
}

// appendMessage appends the XML of a message: with its receipt if the client holds
// it, and with its delivery count and text if counted is set.
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
		dst = wire.AppendElement(append(dst, "</DequeueCount>"...), "MessageText", text)
	}
	return append(dst, "</QueueMessage>"...)
}

func appendTime(dst []byte, name string, t time.Time) []byte {
	return wire.AppendElement(dst, name, wire.HTTPTime(t))
}
