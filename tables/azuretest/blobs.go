package azuretest

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

func content(s string) io.ReadSeekCloser { return streaming.NopCloser(strings.NewReader(s)) }

func upload(t *testing.T, c *container.Client, name, text string, o *blockblob.UploadOptions) blockblob.UploadResponse {
	t.Helper()
	resp := value(c.NewBlockBlobClient(name).Upload(t.Context(), content(text), o))(t)
	return resp
}

// download returns a blob's text, or the error.
func download(t *testing.T, b *blob.Client, o *blob.DownloadStreamOptions) string {
	t.Helper()
	resp, err := b.DownloadStream(t.Context(), o)
	if err != nil {
		return answer(err)
	}
	defer resp.Body.Close()
	text := value(io.ReadAll(resp.Body))(t)
	return string(text)
}

// Creating an existing container is refused, as for tables and unlike queues.
func (blobs) ContainerCreatedTwiceIsRefused(t *testing.T, a Account) {
	expect(t, a, "again", outcome(a.NewContainer(t).Create(t.Context(), nil)), "409 ContainerAlreadyExists")
}

// Operations on a missing container answer ContainerNotFound; for a HEAD, which has no
// body, the code is in a header.
func (blobs) MissingContainerSaysSo(t *testing.T, a Account) {
	c := a.Blobs(t).ServiceClient().NewContainerClient(Name("c"))
	b := c.NewBlockBlobClient("b")
	expect(t, a, "upload", outcome(b.Upload(t.Context(), content("x"), nil)), "404 ContainerNotFound")
	expect(t, a, "download", download(t, c.NewBlobClient("b"), nil), "404 ContainerNotFound")
	expect(t, a, "properties", outcome(c.GetProperties(t.Context(), nil)), "404 ContainerNotFound")
	expect(t, a, "list", outcome(c.NewListBlobsFlatPager(nil).NextPage(t.Context())), "404 ContainerNotFound")
	expect(t, a, "delete", outcome(c.Delete(t.Context(), nil)), "404 ContainerNotFound")
}

// Containers are listed by name, with a prefix, page by page.
func (blobs) ContainersAreListedByName(t *testing.T, a Account) {
	prefix := Name("list")
	s := a.Blobs(t).ServiceClient()
	for _, end := range []string{"b", "a", "c"} {
		must(t, errOf(s.CreateContainer(t.Context(), prefix+end, nil)))
		cleanup(t, func(ctx context.Context) error { return errOf(s.DeleteContainer(ctx, prefix+end, nil)) })
	}
	got, pages := "", 0
	o := &service.ListContainersOptions{Prefix: &prefix, MaxResults: to.Ptr[int32](2)}
	for page := range pagesOf(t, s.NewListContainersPager(o)) {
		pages++
		for _, c := range page.ContainerItems {
			got += " " + strings.TrimPrefix(*c.Name, prefix)
		}
	}
	expect(t, a, "containers", got, " a b c")
	expect(t, a, "pages of two", pages, 2)
}

// Reading a blob returns its bytes, headers and metadata. Unlike an entity's, its ETag is
// strong and quoted; upload, head and download return the same one.
func (blobs) BlobIsReadAsWritten(t *testing.T, a Account) {
	c := a.NewContainer(t)
	for _, text := range []string{"", "hello", strings.Repeat("\x00\xff binary ", 10_000)} {
		up := upload(t, c, "dir/b", text, &blockblob.UploadOptions{
			Metadata: map[string]*string{"fence": to.Ptr("42")},
			HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("application/x-ndjson"),
				BlobCacheControl: to.Ptr("no-store"), BlobContentEncoding: to.Ptr("identity")},
		})
		etag := string(*up.ETag)
		expect(t, a, "etag is quoted", etag == `"`+strings.Trim(etag, `"`)+`"`, true)
		b := c.NewBlobClient("dir/b")
		down := value(b.DownloadStream(t.Context(), nil))(t)
		got := value(io.ReadAll(down.Body))(t)
		expect(t, a, "same bytes", string(got) == text, true)
		expect(t, a, "length", *down.ContentLength, int64(len(text)))
		expect(t, a, "etag", *down.ETag, *up.ETag)
		expect(t, a, "type", *down.ContentType, "application/x-ndjson")
		expect(t, a, "metadata", lowered(down.Metadata), "fence=42")

		head := value(b.GetProperties(t.Context(), nil))(t)
		expect(t, a, "head: length", *head.ContentLength, int64(len(text)))
		expect(t, a, "head: etag", *head.ETag, *up.ETag)
		expect(t, a, "head: kind", *head.BlobType, blob.BlobTypeBlockBlob)
		expect(t, a, "head: cache control", *head.CacheControl, "no-store")
		expect(t, a, "head: metadata", lowered(head.Metadata), "fence=42")
		expect(t, a, "head: modified", head.LastModified.Equal(*down.LastModified), true)
	}
}

// A missing blob is BlobNotFound in its container.
func (blobs) MissingBlobSaysSo(t *testing.T, a Account) {
	b := a.NewContainer(t).NewBlobClient("b")
	expect(t, a, "download", download(t, b, nil), "404 BlobNotFound")
	expect(t, a, "head", outcome(b.GetProperties(t.Context(), nil)), "404 BlobNotFound")
	expect(t, a, "delete", outcome(b.Delete(t.Context(), nil)), "404 BlobNotFound")
}

