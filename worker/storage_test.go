package worker_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/schema"
	"furrow/worker"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"
)

// account is a, as the program knows accounts.
func account(t testing.TB, a azuretest.Account) tables.Account {
	t.Helper()
	account, err := tables.ParseAccount(a.ConnectionString())
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// connect is a client of a, whose retries do not wait long.
func connect(t testing.TB, a azuretest.Account, c worker.Config) *worker.Client {
	t.Helper()
	c.Account = account(t, a)
	c.Retry = policy.RetryOptions{RetryDelay: 10 * time.Millisecond, TryTimeout: 5 * time.Second}
	client, err := worker.Connect(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// names are those of a fleet of the test's own, so that tests can share an account.
func names(t testing.TB) schema.Names {
	t.Helper()
	n, err := schema.ParseNames(azuretest.Name("w")[:12])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// newQueue is an empty queue of a pipeline.
func newQueue(t testing.TB, a azuretest.Account, n schema.Names, c worker.Config) *worker.Queue {
	t.Helper()
	q := connect(t, a, c).Queue(n, "live")
	if err := q.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.DeleteQueues(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return q
}

// batch is a device job of one device.
func batch(id schema.DeviceID) jobs.Message {
	at := schema.Member{Month: schema.Month{Year: 2026, Month: time.November}, Tenant: "t", Device: id}.Place()
	return jobs.Message{
		Kind: jobs.Device, Pipeline: "live", Run: tables.TicksOf(time.Date(2026, 11, 20, 9, 17, 0, 0,
			time.UTC)), First: at, Last: at,
	}
}

func put(t testing.TB, q *worker.Queue, ids ...schema.DeviceID) {
	t.Helper()
	for _, id := range ids {
		if err := q.Put(t.Context(), batch(id), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// get gets one message, which must be there.
func get(t testing.TB, q *worker.Queue, lease time.Duration) *worker.Lease {
	t.Helper()
	got, err := q.Get(t.Context(), 1, lease)
	if err != nil || len(got) != 1 {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	return got[0]
}

func depth(t testing.TB, q *worker.Queue) int {
	t.Helper()
	live, err := q.Depth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	history, err := q.CatchupDepth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return live + history
}

// ofMessages are the requests that update and delete messages.
func ofMessages(r *http.Request) bool {
	return r.URL.Query().Has("popreceipt")
}

// queueSAS is a token for what a worker does with a queue.
func queueSAS(t testing.TB, a azuretest.Account, queue string) string {
	t.Helper()
	key, err := azqueue.NewSharedKeyCredential(a.Name, a.Key)
	if err != nil {
		t.Fatal(err)
	}
	token, err := sas.QueueSignatureValues{
		Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: time.Now().UTC().Add(time.Hour), QueueName: queue,
		Permissions: (&sas.QueuePermissions{Read: true, Add: true, Update: true, Process: true}).String(),
	}.SignWithSharedKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return token.Encode()
}
