package blob

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"furrow/tables/local/internal/content"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	azcontainer "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// random gives n bytes that depend on seed alone.
func random(seed uint64, n int) []byte {
	b := make([]byte, n)
	var key [32]byte
	key[0] = byte(seed)
	key[1] = byte(seed >> 8)
	rand.NewChaCha8(key).Read(b) // never fails
	return b
}

func body(b []byte) io.ReadSeekCloser { return streaming.NopCloser(bytes.NewReader(b)) }

func wantCode(t *testing.T, err error, code bloberror.Code) {
	t.Helper()
	if !bloberror.HasCode(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
}

func TestSDKRoundTripsContents(t *testing.T) {
	f := inMemory(t)
	ctx := t.Context()
	c := f.container("data")
	for i, size := range []int{0, 1, 1000, content.Inline, content.Inline + 1, 1 << 20, 9<<20 + 7} {
		want := random(uint64(i), size)
		name := fmt.Sprintf("by size/%d", size)
		b := c.NewBlockBlobClient(name)
		if _, err := b.UploadBuffer(ctx, want, &blockblob.UploadBufferOptions{BlockSize: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, size)
		if n, err := b.DownloadBuffer(ctx, got, nil); err != nil || n != int64(size) || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes: got %d, %v", size, n, err)
		}
		resp, err := b.DownloadStream(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(resp.Body)
		if err != nil || !bytes.Equal(all, want) || *resp.ContentLength != int64(size) {
			t.Fatalf("stream of %d bytes: got %d, %v", size, len(all), err)
		}
		if size < 10 {
			continue
		}
		part, err := b.DownloadStream(ctx, &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: int64(size) / 3,
			Count: int64(size) / 2}, RangeGetContentMD5: to.Ptr(size < 4<<20)})
		if err != nil {
			t.Fatal(err)
		}
		all, err = io.ReadAll(part.Body)
		cut := want[size/3 : size/3+size/2]
		if err != nil || !bytes.Equal(all, cut) {
			t.Fatalf("range of %d bytes: got %d, %v", size, len(all), err)
		}
		if sum := md5.Sum(cut); size < 4<<20 && !bytes.Equal(part.ContentMD5, sum[:]) {
			t.Errorf("range MD5 %x, want %x", part.ContentMD5, sum)
		}
	}
}

func TestSDKListsFlatAndByHierarchy(t *testing.T) {
	f := inMemory(t)
	ctx := t.Context()
	c := f.container("data")
	var all []string
	for _, name := range []string{"a", "dir/1", "dir/2", "dir/sub/3", "dir-x", "ä <&> \"q\" +%20", "z/" + "\x01",
		"z/\uFFFF"} {
		all = append(all, name)
		if _, err := c.NewBlockBlobClient(name).Upload(ctx, body([]byte(name)),
			&blockblob.UploadOptions{Metadata: map[string]*string{"n": to.Ptr("v")}}); err != nil {
			t.Fatal(name, err)
		}
	}
	if _, err := c.NewBlockBlobClient("dir/uncommitted").StageBlock(ctx, "QQ==", body([]byte("x")), nil); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	for _, most := range []int32{1, 2, 3, 100} {
		if got := flat(t, c, &azcontainer.ListBlobsFlatOptions{MaxResults: &most}); !slices.Equal(got, all) {
			t.Errorf("%d at a time: %q, want %q", most, got, all)
		}
		want := []string{"dir/1", "dir/2", "dir/sub/3", "dir/uncommitted"}
		if got := flat(t, c, &azcontainer.ListBlobsFlatOptions{MaxResults: &most, Prefix: to.Ptr("dir/"),
			Include: azcontainer.ListBlobsInclude{UncommittedBlobs: true, Metadata: true}}); !slices.Equal(got, want) {
			t.Errorf("%d at a time: %q, want %q", most, got, want)
		}
		got := hierarchy(t, c, &azcontainer.ListBlobsHierarchyOptions{MaxResults: &most})
		want = []string{"a", "dir-x", "dir/", "z/", "ä <&> \"q\" +%20"}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%d at a time: %q, want %q", most, got, want)
		}
	}
	from := flat(t, c, &azcontainer.ListBlobsFlatOptions{StartFrom: to.Ptr("dir/2")})
	if want := all[slices.Index(all, "dir/2"):]; !slices.Equal(from, want) {
		t.Errorf("from dir/2: %q, want %q", from, want)
	}
}

func flat(t *testing.T, c *azcontainer.Client, o *azcontainer.ListBlobsFlatOptions) (names []string) {
	t.Helper()
	for p := c.NewListBlobsFlatPager(o); p.More(); {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Segment.BlobItems {
			names = append(names, *item.Name)
			if o.Include.Metadata && *item.Name != "dir/uncommitted" && *item.Metadata["n"] != "v" {
				t.Errorf("%s: metadata %v", *item.Name, item.Metadata)
			}
			if item.Properties.ETag == nil || (*item.Properties.ETag)[0] != '0' || item.Properties.LastModified.IsZero() ||
				*item.Properties.BlobType != blob.BlobTypeBlockBlob {
				t.Errorf("%s: properties %+v", *item.Name, item.Properties)
			}
		}
	}
	return names
}

func hierarchy(t *testing.T, c *azcontainer.Client, o *azcontainer.ListBlobsHierarchyOptions) (names []string) {
	t.Helper()
	for p := c.NewListBlobsHierarchyPager("/", o); p.More(); {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Segment.BlobItems {
			names = append(names, *item.Name)
		}
		for _, item := range page.Segment.BlobPrefixes {
			names = append(names, *item.Name)
		}
	}
	return names
}
