package azuretest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

func conditions(c blob.ModifiedAccessConditions) *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &c}
}

func ifMatch(etag azcore.ETag) *blob.AccessConditions {
	return conditions(blob.ModifiedAccessConditions{IfMatch: &etag})
}

func ifNoneMatch(etag azcore.ETag) *blob.AccessConditions {
	return conditions(blob.ModifiedAccessConditions{IfNoneMatch: &etag})
}

const noBlobsETag azcore.ETag = `"0x8D4BCC2E4835CD0"`

// If-None-Match: * writes only if the blob does not exist. Otherwise the answer is 409, not 412.
func (blobs) UploadCanDemandThatNothingIsThere(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := c.NewBlockBlobClient("b")
	try := func() error {
		_, err := b.Upload(t.Context(), content("x"),
			&blockblob.UploadOptions{AccessConditions: ifNoneMatch(azcore.ETagAny)})
		return err
	}
	expect(t, a, "first", answer(try()), "ok")
	expect(t, a, "second", answer(try()), "409 BlobAlreadyExists")
}

// If-Match replaces only the known version. Otherwise the answer is ConditionNotMet,
// also if the blob does not exist.
func (blobs) UploadCanDemandWhatIsThere(t *testing.T, a Account) {
	c := a.NewContainer(t)
	first := upload(t, c, "b", "first", nil)
	try := func(name string, etag azcore.ETag) (blockblob.UploadResponse, error) {
		return c.NewBlockBlobClient(name).Upload(t.Context(), content("second"),
			&blockblob.UploadOptions{AccessConditions: ifMatch(etag)})
	}
	expect(t, a, "another etag", outcome(try("b", noBlobsETag)), "412 ConditionNotMet")
	expect(t, a, "text", download(t, c.NewBlobClient("b"), nil), "first")
	second, err := try("b", *first.ETag)
	expect(t, a, "its etag", answer(err), "ok")
	expect(t, a, "its old etag", outcome(try("b", *first.ETag)), "412 ConditionNotMet")
	expect(t, a, "its new etag", outcome(try("b", *second.ETag)), "ok")
	expect(t, a, "where nothing is", outcome(try("missing", *second.ETag)), "412 ConditionNotMet")
}

// A commit of blocks supports the same conditions, so a blob of any size can be
// written in one conditional step.
func (blobs) CommitHoldsOnConditions(t *testing.T, a Account) {
	c := a.NewContainer(t)
	b := c.NewBlockBlobClient("b")
	try := func(text string, conditions *blob.AccessConditions) error {
		stage(t, b, 1, text)
		return commit(t, b, &blockblob.CommitBlockListOptions{AccessConditions: conditions}, 1)
	}
	expect(t, a, "first", answer(try("first", ifNoneMatch(azcore.ETagAny))), "ok")
	expect(t, a, "second with *", answer(try("second", ifNoneMatch(azcore.ETagAny))), "409 BlobAlreadyExists")
	expect(t, a, "second on another etag", answer(try("second", ifMatch(noBlobsETag))), "412 ConditionNotMet")
	expect(t, a, "text", download(t, c.NewBlobClient("b"), nil), "first")
	head := value(b.GetProperties(t.Context(), nil))(t)
	expect(t, a, "third on its etag", answer(try("third", ifMatch(*head.ETag))), "ok")
	expect(t, a, "text", download(t, c.NewBlobClient("b"), nil), "third")
}

// Deletes and changes of metadata support them too.
func (blobs) DeleteHoldsOnConditions(t *testing.T, a Account) {
	c := a.NewContainer(t)
	up := upload(t, c, "b", "x", nil)
	b := c.NewBlobClient("b")
	remove := func(etag azcore.ETag) string {
		return outcome(b.Delete(t.Context(), &blob.DeleteOptions{AccessConditions: ifMatch(etag)}))
	}
	another := &blob.SetMetadataOptions{AccessConditions: ifMatch(noBlobsETag)}
	expect(t, a, "delete on another etag", remove(noBlobsETag), "412 ConditionNotMet")
	expect(t, a, "metadata on another etag", outcome(b.SetMetadata(t.Context(), nil, another)), "412 ConditionNotMet")
	expect(t, a, "delete on its etag", remove(*up.ETag), "ok")
}

// A read with If-None-Match gets 304 if nothing has changed; one with If-Match gets 412
// if something has. For 304 the SDK returns no error, but a response without a body.
func (blobs) ReadHoldsOnConditions(t *testing.T, a Account) {
	c := a.NewContainer(t)
	up := upload(t, c, "b", "x", nil)
	b := c.NewBlobClient("b")
	read := func(conditions *blob.AccessConditions) int {
		resp, err := b.DownloadStream(t.Context(), &blob.DownloadStreamOptions{AccessConditions: conditions})
		if err != nil {
			return status(err)
		}
		if resp.Body == nil {
			return 304
		}
		resp.Body.Close()
		return 200
	}
	since := func(d time.Duration) *blob.AccessConditions {
		return conditions(blob.ModifiedAccessConditions{IfModifiedSince: to.Ptr(up.LastModified.Add(d))})
	}
	until := func(d time.Duration) *blob.AccessConditions {
		return conditions(blob.ModifiedAccessConditions{IfUnmodifiedSince: to.Ptr(up.LastModified.Add(d))})
	}
	expect(t, a, "If-None-Match its etag", read(ifNoneMatch(*up.ETag)), 304)
	expect(t, a, "If-None-Match another", read(ifNoneMatch(noBlobsETag)), 200)
	expect(t, a, "If-Match its etag", read(ifMatch(*up.ETag)), 200)
	expect(t, a, "If-Match another", read(ifMatch(noBlobsETag)), 412)
	expect(t, a, "If-Modified-Since then", read(since(0)), 304)
	expect(t, a, "If-Modified-Since an hour before", read(since(-time.Hour)), 200)
	expect(t, a, "If-Unmodified-Since then", read(until(0)), 200)
	expect(t, a, "If-Unmodified-Since an hour before", read(until(-time.Hour)), 412)
}

// One of many concurrent creations succeeds.
func (blobs) OneOfManyCreationsSucceeds(t *testing.T, a Account) {
	b := a.NewContainer(t).NewBlockBlobClient("b")
	expect(t, a, "answers", concurrently(func(i int) string {
		return outcome(b.Upload(t.Context(), content(fmt.Sprint(i)),
			&blockblob.UploadOptions{AccessConditions: ifNoneMatch(azcore.ETagAny)}))
	}), "map[409 BlobAlreadyExists:7 ok:1]")
}

// concurrently runs do 8 times at once, and returns how often it got each answer.
func concurrently(do func(i int) string) string {
	var mu sync.Mutex
	var all sync.WaitGroup
	count := map[string]int{}
	for i := range 8 {
		all.Go(func() {
			answer := do(i)
			mu.Lock()
			defer mu.Unlock()
			count[answer]++
		})
	}
	all.Wait()
	return fmt.Sprint(count)
}
