package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// messages all go through one queue, as those of a pipeline do. A client gets the
// next message, which may be another client's.
func messages() storageWorkload {
	w := workload{
		name:  "message",
		about: "Put, get and delete a message, all clients on one queue",
		parts: []string{"put", "get", "delete"},
	}
	return storageWorkload{w, func(ctx context.Context, e *endpoint) (operation, error) {
		if e.account.Queue == "" {
			return nil, errors.New("the connection string has no QueueEndpoint: add it, or leave out message with --only")
		}
		queue := e.queues.NewQueueClient(randomName())
		text := newFiller().text(entitySize, 1)
		pass := func(ctx context.Context, _ int, lap func()) error { return passThrough(ctx, queue, text, lap) }
		return pass, e.make(ctx,
			func(ctx context.Context) error { _, err := queue.Create(ctx, nil); return err },
			func(ctx context.Context) error { _, err := queue.Delete(ctx, nil); return err })
	}}
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

// A blob is small here, as an archive's object of one device and day is.
const (
	blocksPerBlob = 4
	blockSize     = 64 << 10
)

// blocks replaces one blob per client, so that a long run does not fill the disk.
func blocks() storageWorkload {
	w := workload{
		name:  "blob",
		about: "Stage 4 blocks of 64 KiB and commit them over the client's own blob",
		rows:  blocksPerBlob,
		parts: []string{"stage", "commit"},
	}
	return storageWorkload{w, func(ctx context.Context, e *endpoint) (operation, error) {
		if e.account.Blob == "" {
			return nil, errors.New("the connection string has no BlobEndpoint: add it, or leave out blob with --only")
		}
		container := randomName()
		err := e.make(ctx,
			func(ctx context.Context) error { _, err := e.blobs.CreateContainer(ctx, container, nil); return err },
			func(ctx context.Context) error { _, err := e.blobs.DeleteContainer(ctx, container, nil); return err })
		if err != nil {
			return nil, err
		}
		in := e.blobs.ServiceClient().NewContainerClient(container)
		content := make([]byte, blockSize)
		rand.Read(content) // never fails
		return func(ctx context.Context, client int, lap func()) error {
			return stageAndCommit(ctx, in.NewBlockBlobClient(partition(client)), content, lap)
		}, nil
	}}
}

func stageAndCommit(ctx context.Context, blob *blockblob.Client, content []byte, lap func()) error {
	ids := make([]string, blocksPerBlob)
	for i := range ids {
		ids[i] = base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%08d", i))
		if _, err := blob.StageBlock(ctx, ids[i], streaming.NopCloser(bytes.NewReader(content)), nil); err != nil {
			return err
		}
	}
	lap()
	_, err := blob.CommitBlockList(ctx, ids, nil)
	lap()
	return err
}
