package worker

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

func TestMessagesArriveUnchangedAndNeverExpire(t *testing.T) {
	t.Parallel()
	a, n := azuretest.FromEnv(t), names(t)
	q := newQueue(t, a, n, Config{})
	if err := q.Create(t.Context()); err != nil {
		t.Errorf("creating again: %v", err)
	}
	put(t, q, "contoso:us-5260:Giles-7163712301905")
	peeked, err := a.Queues(t).NewQueueClient(n.Jobs("live")).PeekMessage(t.Context(), nil)
	if err != nil || peeked.Messages[0].ExpirationTime.Year() != 9999 {
		t.Errorf("%+v, %v", peeked, err)
	}
	l := get(t, q, time.Minute)
	want := batch("contoso:us-5260:Giles-7163712301905")
	want.Format = 1
	if m, err := jobs.Decode(l.Text()); err != nil || !reflect.DeepEqual(m, want) || l.Taken != 1 || l.ID == "" {
		t.Errorf("%+v, %v", m, err)
	}
	if left := time.Until(l.Until()); left < 50*time.Second || left > time.Minute {
		t.Errorf("the lease lasts %v", left)
	}
	if got, err := q.Get(t.Context(), 5, time.Minute); err != nil || len(got) != 0 || depth(t, q) != 1 {
		t.Errorf("while it is held: %d, %v", len(got), err)
	}
	if err := l.Delete(t.Context()); err != nil || depth(t, q) != 0 {
		t.Errorf("delete: %v", err)
	}
	if err := q.Put(t.Context(), jobs.Message{Kind: jobs.Master}, 0); err == nil {
		t.Error("an unreadable message was put")
	}
	if err := q.Put(t.Context(), batch("later"), time.Hour); err != nil || depth(t, q) != 1 {
		t.Error(err)
	}
	if got, err := q.Get(t.Context(), 5, time.Minute); err != nil || len(got) != 0 {
		t.Errorf("what was delayed is got: %v, %v", got, err)
	}
}

