package blob

import (
	"encoding/binary"
	"net/url"
	"strings"
	"unicode/utf8"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/route"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// Limits of a blob's name
// (learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata).
const (
	maxName     = 1024 // characters
	maxSegments = 254  // parts between slashes
)

// rootContainer contains the blobs whose URL names no container.
const rootContainer = "$root"

// A target is the account, a container or a blob.
type target struct{ container, blob string }

// What a target names.
const (
	onAccount   = "the Blob service"
	onContainer = "containers"
	onBlob      = "blobs"
	onCopy      = "copies of blobs"
	onKind      = "the account's kind" // whatever else the URL names
)

func (t target) Resource() auth.Resource { return auth.Resource{Name: t.container, Blob: t.blob} }

func (t target) Key(r *wire.Request) (route.Key, error) {
	key := route.Key{On: onBlob, Method: r.Method, Comp: r.Query.Get("comp")}
	switch {
	case r.Query.Get("restype") == "account":
		key.On = onKind
	case t.container == "" && key.Comp == "":
		return key, wire.BadQuery("comp", "", "The URL names neither a container nor an operation of the service.")
	case t.container == "":
		key.On = onAccount
	case t.blob == "":
		key.On = onContainer
	case isCopy(r, t):
		key.On = onCopy
	}
	return key, nil
}

// parseTarget parses the path. Slashes in a blob's name may be escaped; a backslash
// counts as a slash, as on Azure.
func parseTarget(r *wire.Request) (target, error) {
	path, err := url.PathUnescape(r.Path)
	if err != nil || !utf8.ValidString(path) {
		return target{}, wire.ErrURI
	}
	container, blob, _ := strings.Cut(strings.ReplaceAll(path, `\`, "/"), "/")
	at := target{container, blob}
	if restype := r.Query.Get("restype"); blob == "" && container != "" && restype != "container" && restype != "account" {
		at = target{rootContainer, container}
	}
	return at, checkBlobName(at.blob)
}

func checkBlobName(name string) error {
	switch {
	case utf8.RuneCountInString(name) > maxName:
		return wire.ErrURI.With("Reason", "A blob's name has at most 1024 characters.")
	case strings.Count(strings.Trim(name, "/"), "/") >= maxSegments:
		return wire.ErrURI.With("Reason", "A blob's name has at most 254 path segments.")
	case strings.ContainsRune(name, 0):
		return wire.ErrURI.With("Reason", "A blob's name has no NUL character.")
	}
	return nil
}

// systemContainers are created by Azure only; here they never exist.
var systemContainers = []string{"$logs", "$blobchangefeed"}

func checkName(name string) error {
	if name == rootContainer || name == "$web" {
		return nil
	}
	return wire.CheckName(name)
}

// Names contain no NUL, so a NUL ends a name that something follows.

func blobKey(id store.ID, name string) []byte   { return append(id.Key(store.PrefixBlob), name...) }
func blocksKey(id store.ID, name string) []byte { return append(id.Key(store.PrefixBlocks), name...) }

// appendedKey returns the key of the block of an append blob at an offset.
func appendedKey(id store.ID, name string, offset int64) []byte {
	return binary.BigEndian.AppendUint64(append(blocksKey(id, name), 0), uint64(offset))
}

// stagedKey returns the key of an uncommitted block or, for an empty block, of the
// record that precedes them.
func stagedKey(id store.ID, name, block string) []byte {
	k := append(id.Key(store.PrefixStaged), name...)
	return append(append(k, 0), block...)
}
