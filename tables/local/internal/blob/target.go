package blob

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// Bounds of a blob's name
// (learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata).
const (
	maxName     = 1024 // characters
	maxSegments = 254  // parts between slashes
)

// rootContainer has the blobs whose URL names no container.
const rootContainer = "$root"

// A target is what a URL names: the account, a container, or a blob.
type target struct{ container, blob string }

var errURI = &wire.Error{Status: 400, Code: "InvalidUri", Message: "The requested URI does not represent any resource on the server."}

// parseTarget reads the path. Slashes in a blob's name may be escaped or not; a
// backslash is one, as Azure has it.
func parseTarget(r *wire.Request) (target, error) {
	path, err := url.PathUnescape(r.Path)
	if err != nil || !utf8.ValidString(path) {
		return target{}, errURI
	}
	container, blob, _ := strings.Cut(strings.ReplaceAll(path, `\`, "/"), "/")
	at := target{container, blob}
	if blob == "" && container != "" && r.Query.Get("restype") != "container" {
		at = target{rootContainer, container}
	}
	return at, checkBlobName(at.blob)
}

func checkBlobName(name string) error {
	switch {
	case utf8.RuneCountInString(name) > maxName:
		return errURI.With("Reason", "A blob's name has at most 1024 characters.")
	case strings.Count(strings.Trim(name, "/"), "/") >= maxSegments:
		return errURI.With("Reason", "A blob's name has at most 254 path segments.")
	case strings.ContainsRune(name, 0):
		return errURI.With("Reason", "A blob's name has no NUL character.")
	}
	return nil
}

// systemContainers are names that Azure alone gives; here they never exist.
var systemContainers = []string{"$logs", "$blobchangefeed"}

var containerName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func checkContainerName(name string) error {
	switch {
	case name == rootContainer || name == "$web":
		return nil
	case len(name) < 3 || len(name) > 63:
		return &wire.Error{Status: 400, Code: "OutOfRangeInput",
			Message: "The specified resource name length is not within the permissible limits."}
	case !containerName.MatchString(name):
		return &wire.Error{Status: 400, Code: "InvalidResourceName",
			Message: "The specified resource name contains invalid characters."}
	}
	return nil
}

// Names hold no NUL, so one ends the name where something follows it.

func blobKey(id store.ID, name string) []byte   { return append(id.Key(store.PrefixBlob), name...) }
func blocksKey(id store.ID, name string) []byte { return append(id.Key(store.PrefixBlocks), name...) }

// stagedKey is the key of an uncommitted block; without a block, of the record
// that stands before all of the blob's.
func stagedKey(id store.ID, name, block string) []byte {
	k := append(id.Key(store.PrefixStaged), name...)
	return append(append(k, 0), block...)
}
