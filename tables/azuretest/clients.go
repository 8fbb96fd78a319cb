package azuretest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"iter"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// options disables retries, because a retry would hide an answer from the suite.
func (a Account) options() azcore.ClientOptions {
	return azcore.ClientOptions{Transport: a.Transport, Retry: policy.RetryOptions{MaxRetries: -1}}
}

// Tables returns a client of the Table service that signs with the account key.
func (a Account) Tables(t testing.TB) *aztables.ServiceClient {
	t.Helper()
	cred := value(aztables.NewSharedKeyCredential(a.Name, a.Key))(t)
	o := &aztables.ClientOptions{ClientOptions: a.options()}
	return value(aztables.NewServiceClientWithSharedKey(a.TableURL, cred, o))(t)
}

// Queues returns a client of the Queue service that signs with the account key.
func (a Account) Queues(t testing.TB) *azqueue.ServiceClient {
	t.Helper()
	cred := value(azqueue.NewSharedKeyCredential(a.Name, a.Key))(t)
	o := &azqueue.ClientOptions{ClientOptions: a.options()}
	return value(azqueue.NewServiceClientWithSharedKeyCredential(a.QueueURL, cred, o))(t)
}

// Blobs returns a client of the Blob service that signs with the account key.
func (a Account) Blobs(t testing.TB) *azblob.Client {
	t.Helper()
	cred := value(azblob.NewSharedKeyCredential(a.Name, a.Key))(t)
	o := &azblob.ClientOptions{ClientOptions: a.options()}
	return value(azblob.NewClientWithSharedKeyCredential(a.BlobURL, cred, o))(t)
}

// NewTable creates a table with a unique name, and deletes it when the test ends.
func (a Account) NewTable(t testing.TB) *aztables.Client {
	t.Helper()
	return a.MakeTable(t, Name("t"))
}

// MakeTable creates a table, and deletes it when the test ends.
func (a Account) MakeTable(t testing.TB, name string) *aztables.Client {
	t.Helper()
	c := a.Tables(t).NewClient(name)
	must(t, errOf(c.CreateTable(t.Context(), nil)))
	cleanup(t, func(ctx context.Context) error { return errOf(c.Delete(ctx, nil)) })
	return c
}

// NewQueue creates a queue with a unique name, and deletes it when the test ends.
func (a Account) NewQueue(t testing.TB) *azqueue.QueueClient {
	t.Helper()
	c := a.Queues(t).NewQueueClient(Name("q"))
	must(t, errOf(c.Create(t.Context(), nil)))
	cleanup(t, func(ctx context.Context) error { return errOf(c.Delete(ctx, nil)) })
	return c
}

// NewContainer creates a container with a unique name, and deletes it when the test ends.
func (a Account) NewContainer(t testing.TB) *container.Client {
	t.Helper()
	c := a.Blobs(t).ServiceClient().NewContainerClient(Name("c"))
	must(t, errOf(c.Create(t.Context(), nil)))
	cleanup(t, func(ctx context.Context) error { return errOf(c.Delete(ctx, nil)) })
	return c
}

// Name returns a unique name, valid for tables, queues and containers, so that
// several runs can share one account.
func Name(prefix string) string {
	var b [10]byte
	rand.Read(b[:]) // never fails
	return prefix + hex.EncodeToString(b[:])
}

// cleanup runs remove when the test ends. It ignores that something is already gone.
func cleanup(t testing.TB, remove func(context.Context) error) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := remove(ctx); err != nil && status(err) != 404 {
			t.Errorf("cleaning up: %v", err)
		}
	})
}

// pagesOf yields every page of a pager. An error fails the test.
func pagesOf[P any](t *testing.T, p *runtime.Pager[P]) iter.Seq[P] {
	return func(yield func(P) bool) {
		for p.More() {
			page := value(p.NextPage(t.Context()))(t)
			if !yield(page) {
				return
			}
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
