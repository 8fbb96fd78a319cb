package bench

import (
	"context"
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"
)

// messages all go through one queue, as a pipeline's do. A client gets what is
// next, which need not be what it put.
func messages() *workload {
	return &workload{
		name:  "message",
		about: "put, get and delete of a message, all clients on one queue",
		parts: []string{"put", "get", "delete"},
		prepare: func(ctx context.Context, e *endpoint, _ int) (operation, error) {
			if e.account.Queue == "" {
				return nil, errors.New("its connection string has no QueueEndpoint: give it, or leave out message with --only")
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
			fill, next := newFiller(), newCounters(e.clients)
			return func(ctx context.Context, client int, lap func()) error {
				return passThrough(ctx, queue, fill.text(e.size, next.of(client)), lap)
			}, nil
		},
	}
}

// worker is a client that works with a queue by a SAS, as one with a token of
// Microsoft Entra does: neither signs each request.
func (e *endpoint) worker(queue string) (*azqueue.QueueClient, error) {
	key, err := azqueue.NewSharedKeyCredential(e.account.Name, e.account.Key)
	if err != nil {
		return nil, err
	}
	token, err := sas.QueueSignatureValues{
		Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: time.Now().UTC().Add(24 * time.Hour),
		Permissions: (&sas.QueuePermissions{Read: true, Add: true, Update: true, Process: true}).String(), QueueName: queue,
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
	if _, err := queue.DeleteMessage(ctx, *m.MessageID, *m.PopReceipt, nil); err != nil {
		return err
	}
	lap()
	return nil
}
