package local_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"testing"

	"furrow/tables/azuretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

// blocksOf is the number of blocks of a version. Some are in the store, others in files.
const blocksOf = 3

// A blobLoad writes versions of one blob, block by block.
type blobLoad struct {
	worker    int
	blob      *blockblob.Client
	tried     int
	acked     int  // the last version committed
	staged    int  // acknowledged blocks of version tried
	committed bool // a commit of version tried was sent
}

func (l *blobLoad) prepare(t *testing.T, a azuretest.Account) error {
	container := a.Blobs(t).ServiceClient().NewContainerClient("blobs")
	l.blob = container.NewBlockBlobClient(fmt.Sprint("dir/blob", l.worker))
	return ignore(done(container.Create(t.Context(), nil)), "ContainerAlreadyExists")
}

func (l *blobLoad) block(version, i int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%d/%d/%d ", l.worker, version, i), 100+i*9000)
}

func (l *blobLoad) id(version, i int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%08d-%d", version, i))
}

func (l *blobLoad) step(ctx context.Context) error {
	l.tried++
	l.staged, l.committed = 0, false
	var ids []string
	for i := range blocksOf {
		body := streaming.NopCloser(bytes.NewReader(l.block(l.tried, i)))
		if _, err := l.blob.StageBlock(ctx, l.id(l.tried, i), body, nil); err != nil {
			return err
		}
		l.staged++
		ids = append(ids, l.id(l.tried, i))
	}
	l.committed = true
	if _, err := l.blob.CommitBlockList(ctx, ids, nil); err != nil {
		return err
	}
	l.acked = l.tried
	return nil
}

func (l *blobLoad) verify(ctx context.Context) error {
	if err := l.verifyStaged(ctx); err != nil {
		return err
	}
	if l.acked == 0 && !l.committed {
		return nil
	}
	answer, err := l.blob.DownloadStream(ctx, nil)
	if err != nil {
		if l.acked == 0 {
			err = ignore(err, "BlobNotFound")
		}
		return err
	}
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	for _, version := range []int{l.acked, l.tried} {
		var want []byte
		for i := range blocksOf {
			want = append(want, l.block(version, i)...)
		}
		if bytes.Equal(got, want) {
			l.acked = version
			return nil
		}
	}
	return fmt.Errorf("blob %d has %d bytes, of neither version %d nor %d", l.worker, len(got), l.acked, l.tried)
}

// verifyStaged checks that acknowledged blocks exist until a commit.
func (l *blobLoad) verifyStaged(ctx context.Context) error {
	if l.committed || l.staged == 0 {
		return nil
	}
	list, err := l.blob.GetBlockList(ctx, blockblob.BlockListTypeUncommitted, nil)
	if err != nil {
		return err
	}
	var names []string
	for _, b := range list.UncommittedBlocks {
		names = append(names, *b.Name)
	}
	for i := range l.staged {
		if !slices.Contains(names, l.id(l.tried, i)) {
			return fmt.Errorf("block %d of version %d of blob %d was acknowledged and is gone", i, l.tried, l.worker)
		}
	}
	return nil
}
