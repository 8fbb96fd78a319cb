package azuretest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// Creating a queue again is no error, unlike with tables and containers, unless
// its metadata would differ.
func (queues) QueueMayBeCreatedAgain(t *testing.T, a Account) {
	q := a.NewQueue(t)
	expect(t, a, "again", outcome(q.Create(t.Context(), nil)), "ok")
	o := &azqueue.CreateOptions{Metadata: map[string]*string{"other": to.Ptr("x")}}
	expect(t, a, "with other metadata", outcome(q.Create(t.Context(), o)), "409 QueueAlreadyExists")
}

// Operations on a missing queue answer QueueNotFound.
func (queues) MissingQueueSaysSo(t *testing.T, a Account) {
	q := a.Queues(t).NewQueueClient(Name("q"))
	expect(t, a, "put", outcome(q.EnqueueMessage(t.Context(), "x", nil)), "404 QueueNotFound")
	expect(t, a, "get", outcome(q.DequeueMessage(t.Context(), nil)), "404 QueueNotFound")
	expect(t, a, "properties", outcome(q.GetProperties(t.Context(), nil)), "404 QueueNotFound")
	expect(t, a, "delete", outcome(q.Delete(t.Context(), nil)), "404 QueueNotFound")
}

// Names have 3 to 63 lower-case letters, digits and single dashes.
func (queues) BadQueueNamesAreRefused(t *testing.T, a Account) {
	for _, name := range []string{"ab", "Upper", "with_line", "-dash", "dash-", "two--dashes", strings.Repeat("q", 64)} {
		expect(t, a, "create "+name, refusal(a.Queues(t).CreateQueue(t.Context(), name, nil)), 400)
	}
}

// Metadata is replaced as a whole. Names keep their case, which lists show; Go's HTTP client changes it in headers.
func (queues) QueueKeepsMetadata(t *testing.T, a Account) {
	q := a.NewQueue(t)
	for _, m := range []map[string]*string{{"one": to.Ptr("1"), "two": to.Ptr("2")}, {"two": to.Ptr("zwei")}} {
		must(t, errOf(q.SetMetadata(t.Context(), &azqueue.SetMetadataOptions{Metadata: m})))
	}
	p := value(q.GetProperties(t.Context(), nil))(t)
	expect(t, a, "metadata", lowered(p.Metadata), "two=zwei")
}

// lowered returns metadata as text, sorted, with its names in lower case.
func lowered(m map[string]*string) string {
	var s []string
	for k, v := range m {
		s = append(s, strings.ToLower(k)+"="+*v)
	}
	slices.Sort(s)
	return strings.Join(s, " ")
}

// The approximate count includes leased and delayed messages.
// (On Azure it may lag.)
func (queues) CountIncludesInvisibleMessages(t *testing.T, a Account) {
	q := a.NewQueue(t)
	for range 3 {
		put(t, q, "x", nil)
	}
	put(t, q, "later", &azqueue.EnqueueMessageOptions{VisibilityTimeout: to.Ptr[int32](600)})
	m := get(t, q, 60)
	count := func() int {
		p := value(q.GetProperties(t.Context(), nil))(t)
		return int(*p.ApproximateMessagesCount)
	}
	expect(t, a, "count", count(), 4)
	must(t, errOf(q.DeleteMessage(t.Context(), *m.MessageID, *m.PopReceipt, nil)))
	expect(t, a, "count after a delete", count(), 3)
}

// Queues are listed by name, with a prefix, page by page, and with metadata if asked for.
func (queues) QueuesAreListedByName(t *testing.T, a Account) {
	prefix := Name("list")
	for _, end := range []string{"-b", "-a", "-c"} {
		q := a.Queues(t).NewQueueClient(prefix + end)
		must(t, errOf(q.Create(t.Context(), &azqueue.CreateOptions{Metadata: map[string]*string{"end": to.Ptr(end)}})))
		cleanup(t, func(ctx context.Context) error { return errOf(q.Delete(ctx, nil)) })
	}
	var got []string
	pages := 0
	for p := a.Queues(t).NewListQueuesPager(&azqueue.ListQueuesOptions{Prefix: &prefix, MaxResults: to.Ptr[int32](2),
		Include: azqueue.ListQueuesInclude{Metadata: true}}); p.More(); pages++ {
		page := value(p.NextPage(t.Context()))(t)
		for _, q := range page.Queues {
			got = append(got, strings.TrimPrefix(*q.Name, prefix)+" "+lowered(q.Metadata))
		}
	}
	expect(t, a, "queues", strings.Join(got, "; "), "-a end=-a; -b end=-b; -c end=-c")
	expect(t, a, "pages of two", pages, 2)
}
