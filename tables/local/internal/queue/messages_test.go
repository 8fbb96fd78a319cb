package queue

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
)

func ptr[T any](v T) *T { return &v }

func TestTextComesBackExactly(t *testing.T) {
	f := newFixture(t)
	q := f.queue("texts")
	for _, text := range []string{"", "\n", "é漢🎉\u0085\u2028\uFFFD", "a\rb\r\n", strings.Repeat("&", maxText),
		strings.Repeat("漢", maxText/3)} {
		f.put(q, text)
		peeked := must.Have(q.PeekMessage(f.Context(), nil))(t)
		if got := f.get(q, 1, 30)[0]; *got.MessageText != text || *peeked.Messages[0].MessageText != text {
			t.Errorf("%.40q came back as %.40q, %.40q", text, *got.MessageText, *peeked.Messages[0].MessageText)
		}
	}
	_, err := q.EnqueueMessage(f.Context(), strings.Repeat("&", 2*maxText), nil)
	f.wantCode(err, queueerror.RequestBodyTooLarge)
}

// The holder of an expired lease can delete the message until another worker gets it.
func TestLateReceiptWorksUntilMessageIsTaken(t *testing.T) {
	f := newFixture(t)
	q := f.queue("late")
	f.put(q, "work")
	taken := f.get(q, 1, 30)[0]
	f.step(time.Hour)
	if _, err := q.DeleteMessage(f.Context(), *taken.MessageID, *taken.PopReceipt, nil); err != nil {
		t.Error(err)
	}
}

func TestExpiredMessageCannotBeDeleted(t *testing.T) {
	f := newFixture(t)
	q := f.queue("expired")
	sent, err := q.EnqueueMessage(t.Context(), "x", &azqueue.EnqueueMessageOptions{TimeToLive: ptr[int32](10)})
	must.Succeed(t, err)
	f.step(11 * time.Second)
	_, err = q.DeleteMessage(t.Context(), *sent.Messages[0].MessageID, *sent.Messages[0].PopReceipt, nil)
	f.wantCode(err, queueerror.MessageNotFound)
}

// A get continues past the number of expired messages that one turn removes.
func TestGetReachesPastManyExpired(t *testing.T) {
	f := newFixture(t)
	q := f.queue("many")
	h := f.service
	for range 2 {
		err := h.inTransaction("many", func(u *transaction) error {
			for range maxExpired {
				u.add(u.now.ns, u.now.ns+int64(time.Second), []byte("old"))
			}
			return nil
		})
		must.Succeed(t, err)
	}
	f.put(q, "new")
	f.step(2 * time.Second)
	if got := f.get(q, 2, 30); len(got) != 1 || *got[0].MessageText != "new" {
		t.Errorf("got %d messages, want the one that has not expired", len(got))
	}
	if n := f.count(q); n != 1 {
		t.Errorf("count %d, want 1", n)
	}
}

func TestMessageAnswersReadAsAzures(t *testing.T) {
	f := newFixture(t)
	f.queue("wire")
	const when = `[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`
	const id = `[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`
	const head = `^<\?xml version="1\.0" encoding="utf-8"\?><QueueMessagesList>`
	const begin = `<QueueMessage><MessageId>` + id + `</MessageId><InsertionTime>` + when +
		`</InsertionTime><ExpirationTime>` + when + `</ExpirationTime>`
	const lease = `<PopReceipt>[A-Za-z0-9+/=]+</PopReceipt><TimeNextVisible>` + when + `</TimeNextVisible>`
	const rest = `<DequeueCount>\d</DequeueCount><MessageText>a &lt;b&gt;</MessageText>`
	const end = `</QueueMessage></QueueMessagesList>$`
	for _, c := range []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"POST", "/wire/messages?messagettl=60", "\uFEFF<?xml version='1.0' encoding='utf-8'?>\n" +
			"<QueueMessage>\n <MessageText>a &lt;b&gt;</MessageText>\n</QueueMessage>", 201, head + begin + lease + end},
		{"GET", "/wire/messages?peekonly=true", "", 200, head + begin + rest + end},
		{"GET", "/wire/messages", "", 200, head + begin + lease + rest + end},
		{"GET", "/wire/messages", "", 200, head + `</QueueMessagesList>$`},
	} {
		r := f.Do(c.method, c.target, c.body)
		r.Want(t, c.status, "")
		if !regexp.MustCompile(c.want).MatchString(r.Body) || r.Header.Get("Content-Type") != "application/xml" {
			t.Errorf("%s %s: %s %s\nwant %s", c.method, c.target, r.Header.Get("Content-Type"), r.Body, c.want)
		}
	}
}

func TestUpdateWithoutTextKeepsIt(t *testing.T) {
	f := newFixture(t)
	q := f.queue("keep")
	sent := f.put(q, "kept")
	sas := sas("keep", "u", "")
	sas.Set("popreceipt", *sent.PopReceipt)
	sas.Set("visibilitytimeout", "0")
	r := f.bySAS("PUT", "/keep/messages/"+*sent.MessageID, "", sas)
	r.Want(t, 204, "")
	_, err := time.Parse(time.RFC1123, r.Header.Get("x-ms-time-next-visible"))
	if err != nil || r.Header.Get("x-ms-popreceipt") == "" {
		t.Errorf("headers %v", r.Header)
	}
	if got := f.get(q, 1, 30); *got[0].MessageText != "kept" {
		t.Errorf("text %q, want it kept", *got[0].MessageText)
	}
}

