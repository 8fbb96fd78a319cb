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

// blocksOf is how many blocks a version has, some small, some larger than what
// a record holds itself.
const blocksOf = 3

// blobLoad writes versions of one blob, block by block.
type blobLoad struct {
	worker    int
	blob      *blockblob.Client
	tried     int
	acked     int // the last version committed
	staged    int // blocks of version tried that are acknowledged
	committed bool
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
	l.committed = true // perhaps
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
		return ignoreIf(l.acked == 0, err)
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

func ignoreIf(may bool, err error) error {
	if may {
		return ignore(err, "BlobNotFound")
	}
	return err
}

// verifyStaged checks that acknowledged blocks are there until a commit.
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
