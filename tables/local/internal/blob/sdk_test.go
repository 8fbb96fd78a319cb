package blob

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"furrow/tables/local/internal/content"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	azcontainer "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
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

func TestSDKPutsAndGetsContainers(t *testing.T) {
	f := inMemory(t)
	ctx := t.Context()
	c := f.client().NewContainerClient("photos")
	_, err := c.GetProperties(ctx, nil)
	wantCode(t, err, bloberror.ContainerNotFound)
	if _, err := c.Create(ctx, &azcontainer.CreateOptions{Metadata: map[string]*string{"site": to.Ptr("north")}}); err != nil {
		t.Fatal(err)
	}
	_, err = c.Create(ctx, nil)
	wantCode(t, err, bloberror.ContainerAlreadyExists)
	if _, err := c.SetMetadata(ctx, &azcontainer.SetMetadataOptions{Metadata: map[string]*string{"site": to.Ptr("south")}}); err != nil {
		t.Fatal(err)
	}
	p, err := c.GetProperties(ctx, nil)
	if err != nil || *p.Metadata["Site"] != "south" || *p.LeaseState != "available" {
		t.Fatalf("%+v %v", p, err)
	}
	f.container("videos")
	f.container("audio")
	pager := f.client().NewListContainersPager(&service.ListContainersOptions{MaxResults: to.Ptr(int32(1)), Include: service.ListContainersInclude{Metadata: true}})
	var names []string
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.ContainerItems {
			names = append(names, *item.Name)
			if *item.Name == "photos" && *item.Metadata["site"] != "south" {
				t.Errorf("metadata %v", item.Metadata)
			}
			if *item.Properties.ETag == "" || item.Properties.LastModified.IsZero() {
				t.Errorf("properties %+v", item.Properties)
			}
		}
	}
	if want := []string{"audio", "photos", "videos"}; !slices.Equal(names, want) {
		t.Errorf("listed %v, want %v", names, want)
	}
	if _, err := c.Delete(ctx, nil); err != nil {
		t.Fatal(err)
	}
	_, err = c.Delete(ctx, nil)
	wantCode(t, err, bloberror.ContainerNotFound)
}

func TestSDKKeepsStoredPolicies(t *testing.T) {
	f := inMemory(t)
	c := f.container("photos")
	ids := []*azcontainer.SignedIdentifier{{ID: to.Ptr("readers"), AccessPolicy: &azcontainer.AccessPolicy{Permission: to.Ptr("r")}}}
	if _, err := c.SetAccessPolicy(t.Context(), &azcontainer.SetAccessPolicyOptions{ContainerACL: ids}); err != nil {
		t.Fatal(err)
	}
	got, err := c.GetAccessPolicy(t.Context(), nil)
	if err != nil || len(got.SignedIdentifiers) != 1 || *got.SignedIdentifiers[0].AccessPolicy.Permission != "r" {
		t.Fatalf("%+v %v", got, err)
	}
	access := azcontainer.PublicAccessTypeBlob
	_, err = c.SetAccessPolicy(t.Context(), &azcontainer.SetAccessPolicyOptions{Access: &access})
	if re, ok := errors.AsType[*azcore.ResponseError](err); !ok || re.StatusCode != 501 {
		t.Fatalf("public access: %v", err)
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
		part, err := b.DownloadStream(ctx, &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: int64(size) / 3, Count: int64(size) / 2}, RangeGetContentMD5: to.Ptr(size < 4<<20)})
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

func TestSDKUploadsStreams(t *testing.T) {
	f := inMemory(t)
	b := f.container("data").NewBlockBlobClient("stream")
	want := random(1, 5<<20+3)
	opts := &blockblob.UploadStreamOptions{BlockSize: 1 << 20, Concurrency: 3, Metadata: map[string]*string{"kind": to.Ptr("stream")},
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("text/plain"), BlobCacheControl: to.Ptr("no-store")}}
	if _, err := b.UploadStream(t.Context(), bytes.NewReader(want), opts); err != nil {
		t.Fatal(err)
	}
	p, err := b.GetProperties(t.Context(), nil)
	if err != nil || *p.ContentLength != int64(len(want)) || *p.ContentType != "text/plain" || *p.CacheControl != "no-store" ||
		*p.Metadata["Kind"] != "stream" || *p.BlobType != blob.BlobTypeBlockBlob || p.CreationTime.IsZero() {
		t.Fatalf("%+v %v", p, err)
	}
	list, err := b.GetBlockList(t.Context(), blockblob.BlockListTypeAll, nil)
	if err != nil || len(list.CommittedBlocks) != 6 || len(list.UncommittedBlocks) != 0 {
		t.Fatalf("%+v %v", list.BlockList, err)
	}
	got := make([]byte, len(want))
	if _, err := b.DownloadBuffer(t.Context(), got, &blob.DownloadBufferOptions{BlockSize: 700_000}); err != nil || !bytes.Equal(got, want) {
		t.Fatal("another content came back", err)
	}
}