// An upload without conditions replaces bytes, headers and metadata.
func (blobs) UploadReplaces(t *testing.T, a Account) {
	c := a.NewContainer(t)
	first := upload(t, c, "b", "first", &blockblob.UploadOptions{Metadata: map[string]*string{"old": to.Ptr("x")}})
	second := upload(t, c, "b", "second", nil)
	expect(t, a, "text", download(t, c.NewBlobClient("b"), nil), "second")
	expect(t, a, "another etag", *first.ETag != *second.ETag, true)
	head := value(c.NewBlobClient("b").GetProperties(t.Context(), nil))(t)
	expect(t, a, "metadata", lowered(head.Metadata), "")
}

// A range ends at the blob's end. One that begins after it is refused.
func (blobs) RangesAreParts(t *testing.T, a Account) {
	c := a.NewContainer(t)
	upload(t, c, "b", "0123456789", nil)
	b := c.NewBlobClient("b")
	for r, want := range map[blob.HTTPRange]string{
		{Offset: 0, Count: 3}: "012", {Offset: 3, Count: 4}: "3456", {Offset: 8, Count: 100}: "89", {Offset: 7}: "789",
	} {
		expect(t, a, fmt.Sprint("range ", r), download(t, b, &blob.DownloadStreamOptions{Range: r}), want)
	}
	past := download(t, b, &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 10, Count: 1}})
	expect(t, a, "past the end", past, "416 InvalidRange",
		differs(Azurite, "", "returns nothing for a range that begins at the end"))
	resp, err := b.DownloadStream(t.Context(), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 2, Count: 3}})
	must(t, err)
	resp.Body.Close()
	expect(t, a, "Content-Range", *resp.ContentRange, "bytes 2-4/10")
	expect(t, a, "length", *resp.ContentLength, int64(3))
}

// Metadata and headers can be set without the bytes; the ETag changes.
func (blobs) MetadataAndHeadersChangeAlone(t *testing.T, a Account) {
	c := a.NewContainer(t)
	up := upload(t, c, "b", "text", nil)
	b := c.NewBlobClient("b")
	meta := value(b.SetMetadata(t.Context(), map[string]*string{"fence": to.Ptr("7")}, nil))(t)
	expect(t, a, "another etag", *meta.ETag != *up.ETag, true)
	must(t, errOf(b.SetHTTPHeaders(t.Context(), blob.HTTPHeaders{BlobContentType: to.Ptr("text/csv")}, nil)))
	head := value(b.GetProperties(t.Context(), nil))(t)
	expect(t, a, "metadata", lowered(head.Metadata), "fence=7")
	expect(t, a, "type", *head.ContentType, "text/csv")
	expect(t, a, "text", download(t, b, nil), "text")
}

// A name is any text up to 1,024 characters, with slashes for folders.
func (blobs) OddBlobNamesWork(t *testing.T, a Account) {
	c := a.NewContainer(t)
	for _, name := range []string{"a b", "grüße/日本語", "50%", "a+b&c=d", "q?x=1", "a#b", "(1,2)'s",
		"2026/11/20/contoso:us-5260.jsonl", strings.Repeat("n", 1024)} {
		upload(t, c, name, name, nil)
		expect(t, a, name, download(t, c.NewBlobClient(name), nil), name)
		expect(t, a, "listed: "+name, blobNames(t, c, &container.ListBlobsFlatOptions{Prefix: &name}), name)
	}
}

// A deleted blob is gone at once.
func (blobs) DeletedBlobIsGone(t *testing.T, a Account) {
	c := a.NewContainer(t)
	upload(t, c, "b", "x", nil)
	must(t, errOf(c.NewBlobClient("b").Delete(t.Context(), nil)))
	expect(t, a, "download", download(t, c.NewBlobClient("b"), nil), "404 BlobNotFound")
	expect(t, a, "listed", blobNames(t, c, nil), "")
}

// Content that does not match its MD5 is refused and changes nothing.
func (blobs) WrongMD5IsRefused(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := c.NewBlockBlobClient("b")
	wrong := blob.TransferValidationTypeMD5(make([]byte, 16))
	whole := &blockblob.UploadOptions{TransactionalValidation: wrong}
	block := &blockblob.StageBlockOptions{TransactionalValidation: wrong}
	expect(t, a, "upload", outcome(b.Upload(t.Context(), content("x"), whole)), "400 Md5Mismatch")
	expect(t, a, "block", outcome(b.StageBlock(t.Context(), blockID(0), content("x"), block)), "400 Md5Mismatch")
	expect(t, a, "blob", download(t, c.NewBlobClient("b"), nil), "404 BlobNotFound")
}

// The account says what kind it is.
func (blobs) AccountSaysItsKind(t *testing.T, a Account) {
	kind := value(a.NewContainer(t).GetAccountInfo(t.Context(), nil))(t)
	expect(t, a, "kind", *kind.AccountKind, "StorageV2")
	expect(t, a, "has copies of a known number", strings.HasPrefix(string(*kind.SKUName), "Standard_"), true)
}