func TestHistoryHasAQueueOfItsOwn(t *testing.T) {
	t.Parallel()
	q := newQueue(t, azuretest.FromEnv(t), names(t), Config{})
	audit, chain := batch("d1"), batch("d2")
	audit.Kind, audit.Audit, chain.Mark = jobs.Audit, refold.Full, "a mark"
	var want []string
	for _, m := range []jobs.Message{audit, chain} {
		must.Succeed(t, q.Put(t.Context(), m, 0))
		text := must.Have(m.Encode())(t)
		must.Succeed(t, q.Poison(t.Context(), Poisoned{Text: text, Cause: "x", At: time.Now()}))
		want = append(want, text, text) // put, and redriven
	}
	select {
	case <-q.fresh[catchup]:
	default:
		t.Error("nobody is told that there is catch-up work")
	}
	if n, err := q.Redrive(t.Context(), nil); err != nil || n != 2 {
		t.Errorf("%d redriven, %v", n, err)
	}
	if live, err := q.Depth(t.Context()); err != nil || live != 0 {
		t.Errorf("%d live messages, %v", live, err)
	}
	if n, err := q.CatchupDepth(t.Context()); err != nil || n != 4 {
		t.Errorf("%d catch-up messages, %v", n, err)
	}
	leases := must.Have(q.GetCatchup(t.Context(), 5, time.Minute))(t)
	var got []string
	for _, l := range leases {
		got = append(got, l.Text())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDeletedQueuesAreGone(t *testing.T) {
	t.Parallel()
	q := newQueue(t, azuretest.FromEnv(t), names(t), Config{})
	put(t, q, "d1")
	for range 2 {
		if err := q.DeleteQueues(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := q.Depth(t.Context()); !errors.Is(err, ErrNoQueue) {
		t.Errorf("afterwards its depth is known: %v", err)
	}
}

func TestALeaseKnowsItsNewestReceipt(t *testing.T) {
	t.Parallel()
	q := newQueue(t, azuretest.FromEnv(t), names(t), Config{})
	put(t, q, "d1")
	l := get(t, q, time.Minute)
	for range 3 {
		must.Succeed(t, l.Renew(t.Context(), time.Minute))
	}
	must.Succeed(t, l.Save(t.Context(), "progress <&>\"", time.Minute))
	if got, err := q.Get(t.Context(), 1, time.Minute); err != nil || len(got) != 0 {
		t.Fatalf("a renewed message is visible: %v", err)
	}
	must.Succeed(t, l.GiveBack(t.Context(), l.Text(), 0))
	second := get(t, q, time.Minute)
	if second.Text() != "progress <&>\"" || second.Taken != 2 {
		t.Errorf("%q, got %d times", second.Text(), second.Taken)
	}
	for what, err := range map[string]error{
		"renew": l.Renew(t.Context(), time.Minute), "save": l.Save(t.Context(), "mine", time.Minute),
		"give back": l.GiveBack(t.Context(), "mine", 0), "delete": l.Delete(t.Context()),
	} {
		if !errors.Is(err, ErrLeaseLost) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s under a lost lease: %v", what, err)
		}
	}
	if err := second.Delete(t.Context()); err != nil {
		t.Error(err)
	}
	if err := second.Delete(t.Context()); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("a second delete: %v", err)
	}
}

func TestUpdatesAndDeletesAreNotRetriedByTheSDK(t *testing.T) {
	t.Parallel()
	a := azuretest.FromEnv(t)
	every := faults.Random{Rates: map[faults.Fault]float64{faults.ServerBusy: 1}}
	transport := &faults.Transport{Plan: every, Only: ofMessages}
	var counts service.Counts[OperationKind]
	q := newQueue(t, a, names(t), Config{Transport: transport,
		OnOperation: func(_ context.Context, o Operation) { counts.Add(o.Kind) }})
	put(t, q, "d1")
	l := get(t, q, time.Minute)
	if err := l.Renew(t.Context(), time.Minute); !errors.Is(err, tables.ErrBusy) {
		t.Errorf("renew: %v", err)
	}
	if n := len(transport.Injected()); n != 1 {
		t.Errorf("a renewal was sent %d times", n)
	}
	if err := l.Delete(t.Context()); !errors.Is(err, tables.ErrBusy) {
		t.Errorf("delete: %v", err)
	}
	want := map[OperationKind]int64{OpCreate: 3, OpPut: 1, OpGet: 1, OpUpdate: 1, OpDelete: 4}
	if got := counts.Map(); !maps.Equal(got, want) {
		t.Errorf("operations %v, want %v", got, want)
	}
}

func TestALostAnswerAtTheEndOfALeaseDoesNoHarm(t *testing.T) {
	t.Parallel()
	a := azuretest.FromEnv(t)
	for _, fault := range []faults.Fault{faults.AnswerLost, faults.Twice, faults.TimedOut, faults.TimedOutDone,
		faults.ServerBusy} {
		transport := &faults.Transport{Plan: faults.Script{0: fault, 1: fault}, Only: ofMessages}
		q := newQueue(t, a, names(t), Config{Transport: transport})
		put(t, q, "d1")
		// Of a request that is done twice, the second answer is a thief's.
		if err := get(t, q, time.Minute).Delete(t.Context()); err != nil && !(fault == faults.Twice &&
			errors.Is(err, ErrLeaseLost)) {
			t.Errorf("delete, %s: %v", fault, err)
		}
		if n := depth(t, q); n != 0 {
			t.Errorf("%s: %d messages after the delete", fault, n)
		}
	}
}

func TestErrorsNameTheQueueAndNoSecret(t *testing.T) {
	t.Parallel()
	a, n := azuretest.FromEnv(t), names(t)
	q := connect(t, a, Config{}).Queue(n, "live")
	_, err := q.Get(t.Context(), 1, time.Minute)
	if !errors.Is(err, ErrNoQueue) || !strings.HasPrefix(err.Error(),
		"get: queue "+n.Jobs("live")+": no such queue (QueueNotFound, 404, request ") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("a missing queue: %v", err)
	}
	nobody := account(t, a)
	nobody.Queue, nobody.Key, nobody.SAS = "http://127.0.0.1:1/"+nobody.Name, "", "sv=2024-08-04&sig=secret"
	client := must.Have(Connect(Config{Account: nobody, Retry: policy.RetryOptions{MaxRetries: -1}}))(t)
	err = client.Queue(n, "live").Put(t.Context(), batch("d1"), 0)
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "/messages: dial tcp") {
		t.Errorf("nobody answers: %v", err)
	}
	for want, account := range map[string]tables.Account{
		"has no Queue endpoint": {Name: "a", Key: "a2V5", Table: "https://a.table.core.windows.net"},
		"not in base64":         {Name: "a", Key: "!", Queue: "https://a.queue.core.windows.net"},
	} {
		if _, err := Connect(Config{Account: account}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Connect: %v, want %q", err, want)
		}
	}
}

