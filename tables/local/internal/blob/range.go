package blob

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"furrow/tables/local/internal/wire"
)

// maxSummed is the longest range that is answered with its checksums, in bytes
// (learn.microsoft.com/rest/api/storageservices/get-blob).
const maxSummed = 4 << 20

// A span is n bytes starting at off.
type span struct{ off, n int64 }

// header returns the value of Content-Range.
func (s span) header(size int64) string {
	return fmt.Sprintf("bytes %d-%d/%d", s.off, s.off+s.n-1, size)
}

// A byteRange is the range of bytes in a request.
type byteRange struct {
	given    bool
	from, to int64 // both included; to is -1 for the end
	md5, crc bool  // answer with the checksum of the range
}

var (
	errRange = &wire.Error{Status: http.StatusRequestedRangeNotSatisfiable, Code: "InvalidRange",
		Message: "The range specified is invalid for the current size of the resource."}
	errSummed = &wire.Error{Status: http.StatusBadRequest, Code: "OutOfRangeInput",
		Message: "One of the request inputs is out of range: checksums of a range are given up to 4 MiB."}
)

// parseRange parses x-ms-range or, if it is absent, Range. A form that Azure does not
// support is ignored, which HTTP allows and SDKs rely on: some send bytes=-1- for the
// whole blob.
func parseRange(h http.Header) (byteRange, error) {
	b := byteRange{to: -1}
	b.given = b.parse(cmp.Or(h.Get("x-ms-range"), h.Get("Range")))
	for name, on := range map[string]*bool{"x-ms-range-get-content-md5": &b.md5,
		"x-ms-range-get-content-crc64": &b.crc} {
		value := h.Get(name)
		*on = strings.EqualFold(value, "true")
		if *on && !b.given {
			return b, wire.BadHeader(name, value)
		}
	}
	if b.md5 && b.crc {
		return b, wire.BadHeader("x-ms-range-get-content-crc64", "true") // Azure returns only one of them
	}
	return b, nil
}

// parse parses bytes=from-to and bytes=from-.
func (b *byteRange) parse(text string) bool {
	text, ok := strings.CutPrefix(text, "bytes=")
	from, to, dash := strings.Cut(text, "-")
	if !ok || !dash {
		return false
	}
	var okFrom, okTo bool
	b.from, okFrom = parseOffset(from)
	if to == "" {
		b.to, okTo = -1, true
	} else {
		b.to, okTo = parseOffset(to)
		okTo = okTo && b.from <= b.to
	}
	return okFrom && okTo
}

// parseOffset parses decimal digits only.
func parseOffset(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err == nil
}

// spanIn returns the span of the range in a blob of size bytes.
func (b byteRange) spanIn(size int64) (span, error) {
	if !b.given {
		return span{0, size}, nil
	}
	if b.from >= size {
		return span{}, errRange
	}
	end := size - 1
	if b.to >= 0 && b.to < end {
		end = b.to
	}
	s := span{b.from, end - b.from + 1}
	if (b.md5 || b.crc) && s.n > maxSummed {
		return span{}, errSummed
	}
	return s, nil
}
