package azuretest

import (
	"crypto/md5"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// newAppendBlob creates an empty append blob.
func newAppendBlob(t *testing.T, c *container.Client, name string) *appendblob.Client {
	t.Helper()
	b := c.NewAppendBlobClient(name)
	must(t, errOf(b.Create(t.Context(), nil)))
	return b
}

// appendText appends a block, and returns where it begins and the number of blocks, or the error.
func appendText(t *testing.T, b *appendblob.Client, text string, o *appendblob.AppendBlockOptions) string {
	t.Helper()
	r, err := b.AppendBlock(t.Context(), content(text), o)
	if err != nil {
		return answer(err)
	}
	return fmt.Sprint(*r.BlobAppendOffset, " ", *r.BlobCommittedBlockCount)
}

// An append blob begins empty and grows by blocks. Each answer has the offset of its block
// and the number of blocks. The blob can be read as a whole and in ranges.
func (blobs) AppendBlobGrowsByBlocks(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := newAppendBlob(t, c, "b")
	expect(t, a, "empty", download(t, c.NewBlobClient("b"), nil), "")
	expect(t, a, "first", appendText(t, b, "one ", nil), "0 1")
	expect(t, a, "second", appendText(t, b, "two ", nil), "4 2")
	expect(t, a, "third", appendText(t, b, "three", nil), "8 3")
	expect(t, a, "whole", download(t, c.NewBlobClient("b"), nil), "one two three")
	for r, want := range map[blob.HTTPRange]string{
		{Offset: 2, Count: 4}: "e tw", {Offset: 4, Count: 4}: "two ", {Offset: 7}: " three", {Offset: 12, Count: 9}: "e",
	} {
		expect(t, a, fmt.Sprint("range ", r), download(t, c.NewBlobClient("b"), &blob.DownloadStreamOptions{Range: r}), want)
	}
	past := download(t, c.NewBlobClient("b"), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 14, Count: 1}})
	expect(t, a, "past the end", past, "416 InvalidRange")
}

// Properties and lists have the type. The ETag changes with every block; there is no MD5 of the content.
func (blobs) AppendBlobHasItsType(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := c.NewAppendBlobClient("b")
	created := value(b.Create(t.Context(), &appendblob.CreateOptions{Metadata: map[string]*string{"fence": to.Ptr("1")},
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("text/plain")}}))(t)
	appendText(t, b, "hello", nil)
	head := value(b.GetProperties(t.Context(), nil))(t)
	expect(t, a, "type", *head.BlobType, blob.BlobTypeAppendBlob)
	expect(t, a, "blocks", *head.BlobCommittedBlockCount, 1)
	expect(t, a, "length", *head.ContentLength, 5)
	expect(t, a, "content type", *head.ContentType, "text/plain")
	expect(t, a, "metadata", lowered(head.Metadata), "fence=1")
	expect(t, a, "another etag", *head.ETag != *created.ETag, true)
	expect(t, a, "MD5", len(head.ContentMD5), 0)
	for page := range pagesOf(t, c.NewListBlobsFlatPager(nil)) {
		for _, item := range page.Segment.BlobItems {
			expect(t, a, "listed type", *item.Properties.BlobType, blob.BlobTypeAppendBlob)
			expect(t, a, "listed length", *item.Properties.ContentLength, 5)
		}
	}
	must(t, errOf(b.SetMetadata(t.Context(), map[string]*string{"fence": to.Ptr("2")}, nil)))
	expect(t, a, "after a change of metadata", appendText(t, b, "!", nil), "5 2")
}

// A single writer appends exactly once if it states the position: a repeated request is refused.
func (blobs) AppendCanDemandItsPosition(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := newAppendBlob(t, c, "b")
	at := func(n int64) *appendblob.AppendBlockOptions {
		return &appendblob.AppendBlockOptions{
			AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &n}}
	}
	const refused = "412 AppendPositionConditionNotMet"
	expect(t, a, "first", appendText(t, b, "one", at(0)), "0 1")
	expect(t, a, "first again", appendText(t, b, "one", at(0)), refused)
	expect(t, a, "second", appendText(t, b, "two", at(3)), "3 2")
	expect(t, a, "beyond the end", appendText(t, b, "x", at(9)), refused)
	expect(t, a, "text", download(t, c.NewBlobClient("b"), nil), "onetwo")
}

// An append can state the most bytes that the blob may have.
func (blobs) AppendCanLimitTheSize(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := newAppendBlob(t, c, "b")
	most := func(n int64) *appendblob.AppendBlockOptions {
		return &appendblob.AppendBlockOptions{
			AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{MaxSize: &n}}
	}
	expect(t, a, "up to the limit", appendText(t, b, "12345", most(5)), "0 1")
	expect(t, a, "beyond it", appendText(t, b, "6", most(5)), "412 MaxBlobSizeConditionNotMet")
	expect(t, a, "below a higher one", appendText(t, b, "6", most(6)), "5 2")
}

