package blob

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"furrow/tables/local/internal/wire"
)

// A record is everything about a blob except its blocks.
type record struct {
	Created  int64 // ticks
	Changed  int64 // ticks; source of ETag and Last-Modified
	Size     int64 // bytes
	Headers  headers
	Metadata map[string]string `json:",omitempty"`
	Append   bool              `json:",omitempty"` // an append blob, otherwise a block blob
	Appended int               `json:",omitempty"` // number of an append blob's blocks
	Copy     *copied           `json:",omitempty"` // that made it
}

// kind returns the blob's type as Azure names it.
func (r *record) kind() string {
	if r.Append {
		return appendBlob
	}
	return blockBlob
}

func parseRecord(value []byte) (*record, error) {
	var r record
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, fmt.Errorf("record of a blob: %w", err)
	}
	return &r, nil
}

// setVersion sets ETag and Last-Modified.
func setVersion(h http.Header, changed int64) {
	wire.Set(h, "ETag", `"`+etag(changed)+`"`)
	wire.Set(h, "Last-Modified", wire.HTTPTime(modified(changed)))
}

// setUnleased sets the headers of something without a lease.
func setUnleased(h http.Header) {
	wire.Set(h, "x-ms-lease-status", "unlocked")
	wire.Set(h, "x-ms-lease-state", "available")
}

// setAll sets the headers that describe a blob, except its length.
func (r *record) setAll(h http.Header) {
	setVersion(h, r.Changed)
	wire.SetMetadata(h, r.Metadata)
	setUnleased(h)
	r.Headers.set(h)
	wire.Set(h, "Accept-Ranges", "bytes")
	wire.Set(h, "x-ms-blob-type", r.kind())
	wire.Set(h, "x-ms-creation-time", wire.HTTPTime(modified(r.Created)))
	wire.Set(h, "x-ms-server-encrypted", "true")
	if r.Copy != nil {
		r.Copy.set(h, strconv.FormatInt(r.Size, 10))
	}
	if r.Append {
		wire.Set(h, "x-ms-blob-committed-block-count", strconv.Itoa(r.Appended))
		return
	}
	wire.Set(h, "x-ms-access-tier", "Hot") // append blobs have no tiers
	wire.Set(h, "x-ms-access-tier-inferred", "true")
}
