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
)

// A blob is small here, as an archive's object of one device and day is.
const (
	blocksPerBlob = 4
	blockSize     = 64 << 10
)

// blocks replaces one blob per client, so that a long run does not fill the disk.
func blocks() storageWorkload {
	w := storageWorkload{workload: workload{
		name:  "blob",
		about: "Stage 4 blocks of 64 KiB and commit them over the client's own blob",
		rows:  blocksPerBlob,
		parts: []string{"stage", "commit"},
	}}
	w.prepare = func(ctx context.Context, e *endpoint) (operation, error) {
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
	}
	return w
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
