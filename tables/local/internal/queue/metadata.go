package queue

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"furrow/tables/local/internal/wire"
)

// maxMetadata bounds a queue's metadata, names and values, in bytes
// (learn.microsoft.com/rest/api/storageservices/setting-and-retrieving-properties-and-metadata-for-queue-resources).
const maxMetadata = 8 << 10

const metadataPrefix = "x-ms-meta-"

var (
	errMetadataLarge = &wire.Error{Status: http.StatusBadRequest, Code: "MetadataTooLarge",
		Message: "The size of the specified metadata exceeds the maximum size permitted."}
	errMetadataEmpty = &wire.Error{Status: http.StatusBadRequest, Code: "EmptyMetadataKey",
		Message: "The key for one of the metadata key-value pairs is empty."}
	errMetadataName = &wire.Error{Status: http.StatusBadRequest, Code: "InvalidMetadata",
		Message: "The metadata specified is invalid. It has characters that are not permitted."}
)

// parseMetadata gives what the headers x-ms-meta-* say, by name in lower case,
// since HTTP does not tell names by their case. Nil is none.
func parseMetadata(head http.Header) (map[string]string, error) {
	var m map[string]string
	size := 0
	for header, values := range head {
		name, ok := strings.CutPrefix(strings.ToLower(header), metadataPrefix)
		if !ok {
			continue
		}
		value := strings.Join(values, ",")
		if size += len(name) + len(value); size > maxMetadata {
			return nil, errMetadataLarge
		}
		if err := checkMetadata(name, value); err != nil {
			return nil, err
		}
		if m == nil {
			m = map[string]string{}
		}
		m[name] = value
	}
	return m, nil
}

// checkMetadata holds a name to C#'s rule for identifiers, as far as a header's
// name can tell, and a value to what a header can hold.
func checkMetadata(name, value string) error {
	if name == "" {
		return errMetadataEmpty
	}
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9' || i == 0) {
			return errMetadataName
		}
	}
	if !wire.Printable(value) {
		return errMetadataName
	}
	return nil
}

// getMetadata answers with the metadata and the number of messages, those that
// are invisible too.
func (h *handler) getMetadata(w http.ResponseWriter, name string) error {
	var metadata map[string]string
	var count int64
	err := h.with(name, func(q *queue) (func() error, error) {
		metadata, count = q.record.Metadata, q.tally.count
		return nil, nil
	})
	if err != nil {
		return err
	}
	head := w.Header()
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		wire.Set(head, metadataPrefix+name, metadata[name])
	}
	wire.Set(head, "x-ms-approximate-messages-count", strconv.FormatInt(count, 10))
	return empty(w, http.StatusOK)
}

// setMetadata replaces the metadata as a whole.
func (h *handler) setMetadata(w http.ResponseWriter, r *wire.Request, name string) error {
	metadata, err := parseMetadata(r.Header)
	if err != nil {
		return err
	}
	err = h.edit(name, func(c *record) { c.Metadata = metadata })
	if err != nil {
		return err
	}
	return empty(w, http.StatusNoContent)
}

// edit changes a queue's record.
func (s *Service) edit(name string, change func(*record)) error {
	return s.with(name, func(q *queue) (func() error, error) {
		changed := q.record
		change(&changed)
		b := s.store.Batch()
		wait, err := s.putRecord(b, changed)
		if err != nil {
			return b.Drop, err
		}
		q.record = changed
		return wait, nil
	})
}