func TestRefusalsOfMessages(t *testing.T) {
	f := newFixture(t)
	q := f.queue("refuse")
	sent := f.put(q, "x")
	id := "/refuse/messages/" + *sent.MessageID
	receipt := strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(*sent.PopReceipt)
	const text = textBody
	for _, c := range []struct {
		method, target, body string
		status               int
		code                 string
	}{
		{"GET", "/refuse/messages?numofmessages=0", "", 400, "OutOfRangeQueryParameterValue"},
		{"GET", "/refuse/messages?numofmessages=33", "", 400, "OutOfRangeQueryParameterValue"},
		{"GET", "/refuse/messages?numofmessages=many", "", 400, "InvalidQueryParameterValue"},
		{"GET", "/refuse/messages?visibilitytimeout=0", "", 400, "OutOfRangeQueryParameterValue"},
		{"GET", "/refuse/messages?visibilitytimeout=604801", "", 400, "OutOfRangeQueryParameterValue"},
		{"GET", "/refuse/messages?peekonly=maybe", "", 400, "InvalidQueryParameterValue"},
		{"GET", "/nobody/messages", "", 404, "QueueNotFound"},
		{"GET", "/Refuse/messages", "", 400, "InvalidResourceName"},
		{"POST", "/nobody/messages", text, 404, "QueueNotFound"},
		{"POST", "/refuse/messages?visibilitytimeout=-1", text, 400, "OutOfRangeQueryParameterValue"},
		{"POST", "/refuse/messages?messagettl=0", text, 400, "InvalidQueryParameterValue"},
		{"POST", "/refuse/messages?messagettl=-2", text, 400, "InvalidQueryParameterValue"},
		{"POST", "/refuse/messages?messagettl=1&visibilitytimeout=2", text, 400, "InvalidQueryParameterValue"},
		{"PUT", id + "?visibilitytimeout=0", "", 400, "MissingRequiredQueryParameter"},
		{"PUT", id + "?popreceipt=" + receipt, "", 400, "MissingRequiredQueryParameter"},
		{"PUT", id + "?visibilitytimeout=604801&popreceipt=" + receipt, "", 400, "OutOfRangeQueryParameterValue"},
		{"PUT", id + "?visibilitytimeout=604800&popreceipt=" + receipt, "", 400, "OutOfRangeQueryParameterValue"}, // too late
		{"DELETE", id, "", 400, "MissingRequiredQueryParameter"},
		{"DELETE", id + "?popreceipt=not+base64", "", 400, "InvalidQueryParameterValue"},
		{"DELETE", id + "?popreceipt=AAAA", "", 400, "PopReceiptMismatch"},
		{"DELETE", "/refuse/messages/nothing?popreceipt=" + receipt, "", 404, "MessageNotFound"},
		{"DELETE", "/nobody/messages/" + *sent.MessageID + "?popreceipt=" + receipt, "", 404, "QueueNotFound"},
		{"DELETE", id + "/x?popreceipt=" + receipt, "", 400, "InvalidUri"},
		{"GET", "/refuse/letters", "", 400, "InvalidUri"},
		{"GET", id, "", 405, "UnsupportedHttpVerb"},
		{"PATCH", "/refuse/messages", "", 405, "UnsupportedHttpVerb"},
		{"GET", "/refuse/messages?comp=odd", "", 501, "NotImplemented"},
	} {
		f.Do(c.method, c.target, c.body).Want(t, c.status, c.code).WantBody(t, "<Error><Code>"+c.code+"</Code>")
	}
	for _, body := range []string{"", "<QueueMessage/>", "<QueueMessage><MessageText>", text + text,
		"<QueueMessage><MessageText>\x01</MessageText></QueueMessage>",
		"<QueueMessage><MessageText>&#x1;</MessageText></QueueMessage>",
		"<!DOCTYPE q [<!ENTITY a 'b'>]><QueueMessage><MessageText>&a;</MessageText></QueueMessage>",
		"<QueueMessage><MessageText><b/></MessageText></QueueMessage>"} {
		f.Do("POST", "/refuse/messages", body).Want(t, 400, "InvalidXmlDocument")
	}
	if got := f.get(q, 32, 30); len(got) != 1 {
		t.Errorf("%d messages, want only the first", len(got))
	}
}

// A refused operation changes neither messages nor the count.
func TestRefusedTurnLeavesNothing(t *testing.T) {
	f := newFixture(t)
	q := f.queue("undone")
	refused := errors.New("refused")
	err := f.service.inTransaction("undone", func(u *transaction) error {
		u.add(u.now.ns, never, []byte("ghost"))
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if got := f.get(q, 32, 30); len(got) != 0 || f.count(q) != 0 {
		t.Errorf("%d messages, count %d, want none", len(got), f.count(q))
	}
}
