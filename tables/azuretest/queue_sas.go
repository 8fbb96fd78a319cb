package azuretest

import (
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"
)

// queueBearing returns a client of a queue that has only a token.
func queueBearing(t *testing.T, a Account, queue string, v sas.QueueSignatureValues) *azqueue.QueueClient {
	t.Helper()
	cred := value(azqueue.NewSharedKeyCredential(a.Name, a.Key))(t)
	q := value(v.SignWithSharedKey(cred))(t)
	o := &azqueue.ClientOptions{ClientOptions: a.options()}
	return value(azqueue.NewQueueClientWithNoCredential(a.QueueURL+"/"+queue+"?"+q.Encode(), o))(t)
}

func queueName(q *azqueue.QueueClient) string {
	return q.URL()[strings.LastIndexByte(q.URL(), '/')+1:]
}

func inAnHour() time.Time { return time.Now().UTC().Add(time.Hour) }

// r permits peeks and reading metadata, a puts, u updates, p gets and deletes. No
// permission allows more.
func (queues) QueuePermissionsAreSeparate(t *testing.T, a Account) {
	for permission, allowed := range map[string]string{
		"r": "peek properties", "a": "put", "u": "update", "p": "get delete"} {
		owner := a.NewQueue(t)
		put(t, owner, "one", nil)
		put(t, owner, "two", nil)
		held, spare := get(t, owner, 60), get(t, owner, 60)
		put(t, owner, "visible", nil)
		c := queueBearing(t, a, queueName(owner), sas.QueueSignatureValues{QueueName: queueName(owner),
			Permissions: permission, ExpiryTime: inAnHour()})
		answers := map[string]string{}
		answers["peek"] = outcome(c.PeekMessage(t.Context(), nil))
		answers["properties"] = outcome(c.GetProperties(t.Context(), nil))
		answers["put"] = outcome(c.EnqueueMessage(t.Context(), "x", nil))
		answers["update"] = outcome(renew(t, c, held.MessageID, held.PopReceipt, "x", 60))
		answers["get"] = outcome(c.DequeueMessage(t.Context(), nil))
		answers["delete"] = outcome(c.DeleteMessage(t.Context(), *spare.MessageID, *spare.PopReceipt, nil))
		answers["clear"] = outcome(c.ClearMessages(t.Context(), nil))
		answers["set metadata"] = outcome(c.SetMetadata(t.Context(), nil))
		answers["get policies"] = outcome(c.GetAccessPolicy(t.Context(), nil))
		answers["set policies"] = outcome(c.SetAccessPolicy(t.Context(), nil))
		answers["create"] = outcome(c.Create(t.Context(), nil))
		answers["remove"] = outcome(c.Delete(t.Context(), nil))
		for op, got := range answers {
			switch op {
			case "peek", "properties", "put", "update", "get", "delete":
				want := "403 AuthorizationPermissionMismatch"
				if strings.Contains(allowed, op) {
					want = "ok"
				}
				expect(t, a, permission+": "+op, got, want)
			default: // no service SAS may; the code is not documented
				expect(t, a, permission+": "+op, got[:3], "403")
			}
		}
	}
}

// A token is for one queue.
func (queues) QueueTokenIsForOneQueue(t *testing.T, a Account) {
	mine, other := a.NewQueue(t), a.NewQueue(t)
	v := sas.QueueSignatureValues{QueueName: queueName(mine), Permissions: "a", ExpiryTime: inAnHour()}
	try := func(q *azqueue.QueueClient) int {
		return refusal(queueBearing(t, a, queueName(q), v).EnqueueMessage(t.Context(), "x", nil))
	}
	expect(t, a, "its queue", try(mine), 0)
	expect(t, a, "another queue", try(other), 403)
}

// A token is refused after its expiry and before its start.
func (queues) QueueTokenExpires(t *testing.T, a Account) {
	q := a.NewQueue(t)
	now := time.Now().UTC()
	for what, v := range map[string]sas.QueueSignatureValues{
		"expired": {ExpiryTime: now.Add(-time.Hour)},
		"not yet": {StartTime: now.Add(time.Hour), ExpiryTime: now.Add(2 * time.Hour)},
	} {
		v.QueueName, v.Permissions = queueName(q), "a"
		expect(t, a, what, outcome(queueBearing(t, a, v.QueueName, v).EnqueueMessage(t.Context(), "x", nil)),
			"403 AuthenticationFailed")
	}
}

// A stored policy gives a token its permissions, until the policy is removed.
func (queues) QueuePolicyGrants(t *testing.T, a Account) {
	q := a.NewQueue(t)
	set := func(all ...*azqueue.SignedIdentifier) {
		must(t, errOf(q.SetAccessPolicy(t.Context(), &azqueue.SetAccessPolicyOptions{QueueACL: all})))
	}
	set(&azqueue.SignedIdentifier{ID: to.Ptr("workers"), AccessPolicy: &azqueue.AccessPolicy{
		Permission: to.Ptr("a"), Start: to.Ptr(time.Now().UTC().Add(-time.Hour)), Expiry: to.Ptr(inAnHour())}})
	c := queueBearing(t, a, queueName(q), sas.QueueSignatureValues{QueueName: queueName(q), Identifier: "workers"})
	try := func() error { return errOf(c.EnqueueMessage(t.Context(), "x", nil)) }
	if a.Kind == Azure {
		eventually(t, "policy in force", func() bool { return try() == nil })
	}
	expect(t, a, "put", answer(try()), "ok")
	expect(t, a, "get", outcome(c.DequeueMessage(t.Context(), nil)), "403 AuthorizationPermissionMismatch")
	set()
	if a.Kind == Azure {
		eventually(t, "policy gone", func() bool { return try() != nil })
	}
	expect(t, a, "put without the policy", answer(try()), "403 AuthenticationFailed")
}
