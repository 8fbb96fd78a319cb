package main

import (
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// messages all go through one queue, as those of a pipeline do. A client gets the
// next message, which may be another client's.
func messages() storageWorkload {
	w := storageWorkload{workload: workload{
		name:  "message",
		about: "Put, get and delete a message, all clients on one queue",
		parts: []string{"put", "get", "delete"},
	}}
	w.prepare = func(ctx context.Context, e *endpoint) (operation, error) {
		if e.account.Queue == "" {
			return nil, errors.New("the connection string has no QueueEndpoint: add it, or leave out message with --only")
		}
		queue := e.queues.NewQueueClient(randomName())
		text := newFiller().text(entitySize, 1)
		pass := func(ctx context.Context, _ int, lap func()) error { return passThrough(ctx, queue, text, lap) }
		return pass, e.make(ctx,
			func(ctx context.Context) error { _, err := queue.Create(ctx, nil); return err },
			func(ctx context.Context) error { _, err := queue.Delete(ctx, nil); return err })
	}
	return w
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
