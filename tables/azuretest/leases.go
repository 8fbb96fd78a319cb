package azuretest

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

func renew(t *testing.T, q *azqueue.QueueClient, id, receipt *string, text string,
	seconds int32) (azqueue.UpdateMessageResponse, error) {
	t.Helper()
	return q.UpdateMessage(t.Context(), *id, *receipt, text, &azqueue.UpdateMessageOptions{VisibilityTimeout: &seconds})
}

// wantLost expects the answer to a receipt that is no longer valid. Azure's
// documentation names two codes without saying when each is used. A worker treats
// both as a lost lease.
func wantLost(t *testing.T, a Account, what string, err error) {
	t.Helper()
	got := answer(err)
	if got == "400 PopReceiptMismatch" || got == "404 MessageNotFound" {
		got = "lost"
	}
	expect(t, a, what, got, "lost")
}

// A message whose lease has expired is delivered again, with a new receipt and a higher count.
func (waits) HeldMessageComesBack(t *testing.T, a Account) {
	q := a.NewQueue(t)
	put(t, q, "x", nil)
	first := get(t, q, a.short())
	expect(t, a, "while held", get(t, q, 1) == nil, true)
	second := getSoon(t, a, q)
	expect(t, a, "id", *second.MessageID, *first.MessageID)
	expect(t, a, "times delivered", *second.DequeueCount, int64(2))
	expect(t, a, "another receipt", *second.PopReceipt != *first.PopReceipt, true)
}

// An update extends the lease and replaces the text. It does not change the delivery
// count.
func (waits) UpdateRenewsTheLease(t *testing.T, a Account) {
	q := a.NewQueue(t)
	put(t, q, "start", nil)
	short := a.short()
	m := get(t, q, short)
	first := value(renew(t, q, m.MessageID, m.PopReceipt, "middle", 3*short))(t)
	second := value(renew(t, q, m.MessageID, first.PopReceipt, "end", 3*short))(t)
	off := second.TimeNextVisible.Sub(*second.Date) - time.Duration(3*short)*time.Second
	expect(t, a, "next visible in time", off.Abs() <= time.Duration(short)*time.Second, true)
	a.letPass(1.5)
	expect(t, a, "past its first time", get(t, q, 1) == nil, true)
	again := getSoon(t, a, q)
	expect(t, a, "text", *again.MessageText, "end")
	expect(t, a, "times delivered", *again.DequeueCount, int64(2))
}

// An update by the SDK without a visibility timeout makes the message visible at once,
// so renewals must always have one.
func (queues) UpdateWithoutATimeGivesBack(t *testing.T, a Account) {
	q := a.NewQueue(t)
	put(t, q, "x", nil)
	m := get(t, q, 600)
	must(t, errOf(q.UpdateMessage(t.Context(), *m.MessageID, *m.PopReceipt, "y", nil)))
	expect(t, a, "text", *get(t, q, 60).MessageText, "y")
}

// Each update invalidates the previous receipt, also for the worker that holds the
// message. So a repeated update looks like one by another worker.
func (queues) OldReceiptIsWorthless(t *testing.T, a Account) {
	q := a.NewQueue(t)
	put(t, q, "x", nil)
	m := get(t, q, 60)
	now := value(renew(t, q, m.MessageID, m.PopReceipt, "x", 60))(t)
	wantLost(t, a, "update by the old receipt", errOf(renew(t, q, m.MessageID, m.PopReceipt, "x", 60)))
	wantLost(t, a, "delete by the old receipt", errOf(q.DeleteMessage(t.Context(), *m.MessageID, *m.PopReceipt, nil)))
	deleted := outcome(q.DeleteMessage(t.Context(), *m.MessageID, *now.PopReceipt, nil))
	expect(t, a, "delete by the new one", deleted, "ok")
}

// Once another worker has the message, the first can neither renew nor delete it.
func (waits) TakenMessageIsLost(t *testing.T, a Account) {
	q := a.NewQueue(t)
	put(t, q, "x", nil)
	slow := get(t, q, a.short())
	quick := getSoon(t, a, q)
	wantLost(t, a, "update", errOf(renew(t, q, slow.MessageID, slow.PopReceipt, "x", 60)))
	wantLost(t, a, "delete", errOf(q.DeleteMessage(t.Context(), *slow.MessageID, *slow.PopReceipt, nil)))
	deleted := outcome(q.DeleteMessage(t.Context(), *quick.MessageID, *quick.PopReceipt, nil))
	expect(t, a, "delete by its holder", deleted, "ok")
}

// A deleted message is MessageNotFound, for a repeated delete too.
func (queues) FinishedMessageIsGone(t *testing.T, a Account) {
	q := a.NewQueue(t)
	put(t, q, "x", nil)
	m := get(t, q, 60)
	must(t, errOf(q.DeleteMessage(t.Context(), *m.MessageID, *m.PopReceipt, nil)))
	again := outcome(q.DeleteMessage(t.Context(), *m.MessageID, *m.PopReceipt, nil))
	expect(t, a, "delete again", again, "404 MessageNotFound")
	expect(t, a, "update", outcome(renew(t, q, m.MessageID, m.PopReceipt, "x", 60)), "404 MessageNotFound")
}

// A malformed receipt is refused and changes nothing.
func (queues) MalformedReceiptIsRefused(t *testing.T, a Account) {
	q := a.NewQueue(t)
	put(t, q, "x", nil)
	m := get(t, q, 60)
	expect(t, a, "delete", refusal(q.DeleteMessage(t.Context(), *m.MessageID, "not a receipt", nil)), 400)
	expect(t, a, "delete by the receipt", outcome(q.DeleteMessage(t.Context(), *m.MessageID, *m.PopReceipt, nil)), "ok")
}
