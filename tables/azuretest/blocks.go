package azuretest

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

// blockID is a block's name: base64, of equal length within a blob.
func blockID(n int) string { return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%06d", n)) }

func stage(t *testing.T, b *blockblob.Client, n int, text string) {
	t.Helper()
	must(t, errOf(b.StageBlock(t.Context(), blockID(n), content(text), nil)))
}

func commit(t *testing.T, b *blockblob.Client, o *blockblob.CommitBlockListOptions, ns ...int) error {
	t.Helper()
	var ids []string
	for _, n := range ns {
		ids = append(ids, blockID(n))
	}
	return errOf(b.CommitBlockList(t.Context(), ids, o))
}

// blockList lists a blob's blocks: "1:5 2:3 | 4:2" are the committed blocks with their
// sizes, then the staged ones.
func blockList(t *testing.T, b *blockblob.Client) string {
	t.Helper()
	resp, err := b.GetBlockList(t.Context(), blockblob.BlockListTypeAll, nil)
	if err != nil {
		return answer(err)
	}
	list := func(blocks []*blockblob.Block) (s []string) {
		for _, block := range blocks {
			id := value(base64.StdEncoding.DecodeString(*block.Name))(t)
			s = append(s, fmt.Sprintf("%s:%d", strings.TrimLeft(string(id), "0"), *block.Size))
		}
		return s
	}
	return strings.Join(list(resp.CommittedBlocks), " ") + " | " + strings.Join(list(resp.UncommittedBlocks), " ")
}

// Staged blocks are neither readable nor listed until they are committed. The last
// block staged under an ID counts.
func (blobs) BlocksBecomeABlobWhenCommitted(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := c.NewBlockBlobClient("b")
	expect(t, a, "before all", blockList(t, b), "404 BlobNotFound")
	stage(t, b, 1, "hello ")
	stage(t, b, 2, "wrong")
	stage(t, b, 2, "world")
	expect(t, a, "blocks staged", blockList(t, b), " | 1:6 2:5")
	expect(t, a, "download before the commit", download(t, c.NewBlobClient("b"), nil), "404 BlobNotFound")
	expect(t, a, "list before the commit", blobNames(t, c, nil), "")
	must(t, commit(t, b, nil, 1, 2))
	expect(t, a, "download", download(t, c.NewBlobClient("b"), nil), "hello world")
	expect(t, a, "list", blobNames(t, c, nil), "b")
	expect(t, a, "blocks committed", blockList(t, b), "1:6 2:5 | ")
}

// A commit lists staged or committed blocks in the order of the blob. Blocks that it does
// not list are dropped, committed and staged.
func (blobs) CommitChoosesAndOrders(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := c.NewBlockBlobClient("b")
	for n, text := range map[int]string{1: "one ", 2: "two ", 3: "three "} {
		stage(t, b, n, text)
	}
	must(t, commit(t, b, nil, 3, 1))
	expect(t, a, "text", download(t, c.NewBlobClient("b"), nil), "three one ")
	stage(t, b, 4, "four ")
	must(t, commit(t, b, nil, 1, 4, 1))
	expect(t, a, "text with an old block twice", download(t, c.NewBlobClient("b"), nil), "one four one ")
	expect(t, a, "refers to a dropped block", answer(commit(t, b, nil, 2)), "400 InvalidBlockList")
}

// A commit of a block that was never staged is refused, and changes nothing.
func (blobs) CommitOfUnknownBlockIsRefused(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := c.NewBlockBlobClient("b")
	stage(t, b, 1, "x")
	expect(t, a, "commit", answer(commit(t, b, nil, 1, 9)), "400 InvalidBlockList")
	expect(t, a, "download", download(t, c.NewBlobClient("b"), nil), "404 BlobNotFound")
	must(t, commit(t, b, nil, 1))
	expect(t, a, "text", download(t, c.NewBlobClient("b"), nil), "x")
}

// Staging blocks changes neither an existing blob nor its ETag.
func (blobs) StagedBlocksDoNotTouchTheBlob(t *testing.T, a Account) {
	c := a.NewContainer(t)
	up := upload(t, c, "b", "old", nil)
	b := c.NewBlockBlobClient("b")
	stage(t, b, 1, "new")
	expect(t, a, "text", download(t, c.NewBlobClient("b"), nil), "old")
	head := value(b.GetProperties(t.Context(), nil))(t)
	expect(t, a, "etag", *head.ETag, *up.ETag)
	must(t, commit(t, b, nil, 1))
	expect(t, a, "text", download(t, c.NewBlobClient("b"), nil), "new")
}

// An upload of the whole blob removes staged blocks.
func (blobs) UploadDropsStagedBlocks(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := c.NewBlockBlobClient("b")
	stage(t, b, 1, "staged")
	upload(t, c, "b", "whole", nil)
	const keeps = "keeps staged blocks when a blob is uploaded whole"
	expect(t, a, "commit", answer(commit(t, b, nil, 1)), "400 InvalidBlockList", differs(Azurite, "ok", keeps))
	expect(t, a, "text", download(t, c.NewBlobClient("b"), nil), "whole", differs(Azurite, "staged", keeps))
}

// Headers and metadata come with the commit.
func (blobs) CommitSetsHeadersAndMetadata(t *testing.T, a Account) {
	b := a.NewContainer(t).NewBlockBlobClient("b")
	stage(t, b, 1, "x")
	must(t, commit(t, b, &blockblob.CommitBlockListOptions{
		Metadata:    map[string]*string{"fence": to.Ptr("5")},
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("text/plain")}}, 1))
	head := value(b.GetProperties(t.Context(), nil))(t)
	expect(t, a, "metadata", lowered(head.Metadata), "fence=5")
	expect(t, a, "type", *head.ContentType, "text/plain")
}

