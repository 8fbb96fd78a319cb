package blob

import (
	"encoding/json"
	"fmt"
	"net/http"

	"furrow/tables/local/internal/wire"
)

// A record is all of a blob but where its bytes are.
type record struct {
	Created  int64 // ticks
	Changed  int64 // ticks; the ETag and Last-Modified are made of it
	Size     int64 // bytes
	Headers  headers
	Metadata map[string]string `json:",omitempty"`
}

func parseRecord(value []byte) (*record, error) {
	var r record
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, fmt.Errorf("record of a blob: %w", err)
	}
	return &r, nil
}

// setVersion sets the headers that say which version of a thing this is.
func setVersion(h http.Header, changed int64) {
	wire.Set(h, "ETag", `"`+etag(changed)+`"`)
	wire.Set(h, "Last-Modified", wire.HTTPTime(modified(changed)))
}

// setUnleased says that there is no lease.
func setUnleased(h http.Header) {
	wire.Set(h, "x-ms-lease-status", "unlocked")
	wire.Set(h, "x-ms-lease-state", "available")
}

// setAll sets the headers that describe a blob, but for its length.
func (r *record) setAll(h http.Header) {
	setVersion(h, r.Changed)
	wire.SetMetadata(h, r.Metadata)
	setUnleased(h)
	r.Headers.set(h)
	wire.Set(h, "Accept-Ranges", "bytes")
	wire.Set(h, "x-ms-blob-type", "BlockBlob")
	wire.Set(h, "x-ms-creation-time", wire.HTTPTime(modified(r.Created)))
	wire.Set(h, "x-ms-server-encrypted", "true")
	wire.Set(h, "x-ms-access-tier", "Hot")
	wire.Set(h, "x-ms-access-tier-inferred", "true")
}
