package azuretest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

func put(t *testing.T, q *azqueue.QueueClient, text string, o *azqueue.EnqueueMessageOptions) *azqueue.EnqueuedMessage {
	t.Helper()
	resp := value(q.EnqueueMessage(t.Context(), text, o))(t)
	return resp.Messages[0]
}

// get gets one message for a number of seconds, or nil if none is visible.
func get(t *testing.T, q *azqueue.QueueClient, seconds int32) *azqueue.DequeuedMessage {
	t.Helper()
	resp := value(q.DequeueMessage(t.Context(), &azqueue.DequeueMessageOptions{VisibilityTimeout: &seconds}))(t)
	if len(resp.Messages) == 0 {
		return nil
	}
	return resp.Messages[0]
}

// short is a short time for a message in seconds. A server whose clock is advanced may be as
// slow as that between two requests.
func (a Account) short() int32 {
	if a.Clock == nil {
		return 1
	}
	return 30
}

// letPass lets so many short times pass.
func (a Account) letPass(n float64) {
	passes := time.Duration(n * float64(a.short()) * float64(time.Second))
	if a.Clock == nil {
		time.Sleep(passes)
		return
	}
	a.Clock.Advance(passes)
}

// getSoon waits for a message that is about to become visible, and gets it for an hour.
func getSoon(t *testing.T, a Account, q *azqueue.QueueClient) *azqueue.DequeuedMessage {
	t.Helper()
	for range 100 {
		if m := get(t, q, 3600); m != nil {
			return m
		}
		a.letPass(.1)
	}
	t.Fatal("no message within ten times its time")
	return nil
}

// A put returns an ID and a receipt, with which the message can be deleted.
func (queues) PutCanBeUndone(t *testing.T, a Account) {
	q := a.NewQueue(t)
	m := put(t, q, "x", nil)
	expect(t, a, "life", m.ExpirationTime.Sub(*m.InsertionTime), 7*24*time.Hour)
	expect(t, a, "delete", outcome(q.DeleteMessage(t.Context(), *m.MessageID, *m.PopReceipt, nil)), "ok")
	expect(t, a, "nothing left", get(t, q, 1) == nil, true)
}

// A time to live of -1 means forever, which is reported as the end of the year 9999.
func (queues) MessagesNeedNotExpire(t *testing.T, a Account) {
	q := a.NewQueue(t)
	m := put(t, q, "x", &azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr[int32](-1)})
	expect(t, a, "year of expiry", m.ExpirationTime.Year(), 9999)
	got := get(t, q, 1)
	expect(t, a, "text", *got.MessageText, "x")
	expect(t, a, "year of expiry", got.ExpirationTime.Year(), 9999)
}

// A message that is not deleted in its time to live expires.
func (waits) MessageExpires(t *testing.T, a Account) {
	q := a.NewQueue(t)
	put(t, q, "short", &azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr(a.short())})
	put(t, q, "long", &azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr(60 * a.short())})
	a.letPass(2.2)
	expect(t, a, "message", *get(t, q, 60).MessageText, "long")
	expect(t, a, "no other", get(t, q, 60) == nil, true)
}

// A message that is put with a delay is invisible until then.
func (waits) DelayedMessageComesLater(t *testing.T, a Account) {
	q := a.NewQueue(t)
	put(t, q, "x", &azqueue.EnqueueMessageOptions{VisibilityTimeout: to.Ptr(2 * a.short())})
	expect(t, a, "at once", get(t, q, 1) == nil, true)
	a.letPass(.7)
	expect(t, a, "too early", get(t, q, 1) == nil, true)
	expect(t, a, "later", *getSoon(t, a, q).MessageText, "x")
}