func TestASASOpensAQueue(t *testing.T) {
	t.Parallel()
	a, n := azuretest.FromEnv(t), names(t)
	owner := newQueue(t, a, n, Config{})
	put(t, owner, "d1")
	token := queueSAS(t, a, n.Jobs("live"))
	account := account(t, a)
	account.Key, account.SAS = "", token
	client := must.Have(Connect(Config{Account: account}))(t)
	l := get(t, client.Queue(n, "live"), time.Minute)
	if err := l.Renew(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	must.Succeed(t, l.Delete(t.Context()))
}

func TestPoisonKeepsItsCauseAndCanBeRedriven(t *testing.T) {
	t.Parallel()
	a, n := azuretest.FromEnv(t), names(t)
	q := newQueue(t, a, n, Config{})
	at := time.Date(2026, 11, 20, 9, 17, 0, 123e6, time.UTC)
	long := strings.Repeat("long-", 18)
	tired := batch(schema.DeviceID(long + "1000"))
	for i := range jobs.MaxBatch { // more than 8 KiB
		tired.Last = batch(schema.DeviceID(long + strconv.Itoa(1000+i))).First
		tired.Only = append(tired.Only, tired.Last)
	}
	again := tired
	tired.Attempts = 4
	text := must.Have(tired.Encode())(t)
	all := []Poisoned{
		{Text: text, Cause: "broken \x00\x1b\xff\ufffe<&>", At: at, Attempts: 5, Worker: "w1"},
		{Text: "hello", Cause: "unreadable", At: at},
		{Text: strings.Repeat("\"\x01", 32<<10), Cause: strings.Repeat("\x02", 9000), At: at},
	}
	for _, p := range all {
		must.Succeed(t, q.Poison(t.Context(), p))
	}
	stranger := a.Queues(t).NewQueueClient(n.Poison("live"))
	must.Have(stranger.EnqueueMessage(t.Context(), "by hand", nil))(t)
	found, err := q.Poisoned(t.Context())
	if err != nil || len(found) != 4 {
		t.Fatalf("%d poisoned, %v", len(found), err)
	}
	for _, p := range found {
		switch {
		case p.Text == text && p.Cause == "broken \ufffd\ufffd\ufffd\ufffd<&>" && p.At.Equal(at) && p.Attempts == 5 &&
			p.Worker == "w1":
		case p.Text == "hello" && p.Cause == "unreadable" && p.Cut == 0:
		case p.Cut == 64<<10 && len(p.Text) > 1000 && len(p.Cause) > 1000:
		case p.Text == "by hand" && strings.HasPrefix(p.Cause, "unknown"):
		default:
			t.Errorf("poisoned %.200s, cut %d, for %.100q at %v, %d attempts", p.Text, p.Cut, p.Cause, p.At, p.Attempts)
		}
	}

	redriven, err := q.Redrive(t.Context(), func(p Poisoned) bool { return p.Text != "by hand" })
	if err != nil || redriven != 2 || depth(t, q) != 2 {
		t.Errorf("redriven %d, %v; %d in the queue", redriven, err, depth(t, q))
	}
	got, err := q.Get(t.Context(), 10, time.Minute)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	fresh := must.Have(again.Encode())(t)
	texts := []string{got[0].Text(), got[1].Text()}
	if slices.Sort(texts); !slices.Equal(texts, []string{"hello", fresh}) {
		t.Errorf("redriven %q", texts)
	}
	left, err := q.Poisoned(t.Context())
	if err != nil || len(left) != 2 {
		t.Errorf("%d stay, %v; they must be visible again", len(left), err)
	}
	if n, err := q.Purge(t.Context()); err != nil || n != 2 {
		t.Errorf("purged %d, %v", n, err)
	}
	if n, err := q.PoisonDepth(t.Context()); err != nil || n != 0 {
		t.Errorf("%d after the purge, %v", n, err)
	}
}

func TestRedriveTakesManyAndEnds(t *testing.T) {
	t.Parallel()
	q := newQueue(t, azuretest.FromEnv(t), names(t), Config{})
	for range 70 {
		must.Succeed(t, q.Poison(t.Context(), Poisoned{Text: "x", Cause: "y", At: time.Now()}))
	}
	if n, err := q.Redrive(t.Context(), nil); err != nil || n != 70 || depth(t, q) != 70 {
		t.Errorf("redriven %d, %v; %d in the queue", n, err, depth(t, q))
	}
}
