package azuretest

import (
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
)

// blobBearing returns a client of a container that has only a token.
func blobBearing(t *testing.T, a Account, name string, v sas.BlobSignatureValues) *container.Client {
	t.Helper()
	cred := value(azblob.NewSharedKeyCredential(a.Name, a.Key))(t)
	if v.ExpiryTime.IsZero() {
		v.ExpiryTime = inAnHour()
	}
	q := value(v.SignWithSharedKey(cred))(t)
	o := &container.ClientOptions{ClientOptions: a.options()}
	return value(container.NewClientWithNoCredential(a.BlobURL+"/"+name+"?"+q.Encode(), o))(t)
}

func containerName(c *container.Client) string {
	return c.URL()[strings.LastIndexByte(c.URL(), '/')+1:]
}

// A container's token is for all of its blobs, and for no other container.
func (blobs) ContainerTokenCoversItsBlobs(t *testing.T, a Account) {
	owner, other := a.NewContainer(t), a.NewContainer(t)
	upload(t, owner, "a", "x", nil)
	upload(t, other, "a", "x", nil)
	v := sas.BlobSignatureValues{ContainerName: containerName(owner), Permissions: "rl"}
	c := blobBearing(t, a, containerName(owner), v)
	expect(t, a, "read", download(t, c.NewBlobClient("a"), nil), "x")
	expect(t, a, "list", blobNames(t, c, nil), "a")
	elsewhere := blobBearing(t, a, containerName(other), v)
	expect(t, a, "read elsewhere", download(t, elsewhere.NewBlobClient("a"), nil)[:3], "403")
}

// A blob's token is for that blob only, and does not permit listing.
func (blobs) BlobTokenCoversOneBlob(t *testing.T, a Account) {
	owner := a.NewContainer(t)
	upload(t, owner, "dir/a b", "x", nil)
	upload(t, owner, "dir/c", "x", nil)
	c := blobBearing(t, a, containerName(owner), sas.BlobSignatureValues{ContainerName: containerName(owner),
		BlobName: "dir/a b", Permissions: "r"})
	expect(t, a, "its blob", download(t, c.NewBlobClient("dir/a b"), nil), "x")
	expect(t, a, "another", download(t, c.NewBlobClient("dir/c"), nil)[:3], "403")
	expect(t, a, "list", refusal(c.NewListBlobsFlatPager(nil).NextPage(t.Context())), 403)
}

// r permits reading, c creating blobs that do not exist, w all writes, d deleting, l listing.
func (blobs) BlobPermissionsAreSeparate(t *testing.T, a Account) {
	for permission, allowed := range map[string]string{
		"r": "read head", "c": "create", "w": "create replace stage", "d": "delete", "l": "list",
		"rwdl": "read head create replace stage delete list",
	} {
		owner := a.NewContainer(t)
		upload(t, owner, "there", "x", nil)
		upload(t, owner, "spare", "x", nil)
		c := blobBearing(t, a, containerName(owner), sas.BlobSignatureValues{ContainerName: containerName(owner),
			Permissions: permission})
		answers := map[string]error{}
		_, answers["head"] = c.NewBlobClient("there").GetProperties(t.Context(), nil)
		_, answers["create"] = c.NewBlockBlobClient("new").Upload(t.Context(), content("x"), nil)
		_, answers["replace"] = c.NewBlockBlobClient("there").Upload(t.Context(), content("x"), nil)
		_, answers["stage"] = c.NewBlockBlobClient("there").StageBlock(t.Context(), blockID(1), content("x"), nil)
		_, answers["list"] = c.NewListBlobsFlatPager(nil).NextPage(t.Context())
		_, answers["read"] = c.NewBlobClient("there").DownloadStream(t.Context(), nil)
		_, answers["delete"] = c.NewBlobClient("spare").Delete(t.Context(), nil)
		for op, err := range answers {
			want := "403 AuthorizationPermissionMismatch"
			if strings.Contains(allowed, op) {
				want = "ok"
			}
			switch {
			case permission == "c" && op == "stage":
				// Depends on the version, and on whether the blob exists.
			case permission == "c" && op == "replace":
				expect(t, a, "c: replace", status(err), 403) // Azure has a special code, UnauthorizedBlobOverwrite
			default:
				expect(t, a, permission+": "+op, answer(err), want)
			}
		}
	}
}

// A token is refused after its expiry and before its start.
func (blobs) BlobTokenExpires(t *testing.T, a Account) {
	owner := a.NewContainer(t)
	upload(t, owner, "a", "x", nil)
	now := time.Now().UTC()
	for what, v := range map[string]sas.BlobSignatureValues{
		"expired": {ExpiryTime: now.Add(-time.Hour)},
		"not yet": {StartTime: now.Add(time.Hour), ExpiryTime: now.Add(2 * time.Hour)},
	} {
		v.ContainerName, v.Permissions = containerName(owner), "r"
		c := blobBearing(t, a, v.ContainerName, v)
		expect(t, a, what, download(t, c.NewBlobClient("a"), nil), "403 AuthenticationFailed",
			differs(Azurite, "403 AuthorizationFailure", "has one code for every refusal of a blob's token"))
	}
}
