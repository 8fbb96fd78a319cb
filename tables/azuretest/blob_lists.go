package azuretest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// blobNames returns the names of all pages, as "a b c".
func blobNames(t *testing.T, c *container.Client, o *container.ListBlobsFlatOptions) string {
	t.Helper()
	var s []string
	for page := range pagesOf(t, c.NewListBlobsFlatPager(o)) {
		for _, b := range page.Segment.BlobItems {
			s = append(s, *b.Name)
		}
	}
	return strings.Join(s, " ")
}

// Blobs are listed by name, in the order of their characters.
func (blobs) BlobsAreListedByName(t *testing.T, a Account) {
	c := a.NewContainer(t)
	expect(t, a, "an empty container", blobNames(t, c, nil), "")
	for _, name := range []string{"b", "a/2", "a", "B", "a/10", "a-1"} {
		upload(t, c, name, "", nil)
	}
	expect(t, a, "all", blobNames(t, c, nil), "B a a-1 a/10 a/2 b")
	expect(t, a, "a/", blobNames(t, c, &container.ListBlobsFlatOptions{Prefix: to.Ptr("a/")}), "a/10 a/2")
	expect(t, a, "none", blobNames(t, c, &container.ListBlobsFlatOptions{Prefix: to.Ptr("z")}), "")
}

// A page has at most MaxResults blobs. While there are more it has a marker, which another
// pager can use.
func (blobs) ListsArePaged(t *testing.T, a Account) {
	c := a.NewContainer(t)
	for i := range 7 {
		upload(t, c, fmt.Sprint("b", i), "", nil)
	}
	o := &container.ListBlobsFlatOptions{MaxResults: to.Ptr[int32](3)}
	expect(t, a, "all pages", blobNames(t, c, o), "b0 b1 b2 b3 b4 b5 b6")
	page := value(c.NewListBlobsFlatPager(o).NextPage(t.Context()))(t)
	expect(t, a, "first page", len(page.Segment.BlobItems), 3)
	o = &container.ListBlobsFlatOptions{Marker: page.NextMarker}
	expect(t, a, "from its marker", blobNames(t, c, o), "b3 b4 b5 b6")
}

// With a delimiter, blobs whose names are the same up to it are listed once, as a prefix.
func (blobs) FoldersAreListedByDelimiter(t *testing.T, a Account) {
	c := a.NewContainer(t)
	for _, name := range []string{"2026/11/20/a", "2026/11/20/b", "2026/11/21/a", "2026/12/01/a", "2026/x", "readme"} {
		upload(t, c, name, "", nil)
	}
	list := func(prefix string, size int32) string {
		var s []string
		for page := range pagesOf(t, c.NewListBlobsHierarchyPager("/",
			&container.ListBlobsHierarchyOptions{Prefix: &prefix, MaxResults: &size})) {
			for _, f := range page.Segment.BlobPrefixes {
				s = append(s, *f.Name)
			}
			for _, b := range page.Segment.BlobItems {
				s = append(s, *b.Name)
			}
		}
		return strings.Join(s, " ")
	}
	for _, size := range []int32{1000, 1} {
		expect(t, a, "top", list("", size), "2026/ readme")
		expect(t, a, "2026/", list("2026/", size), "2026/11/ 2026/12/ 2026/x")
		expect(t, a, "2026/11/", list("2026/11/", size), "2026/11/20/ 2026/11/21/")
		expect(t, a, "2026/1", list("2026/1", size), "2026/11/ 2026/12/")
		expect(t, a, "2026/11/20/", list("2026/11/20/", size), "2026/11/20/a 2026/11/20/b")
	}
}

// A list has each blob's length, ETag and times, and its metadata if asked for.
func (blobs) ListHasProperties(t *testing.T, a Account) {
	c := a.NewContainer(t)
	up := upload(t, c, "b", "hello", &blockblob.UploadOptions{Metadata: map[string]*string{"fence": to.Ptr("9")}})
	o := &container.ListBlobsFlatOptions{Include: container.ListBlobsInclude{Metadata: true}}
	page := value(c.NewListBlobsFlatPager(o).NextPage(t.Context()))(t)
	b := page.Segment.BlobItems[0]
	expect(t, a, "length", *b.Properties.ContentLength, int64(5))
	expect(t, a, "etag", strings.Trim(string(*b.Properties.ETag), `"`), strings.Trim(string(*up.ETag), `"`))
	expect(t, a, "modified", b.Properties.LastModified.Equal(*up.LastModified), true)
	expect(t, a, "metadata", lowered(b.Metadata), "fence=9")

	page = value(c.NewListBlobsFlatPager(nil).NextPage(t.Context()))(t)
	expect(t, a, "metadata unasked", lowered(page.Segment.BlobItems[0].Metadata), "")
}

// Names of metadata keep the case in which they were sent. (The SDK gives those of a list in lower case.)
func (blobs) NamesOfMetadataKeepTheirCase(t *testing.T, a Account) {
	c := a.NewContainer(t)
	upload(t, c, "b", "x", &blockblob.UploadOptions{
		Metadata: map[string]*string{"camelCase": to.Ptr("1"), "UPPER": to.Ptr("2"), "lower": to.Ptr("3")}})
	o := &container.ListBlobsFlatOptions{Include: container.ListBlobsInclude{Metadata: true}}
	var r *http.Response
	must(t, errOf(c.NewListBlobsFlatPager(o).NextPage(captured(t, &r))))
	list := body(t, r)
	for _, element := range []string{"<camelCase>1</camelCase>", "<UPPER>2</UPPER>"} {
		expect(t, a, element, strings.Contains(list, element), true, differs(Embedded, false, "lowers them"))
	}
	expect(t, a, "lower", strings.Contains(list, "<lower>3</lower>"), true)
}
