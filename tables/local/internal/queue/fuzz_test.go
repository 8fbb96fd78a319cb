package queue

import (
	"bytes"
	"encoding/xml"
	"net/url"
	"strings"
	"testing"

	"furrow/tables/local/internal/wire"

	"github.com/google/uuid"
)

// What is read out of a body is written so that any XML reader reads it again.
func FuzzParseText(f *testing.F) {
	for _, body := range []string{textBody, "", "<QueueMessage/>", "\uFEFF<?xml version='1.0'?>" + textBody,
		"<QueueMessage><MessageText>a&#13;&lt;<![CDATA[<b>]]><!-- c -->\r\n</MessageText></QueueMessage>",
		"<QueueMessage><MessageText>", "<a:QueueMessage xmlns:a='b'><MessageText/></a:QueueMessage>",
		"<?xml version='1.0' encoding='utf-16'?>" + textBody,
		strings.Repeat("<QueueMessage>", 1000), "<QueueMessage><MessageText>\xff</MessageText></QueueMessage>"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		text, found, err := parseText(body)
		if err != nil {
			if status := wire.AsError(err).Status; status != 400 && status != 413 {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		if len(text) > maxText || len(text) > 0 && !found {
			t.Errorf("%d bytes of text, found %v", len(text), found)
		}
		m := &message{id: uuid.New(), expires: never}
		written := appendMessage(nil, instant{}, m, true, true, text)
		var read struct{ MessageText []byte }
		if err := xml.Unmarshal(written, &read); err != nil || !bytes.Equal(read.MessageText, text) {
			t.Errorf("%q was written as %q and read as %q (%v)", text, written, read.MessageText, err)
		}
	})
}

func FuzzReceipt(f *testing.F) {
	f.Add("AAAAAAAAAAE=", uint64(1))
	f.Add("", uint64(1<<64-1))
	f.Add("AAAA\nAAAAAAE=", uint64(0))
	f.Fuzz(func(t *testing.T, text string, receipt uint64) {
		written := string(appendReceipt(nil, receipt))
		if got, err := parseReceipt(written); got != receipt || err != nil {
			t.Errorf("%d was written as %s and read as %d (%v)", receipt, written, got, err)
		}
		got, err := parseReceipt(text)
		if err == nil && got != 0 && string(appendReceipt(nil, got)) != text {
			t.Errorf("%q and %q are one receipt", text, appendReceipt(nil, got))
		}
	})
}

func FuzzPath(f *testing.F) {
	f.Add("q/messages/id")
	f.Add("/")
	f.Add("q%2Fmessages/%zz")
	f.Fuzz(func(t *testing.T, escaped string) {
		p, err := parsePath(&wire.Request{Path: escaped})
		if err != nil || wire.CheckName(p.queue) != nil {
			return
		}
		again := p.queue
		if p.messages {
			again += "/messages"
		}
		if p.message != "" {
			again += "/" + url.PathEscape(p.message)
		}
		if got, err := parsePath(&wire.Request{Path: again}); got != p || err != nil {
			t.Errorf("%q is %v, and %q is %v (%v)", escaped, p, again, got, err)
		}
	})
}

func FuzzRecord(f *testing.F) {
	f.Add((&message{expires: never, place: place{1, 2}, receipt: 3, dequeued: 4}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		var m message
		if err := m.decode(b); err == nil && !bytes.Equal(m.encode(), b) {
			t.Errorf("%x is %v, which is %x", b, m, m.encode())
		}
		var c tally
		if now, err := c.decode(b); err == nil && !bytes.Equal(c.encode(now), b) {
			t.Errorf("%x is %v at %d", b, c, now)
		}
	})
}