// Appends support the conditions of other writes.
func (blobs) AppendHoldsOnConditions(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := newAppendBlob(t, c, "b")
	on := func(etag azcore.ETag) *appendblob.AppendBlockOptions {
		return &appendblob.AppendBlockOptions{AccessConditions: ifMatch(etag)}
	}
	head := value(b.GetProperties(t.Context(), nil))(t)
	expect(t, a, "another etag", appendText(t, b, "x", on(noBlobsETag)), "412 ConditionNotMet")
	expect(t, a, "its etag", appendText(t, b, "x", on(*head.ETag)), "0 1")
	expect(t, a, "its old etag", appendText(t, b, "x", on(*head.ETag)), "412 ConditionNotMet")
	expect(t, a, "created only where nothing is", outcome(b.Create(t.Context(),
		&appendblob.CreateOptions{AccessConditions: ifNoneMatch(azcore.ETagAny)})), "409 BlobAlreadyExists")
}

// Appends need an append blob, and blocks need a block blob.
func (blobs) TypesOfBlobsDoNotMix(t *testing.T, a Account) {
	c := a.NewContainer(t)
	upload(t, c, "block", "x", nil)
	newAppendBlob(t, c, "append")
	const refused = "409 InvalidBlobType"
	expect(t, a, "append where nothing is", appendText(t, c.NewAppendBlobClient("none"), "x", nil), "404 BlobNotFound")
	expect(t, a, "append to a block blob", appendText(t, c.NewAppendBlobClient("block"), "x", nil), refused)
	b := c.NewBlockBlobClient("append")
	expect(t, a, "block to an append blob", outcome(b.StageBlock(t.Context(), blockID(1), content("x"), nil)), refused)
	expect(t, a, "commit to an append blob", answer(commit(t, b, nil)), refused)
	expect(t, a, "blocks of an append blob", blockList(t, b), refused)
}

// An upload replaces a blob of either type, and so does the creation of an append blob.
func (blobs) UploadReplacesBlobsOfAnyType(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := newAppendBlob(t, c, "b")
	appendText(t, b, "appended", nil)
	upload(t, c, "b", "whole", nil)
	expect(t, a, "uploaded", download(t, c.NewBlobClient("b"), nil), "whole")
	must(t, errOf(b.Create(t.Context(), nil)))
	expect(t, a, "append blob created", download(t, c.NewBlobClient("b"), nil), "")
	appendText(t, b, "12345678", nil)
	must(t, errOf(b.Create(t.Context(), nil)))
	expect(t, a, "created again", appendText(t, b, "new", nil), "0 1")
	expect(t, a, "text", download(t, c.NewBlobClient("b"), nil), "new")
	must(t, errOf(b.Delete(t.Context(), nil)))
	expect(t, a, "deleted", download(t, c.NewBlobClient("b"), nil), "404 BlobNotFound")
}

// A block that does not match its MD5 is refused and changes nothing. An empty block is refused.
func (blobs) WrongAppendsAreRefused(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := newAppendBlob(t, c, "b")
	wrong := &appendblob.AppendBlockOptions{
		TransactionalValidation: blob.TransferValidationTypeMD5(make([]byte, md5.Size))}
	expect(t, a, "wrong MD5", appendText(t, b, "x", wrong), "400 Md5Mismatch")
	expect(t, a, "empty", appendText(t, b, "", nil), "400 InvalidHeaderValue")
	expect(t, a, "text", download(t, c.NewBlobClient("b"), nil), "")
}

// Many writers append side by side: each block is there once and whole. Blocks may be large.
func (blobs) AppendsSideBySideAreWhole(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := newAppendBlob(t, c, "b")
	block := func(i int) string { return strings.Repeat(fmt.Sprint(i), 1+i*50_000) }
	expect(t, a, "answers", concurrently(func(i int) string {
		return outcome(b.AppendBlock(t.Context(), content(block(i)), nil))
	}), "map[ok:8]")
	got := download(t, c.NewBlobClient("b"), nil)
	for i := range 8 {
		expect(t, a, fmt.Sprint("block ", i), strings.Count(got, block(i)), 1)
	}
	expect(t, a, "length", len(got), 8+28*50_000)

	large := make([]byte, 9<<20)
	rand.NewChaCha8([32]byte{9}).Read(large) // never fails
	body := streaming.NopCloser(strings.NewReader(string(large)))
	must(t, errOf(b.AppendBlock(t.Context(), body, nil)))
	tail := download(t, c.NewBlobClient("b"), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: int64(len(got))}})
	expect(t, a, "a large block", tail == string(large), true)
}
