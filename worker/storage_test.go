package worker

import (
	"context"
	"net/http"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"
)

// account converts an account of a test.
func account(t testing.TB, a azuretest.Account) tables.Account {
	t.Helper()
	account, err := tables.ParseAccount(a.ConnectionString())
	jobstest.Must(t, err)
	return account
}

// connect returns a client of a that retries soon.
func connect(t testing.TB, a azuretest.Account, c Config) *Client {
	t.Helper()
	c.Account = account(t, a)
	c.Retry = soon()
	client, err := Connect(c)
	jobstest.Must(t, err)
	return client
}

// soon has clients retry soon.
func soon() policy.RetryOptions {
	return policy.RetryOptions{RetryDelay: 10 * time.Millisecond, TryTimeout: 5 * time.Second}
}

// names are new for each test, so that tests can share an account.
func names(t testing.TB) schema.Names {
	t.Helper()
	n, err := schema.ParseNames(azuretest.Name("w")[:12])
	jobstest.Must(t, err)
	return n
}

// newQueue creates the empty queues of a pipeline.
func newQueue(t testing.TB, a azuretest.Account, n schema.Names, c Config) *Queue {
	t.Helper()
	q := connect(t, a, c).Queue(n, "live")
	jobstest.Must(t, q.Create(t.Context()))
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
		jobstest.Must(t, q.Put(t.Context(), batch(id), 0))
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
	live, err := q.Depth(t.Context())
	jobstest.Must(t, err)
	history, err := q.CatchupDepth(t.Context())
	jobstest.Must(t, err)
	return live + history
}

// ofMessages selects the requests that update and delete messages.
func ofMessages(r *http.Request) bool {
	return r.URL.Query().Has("popreceipt")
}

// queueSAS is a token with a worker's permissions for a queue.
func queueSAS(t testing.TB, a azuretest.Account, queue string) string {
	t.Helper()
	key, err := azqueue.NewSharedKeyCredential(a.Name, a.Key)
	jobstest.Must(t, err)
	token, err := sas.QueueSignatureValues{
		Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: time.Now().UTC().Add(time.Hour), QueueName: queue,
		Permissions: (&sas.QueuePermissions{Read: true, Add: true, Update: true, Process: true}).String(),
	}.SignWithSharedKey(key)
	jobstest.Must(t, err)
	return token.Encode()
}