// The SDK uploads large content from a buffer or a stream, in parallel blocks of 4 MiB,
// and downloads it in parallel ranges.
func (blobs) LargeUploadsArriveWhole(t *testing.T, a Account) {
	c := a.NewContainer(t)
	large := make([]byte, 18<<20+123)
	rand.NewChaCha8([32]byte{7}).Read(large) // never fails
	const block = 4 << 20
	uploads := map[string]func(context.Context, *blockblob.Client) error{
		"buffer": func(ctx context.Context, b *blockblob.Client) error {
			return errOf(b.UploadBuffer(ctx, large, &blockblob.UploadBufferOptions{BlockSize: block, Concurrency: 4}))
		},
		"stream": func(ctx context.Context, b *blockblob.Client) error {
			o := &blockblob.UploadStreamOptions{BlockSize: block, Concurrency: 4}
			return errOf(b.UploadStream(ctx, bytes.NewReader(large), o))
		},
	}
	for name, send := range uploads {
		b := c.NewBlockBlobClient(name)
		must(t, send(t.Context(), b))
		got := make([]byte, len(large))
		n := value(b.DownloadBuffer(t.Context(), got, &blob.DownloadBufferOptions{BlockSize: block, Concurrency: 4}))(t)
		expect(t, a, name+": length", n, int64(len(large)))
		expect(t, a, name+": content", md5.Sum(got), md5.Sum(large))
	}
}

// A block list can have only the committed or only the staged blocks.
func (blobs) BlockListCanBeNarrowed(t *testing.T, a Account) {
	b := a.NewContainer(t).NewBlockBlobClient("b")
	stage(t, b, 1, "one")
	must(t, commit(t, b, nil, 1))
	stage(t, b, 2, "two")
	for kind, want := range map[blockblob.BlockListType]string{
		blockblob.BlockListTypeCommitted: "1 0", blockblob.BlockListTypeUncommitted: "0 1", blockblob.BlockListTypeAll: "1 1",
	} {
		resp := value(b.GetBlockList(t.Context(), kind, nil))(t)
		expect(t, a, string(kind), fmt.Sprint(len(resp.CommittedBlocks), len(resp.UncommittedBlocks)), want)
	}
}
