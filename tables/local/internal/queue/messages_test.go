package queue

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
)

func ptr[T any](v T) *T { return &v }

func TestTextComesBackExactly(t *testing.T) {
	f := newFixture(t)
	q := f.queue("texts")
	texts := []string{"", " ", "\n", "  lead and trail \n\t", `<a b="c">&amp;'</a>`, "]]>", "é漢🎉\u0085\u2028\uFFFD",
		"a\rb\r\n",
		strings.Repeat("x", maxText), strings.Repeat("&", maxText), strings.Repeat("漢", maxText/3)}
	for _, text := range texts {
		sent := f.put(q, text)
		peeked, err := q.PeekMessage(f.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := f.get(q, 1, 30)[0]
		if *got.MessageText != text || *peeked.Messages[0].MessageText != text {
			t.Errorf("%.40q came back as %.40q, %.40q", text, *got.MessageText, *peeked.Messages[0].MessageText)
		}
		if *got.MessageID != *sent.MessageID {
			t.Errorf("put as %s, got as %s", *sent.MessageID, *got.MessageID)
		}
		if _, err := q.DeleteMessage(f.Context(), *got.MessageID, *got.PopReceipt, nil); err != nil {
			t.Error(err)
		}
	}
	_, err := q.EnqueueMessage(f.Context(), strings.Repeat("x", maxText+1), nil)
	f.wantCode(err, queueerror.RequestBodyTooLarge)
	_, err = q.EnqueueMessage(f.Context(), strings.Repeat("&", 2*maxText), nil)
	f.wantCode(err, queueerror.RequestBodyTooLarge)
}

func TestStaleReceiptCannotDelete(t *testing.T) {
	f := newFixture(t)
	q := f.queue("stale")
	first := f.put(q, "work")
	taken := f.get(q, 1, 30)[0]
	updated, err := q.UpdateMessage(f.Context(), *taken.MessageID, *taken.PopReceipt, "work",
		&azqueue.UpdateMessageOptions{VisibilityTimeout: ptr[int32](30)})
	if err != nil {
		t.Fatal(err)
	}
	f.step(31 * time.Second)
	again := f.get(q, 1, 30)[0]
	if *again.DequeueCount != 2 {
		t.Errorf("given out %d times, want 2", *again.DequeueCount)
	}
	for _, stale := range []*string{first.PopReceipt, taken.PopReceipt, updated.PopReceipt} {
		_, err := q.DeleteMessage(f.Context(), *taken.MessageID, *stale, nil)
		f.wantCode(err, queueerror.PopReceiptMismatch)
		_, err = q.UpdateMessage(f.Context(), *taken.MessageID, *stale, "stolen",
			&azqueue.UpdateMessageOptions{VisibilityTimeout: ptr[int32](0)})
		f.wantCode(err, queueerror.PopReceiptMismatch)
	}
	if _, err := q.DeleteMessage(f.Context(), *again.MessageID, *again.PopReceipt, nil); err != nil {
		t.Error(err)
	}
	_, err = q.DeleteMessage(f.Context(), *again.MessageID, *again.PopReceipt, nil)
	f.wantCode(err, queueerror.MessageNotFound)
}

// A lease that ran out is still its holder's until another takes the message.
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

func TestPutReceiptIsGood(t *testing.T) {
	f := newFixture(t)
	q := f.queue("putreceipt")
	sent := f.put(q, "work")
	u, err := q.UpdateMessage(f.Context(), *sent.MessageID, *sent.PopReceipt, "changed",
		&azqueue.UpdateMessageOptions{VisibilityTimeout: ptr[int32](60)})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.get(q, 1, 30); len(got) != 0 {
		t.Errorf("an invisible message was given: %s", *got[0].MessageText)
	}
	if n := f.count(q); n != 1 {
		t.Errorf("count %d, want 1: invisible messages count", n)
	}
	if _, err := q.UpdateMessage(f.Context(), *sent.MessageID, *u.PopReceipt, "changed", nil); err != nil {
		t.Fatal(err)
	}
	if got := f.get(q, 1, 30); len(got) != 1 || *got[0].MessageText != "changed" || *got[0].DequeueCount != 1 {
		t.Errorf("got %v, want the changed message, given out once", got)
	}
}

func TestConcurrentGetsNeverShareAMessage(t *testing.T) {
	f := newFixture(t)
	q := f.queue("shared")
	const messages, workers = 300, 16
	for i := range messages {
		f.put(q, fmt.Sprint(i))
	}
	var mu sync.Mutex
	seen := map[string]int{}
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for {
				resp, err := q.DequeueMessages(t.Context(),
					&azqueue.DequeueMessagesOptions{NumberOfMessages: ptr(int32(1 + i%4))})
				if err != nil {
					t.Error(err)
					return
				}
				if len(resp.Messages) == 0 {
					return
				}
				mu.Lock()
				for _, m := range resp.Messages {
					seen[*m.MessageText]++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	for i := range messages {
		if n := seen[fmt.Sprint(i)]; n != 1 {
			t.Errorf("message %d was given %d times, want 1", i, n)
		}
	}
}

func TestExpiredMessageIsNeverGiven(t *testing.T) {
	f := newFixture(t)
	q := f.queue("expired")
	put := func(text string, life int32) *azqueue.EnqueuedMessage {
		resp, err := q.EnqueueMessage(t.Context(), text, &azqueue.EnqueueMessageOptions{TimeToLive: &life})
		if err != nil {
			t.Fatal(err)
		}
		return resp.Messages[0]
	}
	short, held := put("short", 10), put("held", 10)
	if got := f.get(q, 1, 60); *got[0].MessageID != *short.MessageID {
		t.Fatal("the first message is not the first")
	}
	ever := put("ever", -1)
	if got := ever.ExpirationTime.UTC().Format(time.DateTime); got != "9999-12-31 23:59:59" {
		t.Errorf("never expires at %s", got)
	}
	f.step(11 * time.Second)
	_, err := q.DeleteMessage(t.Context(), *held.MessageID, *held.PopReceipt, nil)
	f.wantCode(err, queueerror.MessageNotFound)
	peeked, err := q.PeekMessages(t.Context(), &azqueue.PeekMessagesOptions{NumberOfMessages: ptr[int32](32)})
	if err != nil || len(peeked.Messages) != 1 || *peeked.Messages[0].MessageText != "ever" {
		t.Errorf("peeked at %d messages (%v), want the one that does not expire", len(peeked.Messages), err)
	}
	f.step(100 * 365 * 24 * time.Hour / 2)
	got := f.get(q, 32, 30)
	if len(got) != 1 || *got[0].MessageText != "ever" {
		t.Errorf("%d messages were given, want the one that does not expire", len(got))
	}
	if n := f.count(q); n != 1 {
		t.Errorf("count %d, want 1: the others were come upon", n)
	}
}

// A get does not stop at the bound of what one turn removes.
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
		if err != nil {
			t.Fatal(err)
		}
	}
	f.put(q, "new")
	f.step(2 * time.Second)
	if got := f.get(q, 2, 30); len(got) != 1 || *got[0].MessageText != "new" {
		t.Errorf("got %d messages, want the one that is alive", len(got))
	}
	if n := f.count(q); n != 1 {
		t.Errorf("count %d, want 1", n)
	}
}

func TestMessageAnswersReadAsAzures(t *testing.T) {
	f := newFixture(t)
	f.queue("wire")
	const when, id = `[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`,
		`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`
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
		{"POST", "/wire/messages?messagettl=60",
			"\uFEFF<?xml version='1.0' encoding='utf-8'?>\n<QueueMessage>\n <MessageText>a " +
				"&lt;b&gt;</MessageText>\n</QueueMessage>", 201, head + begin + lease +
				end},
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
	if _, err := time.Parse(time.RFC1123,
		r.Header.Get("x-ms-time-next-visible")); err != nil || r.Header.Get("x-ms-popreceipt") == "" {
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
	const text = "<QueueMessage><MessageText>x</MessageText></QueueMessage>"
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
		{"POST", "/refuse/messages", "", 400, "InvalidXmlDocument"},
		{"POST", "/refuse/messages", "<QueueMessage/>", 400, "InvalidXmlDocument"},
		{"POST", "/refuse/messages", "<QueueMessage><MessageText>", 400, "InvalidXmlDocument"},
		{"POST", "/refuse/messages", "<QueueMessage><MessageText>\x01</MessageText></QueueMessage>", 400,
			"InvalidXmlDocument"},
		{"POST", "/refuse/messages", "<QueueMessage><MessageText>&#x1;</MessageText></QueueMessage>", 400,
			"InvalidXmlDocument"},
		{"POST", "/refuse/messages",
			"<!DOCTYPE q [<!ENTITY a 'b'>]><QueueMessage><MessageText>&a;</MessageText></QueueMessage>", 400, "InvalidXmlDocument"},
		{"POST", "/refuse/messages", text + text, 400, "InvalidXmlDocument"},
		{"POST", "/refuse/messages", "<QueueMessage><MessageText><b/></MessageText></QueueMessage>", 400,
			"InvalidXmlDocument"},
		{"PUT", id + "?visibilitytimeout=0", "", 400, "MissingRequiredQueryParameter"},
		{"PUT", id + "?popreceipt=" + receipt, "", 400, "MissingRequiredQueryParameter"},
		{"PUT", id + "?visibilitytimeout=604801&popreceipt=" + receipt, "", 400, "OutOfRangeQueryParameterValue"},
		{"PUT", id + "?visibilitytimeout=604800&popreceipt=" + receipt, "", 400,
			"OutOfRangeQueryParameterValue"}, // after it expired
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
		r := f.Do(c.method, c.target, c.body)
		r.Want(t, c.status, c.code)
		if !strings.Contains(r.Body, "<Error><Code>"+c.code+"</Code>") {
			t.Errorf("%s %s: body %s", c.method, c.target, r.Body)
		}
	}
	if got := f.get(q, 32, 30); len(got) != 1 {
		t.Errorf("%d messages, want the first alone", len(got))
	}
}

// A refused operation changes nothing: not the count, not the order.
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