func TestSDKConditions(t *testing.T) {
	f := inMemory(t)
	ctx := t.Context()
	b := f.container("data").NewBlockBlobClient("x")
	matching := func(m, n *azcore.ETag) *blob.AccessConditions {
		return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: m, IfNoneMatch: n}}
	}
	any := to.Ptr(azcore.ETagAny)
	first, err := b.Upload(ctx, body([]byte("one")), &blockblob.UploadOptions{AccessConditions: matching(nil, any)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Upload(ctx, body([]byte("two")), &blockblob.UploadOptions{AccessConditions: matching(nil, any)})
	wantCode(t, err, bloberror.BlobAlreadyExists)
	second, err := b.Upload(ctx, body([]byte("two")), &blockblob.UploadOptions{AccessConditions: matching(first.ETag, nil)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Upload(ctx, body([]byte("three")), &blockblob.UploadOptions{AccessConditions: matching(first.ETag, nil)})
	wantCode(t, err, bloberror.ConditionNotMet)
	_, err = b.SetMetadata(ctx, nil, &blob.SetMetadataOptions{AccessConditions: matching(first.ETag, nil)})
	wantCode(t, err, bloberror.ConditionNotMet)
	_, err = b.DownloadStream(ctx, &blob.DownloadStreamOptions{AccessConditions: matching(first.ETag, nil)})
	wantCode(t, err, bloberror.ConditionNotMet)
	same, err := b.DownloadStream(ctx, &blob.DownloadStreamOptions{AccessConditions: matching(nil, second.ETag)})
	if err != nil || same.ErrorCode == nil || *same.ErrorCode != string(bloberror.ConditionNotMet) {
		t.Fatalf("got %+v %v, want what the SDK makes of 304", same.DownloadResponse, err)
	}
	_, err = b.Delete(ctx, &blob.DeleteOptions{AccessConditions: matching(first.ETag, nil)})
	wantCode(t, err, bloberror.ConditionNotMet)
	if _, err := b.Delete(ctx, &blob.DeleteOptions{AccessConditions: matching(second.ETag, nil), DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude)}); err != nil {
		t.Fatal(err)
	}
	_, err = b.GetProperties(ctx, nil)
	wantCode(t, err, bloberror.BlobNotFound)
	_, err = b.Upload(ctx, body([]byte("three")), &blockblob.UploadOptions{AccessConditions: matching(second.ETag, nil)})
	wantCode(t, err, bloberror.ConditionNotMet)
}

func TestSDKListsFlatAndByHierarchy(t *testing.T) {
	f := inMemory(t)
	ctx := t.Context()
	c := f.container("data")
	var all []string
	for _, name := range []string{"a", "dir/1", "dir/2", "dir/sub/3", "dir-x", "ä <&> \"q\" +%20", "z/" + "\x01", "z/\uFFFF"} {
		all = append(all, name)
		if _, err := c.NewBlockBlobClient(name).Upload(ctx, body([]byte(name)), &blockblob.UploadOptions{Metadata: map[string]*string{"n": to.Ptr("v")}}); err != nil {
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
		if got := flat(t, c, &azcontainer.ListBlobsFlatOptions{MaxResults: &most, Prefix: to.Ptr("dir/"), Include: azcontainer.ListBlobsInclude{UncommittedBlobs: true, Metadata: true}}); !slices.Equal(got, want) {
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
			if item.Properties.ETag == nil || (*item.Properties.ETag)[0] != '0' || item.Properties.LastModified.IsZero() || *item.Properties.BlobType != blob.BlobTypeBlockBlob {
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

func TestSDKCommitsBlocks(t *testing.T) {
	f := inMemory(t)
	ctx := t.Context()
	b := f.container("data").NewBlockBlobClient("x")
	stage := func(id, text string) {
		t.Helper()
		if _, err := b.StageBlock(ctx, id, body([]byte(text)), &blockblob.StageBlockOptions{TransactionalValidation: blob.TransferValidationTypeComputeCRC64()}); err != nil {
			t.Fatal(err)
		}
	}
	got := func() string {
		t.Helper()
		resp, err := b.DownloadStream(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(all)
	}
	stage("YQ==", "one ")
	stage("Yg==", "two ")
	stage("Yw==", "lost")
	_, err := b.GetProperties(ctx, nil)
	wantCode(t, err, bloberror.BlobNotFound)
	if _, err := b.CommitBlockList(ctx, []string{"Yg==", "YQ==", "Yg=="}, nil); err != nil {
		t.Fatal(err)
	}
	if got := got(); got != "two one two " {
		t.Errorf("content %q", got)
	}
	_, err = b.CommitBlockList(ctx, []string{"Yw=="}, nil)
	wantCode(t, err, bloberror.InvalidBlockList)
	stage("YQ==", "new ")
	list, err := b.GetBlockList(ctx, blockblob.BlockListTypeAll, nil)
	if err != nil || len(list.CommittedBlocks) != 3 || len(list.UncommittedBlocks) != 1 || *list.UncommittedBlocks[0].Name != "YQ==" {
		t.Fatalf("%+v %v", list.BlockList, err)
	}
	if _, err := b.CommitBlockList(ctx, []string{"YQ==", "Yg=="}, nil); err != nil {
		t.Fatal(err)
	}
	if got := got(); got != "new two " {
		t.Errorf("content %q", got)
	}
	stage("YQ==", "gone")
	if _, err := b.Upload(ctx, body([]byte("whole")), nil); err != nil {
		t.Fatal(err)
	}
	list, err = b.GetBlockList(ctx, blockblob.BlockListTypeAll, nil)
	if err != nil || len(list.CommittedBlocks)+len(list.UncommittedBlocks) != 0 {
		t.Fatalf("after Put Blob: %+v %v", list.BlockList, err)
	}
}
