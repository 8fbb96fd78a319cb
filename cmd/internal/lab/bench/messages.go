package bench

import (
	"context"
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"
)

// messages all go through one queue, as those of a pipeline do. A client gets the
// next message, which may be another client's.
func messages() storageWorkload {
	w := storageWorkload{workload: workload{
		name:  "message",
		about: "Put, get and delete a message, all clients on one queue",
		parts: []string{"put", "get", "delete"},
	}}
	w.prepare = func(ctx context.Context, e *endpoint, _ int) (operation, error) {
		if e.account.Queue == "" {
			return nil, errors.New("the connection string has no QueueEndpoint: add it, or leave out message with --only")
		}
		name := randomName()
		owned := e.queues.NewQueueClient(name)
		err := e.make(ctx,
			func(ctx context.Context) error { _, err := owned.Create(ctx, nil); return err },
			func(ctx context.Context) error { _, err := owned.Delete(ctx, nil); return err })
		if err != nil {
			return nil, err
		}
		queue, err := e.worker(name)
		if err != nil {
			return nil, err
		}
		text := newFiller().text(e.size, 1)
		return func(ctx context.Context, _ int, lap func()) error { return passThrough(ctx, queue, text, lap) }, nil
	}
	return w
}

// worker returns a client with a SAS, which spares it signing each request, as a
// token of Microsoft Entra does.
func (e *endpoint) worker(queue string) (*azqueue.QueueClient, error) {
	key, err := azqueue.NewSharedKeyCredential(e.account.Name, e.account.Key)
	if err != nil {
		return nil, err
	}
	permissions := sas.QueuePermissions{Read: true, Add: true, Update: true, Process: true}
	token, err := sas.QueueSignatureValues{
		Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: time.Now().UTC().Add(24 * time.Hour),
		Permissions: permissions.String(), QueueName: queue,
	}.SignWithSharedKey(key)
	if err != nil {
		return nil, err
	}
	url := e.account.Queue + "/" + queue + "?" + token.Encode()
	return azqueue.NewQueueClientWithNoCredential(url, &azqueue.ClientOptions{ClientOptions: e.options})
}

func passThrough(ctx context.Context, queue *azqueue.QueueClient, text string, lap func()) error {
	if _, err := queue.EnqueueMessage(ctx, text, nil); err != nil {
		return err
	}
	lap()
	got, err := queue.DequeueMessage(ctx, nil)
	if err != nil {
		return err
	}
	if len(got.Messages) == 0 {
		return errors.New("the queue was empty after a put")
	}
	lap()
	m := got.Messages[0]
	_, err = queue.DeleteMessage(ctx, *m.MessageID, *m.PopReceipt, nil)
	lap()
	return err
}