// Workers that get messages at once get every message, and none of them twice while it is
// held. (The order is about that of the puts, and not promised.)
func (queues) EveryMessageIsDeliveredOnce(t *testing.T, a Account) {
	q := a.NewQueue(t)
	for i := range 40 {
		put(t, q, fmt.Sprintf("%02d", i), nil)
	}
	var mu sync.Mutex
	var got []string
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for more := true; more; {
				resp, err := q.DequeueMessages(t.Context(), &azqueue.DequeueMessagesOptions{
					NumberOfMessages: to.Ptr[int32](3), VisibilityTimeout: to.Ptr[int32](60)})
				if more = err == nil && len(resp.Messages) > 0; err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, m := range resp.Messages {
					got = append(got, *m.MessageText)
					expect(t, a, "times delivered", *m.DequeueCount, int64(1))
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	slices.Sort(got)
	expect(t, a, "messages", len(got), 40)
	expect(t, a, "different ones", len(slices.Compact(got)), 40)
}

// One get or peek returns 1 to 32 messages, one by default.
func (queues) GetReturnsUpTo32(t *testing.T, a Account) {
	q := a.NewQueue(t)
	for range 3 {
		put(t, q, "x", nil)
	}
	resp := value(q.DequeueMessages(t.Context(), nil))(t)
	expect(t, a, "by default", len(resp.Messages), 1)
	const refused = "400 OutOfRangeQueryParameterValue"
	for n, onAzurite := range map[int32]string{33: refused, 0: "400", -1: "400"} {
		codeless := differs(Azurite, onAzurite, "sends no code for numbers below one")
		got := outcome(q.DequeueMessages(t.Context(), &azqueue.DequeueMessagesOptions{NumberOfMessages: &n}))
		expect(t, a, fmt.Sprint("get ", n), got, refused, codeless)
		got = outcome(q.PeekMessages(t.Context(), &azqueue.PeekMessagesOptions{NumberOfMessages: &n}))
		expect(t, a, fmt.Sprint("peek ", n), got, refused, codeless)
	}
	for _, seconds := range []int32{0, 7*24*3600 + 1} {
		got := outcome(q.DequeueMessages(t.Context(), &azqueue.DequeueMessagesOptions{VisibilityTimeout: &seconds}))
		expect(t, a, fmt.Sprint("get for ", seconds, " s"), got, refused)
	}
}

// A peek sees visible messages only, and neither hides nor counts.
func (queues) PeekChangesNothing(t *testing.T, a Account) {
	q := a.NewQueue(t)
	put(t, q, "held", nil)
	get(t, q, 60)
	put(t, q, "seen", nil)
	for range 3 {
		resp := value(q.PeekMessages(t.Context(), &azqueue.PeekMessagesOptions{NumberOfMessages: to.Ptr[int32](32)}))(t)
		expect(t, a, "messages", len(resp.Messages), 1)
		expect(t, a, "text", *resp.Messages[0].MessageText, "seen")
		expect(t, a, "times delivered", *resp.Messages[0].DequeueCount, int64(0))
	}
	expect(t, a, "times delivered", *get(t, q, 1).DequeueCount, int64(1))
}

// Text comes back unchanged, although XML escapes it. The Go SDK adds no base64.
func (queues) TextIsUnchanged(t *testing.T, a Account) {
	q := a.NewQueue(t)
	for _, text := range []string{"x", `{"kind":"device","n":[1,2]}`, `<a href="x">&amp;'</a>`, "grüße 日本語 😀",
		" spaces ", "line\nline\ttab", "]]>", "%41+%20"} {
		put(t, q, text, nil)
		m := get(t, q, 60)
		expect(t, a, "get "+text, *m.MessageText, text)
		must(t, errOf(q.DeleteMessage(t.Context(), *m.MessageID, *m.PopReceipt, nil)))
	}
}

// A message is at most 64 KiB of text.
func (queues) MessageIsAtMost64KiB(t *testing.T, a Account) {
	q := a.NewQueue(t)
	most := strings.Repeat("x", 64<<10)
	put(t, q, most, nil)
	m := get(t, q, 60)
	expect(t, a, "whole", *m.MessageText == most, true)
	_, err := q.EnqueueMessage(t.Context(), most+"x", nil)
	expect(t, a, "one more is refused", status(err) == 400 || status(err) == 413, true)
	_, err = q.UpdateMessage(t.Context(), *m.MessageID, *m.PopReceipt, most+"x",
		&azqueue.UpdateMessageOptions{VisibilityTimeout: to.Ptr[int32](1)})
	expect(t, a, "one more is refused in an update", status(err) == 400 || status(err) == 413, true)
}

// Clear deletes held and delayed messages, too.
func (waits) ClearRemovesAll(t *testing.T, a Account) {
	q := a.NewQueue(t)
	put(t, q, "held", nil)
	m := get(t, q, a.short())
	put(t, q, "visible", nil)
	put(t, q, "delayed", &azqueue.EnqueueMessageOptions{VisibilityTimeout: to.Ptr(a.short())})
	must(t, errOf(q.ClearMessages(t.Context(), nil)))
	deleted := outcome(q.DeleteMessage(t.Context(), *m.MessageID, *m.PopReceipt, nil))
	expect(t, a, "delete of the held message", deleted, "404 MessageNotFound")
	a.letPass(1.5)
	expect(t, a, "nothing left", get(t, q, 1) == nil, true)
}
