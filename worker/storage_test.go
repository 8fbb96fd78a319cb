package worker

import (
	"context"
	"net/http"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"
)

// account converts an account of a test.
func account(t testing.TB, a azuretest.Account) tables.Account {
	t.Helper()
	account := must.Have(tables.ParseAccount(a.ConnectionString()))(t)
	return account
}

// connect returns a client of a that retries soon.
func connect(t testing.TB, a azuretest.Account, c Config) *Client {
	t.Helper()
	c.Account = account(t, a)
	c.Retry = soon()
	client := must.Have(Connect(c))(t)
	return client
}

// soon has clients retry soon.
func soon() policy.RetryOptions {
	return policy.RetryOptions{RetryDelay: 10 * time.Millisecond, TryTimeout: 5 * time.Second}
}

// names are new for each test, so that tests can share an account.
func names(t testing.TB) schema.Names {
	t.Helper()
	n := must.Have(schema.ParseNames(azuretest.Name("w")[:12]))(t)
	return n
}

// newQueue creates the empty queues of a pipeline.
func newQueue(t testing.TB, a azuretest.Account, n schema.Names, c Config) *Queue {
	t.Helper()
	q := connect(t, a, c).Queue(n, "live")
	must.Succeed(t, q.Create(t.Context()))
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

func put(t testing.TB, q *Queue, ids ...schema.DeviceID) {
	t.Helper()
	for _, id := range ids {
		must.Succeed(t, q.Put(t.Context(), batch(id), 0))
	}
}

// get receives one message, which must be there.
func get(t testing.TB, q *Queue, lease time.Duration) *Lease {
	t.Helper()
	got, err := q.Get(t.Context(), 1, lease)
	if err != nil || len(got) != 1 {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	return got[0]
}

func depth(t testing.TB, q *Queue) int {
	t.Helper()
	live := must.Have(q.Depth(t.Context()))(t)
	history := must.Have(q.CatchupDepth(t.Context()))(t)
	return live + history
}

// ofMessages selects the requests that update and delete messages.
func ofMessages(r *http.Request) bool {
	return r.URL.Query().Has("popreceipt")
}

// queueSAS is a token with a worker's permissions for a queue.
func queueSAS(t testing.TB, a azuretest.Account, queue string) string {
	t.Helper()
	key := must.Have(azqueue.NewSharedKeyCredential(a.Name, a.Key))(t)
	token := must.Have(sas.QueueSignatureValues{
		Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: time.Now().UTC().Add(time.Hour), QueueName: queue,
		Permissions: (&sas.QueuePermissions{Read: true, Add: true, Update: true, Process: true}).String(),
	}.SignWithSharedKey(key))(t)
	return token.Encode()
}
