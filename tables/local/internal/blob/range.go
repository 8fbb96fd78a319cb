package blob

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"furrow/tables/local/internal/wire"
)

// maxSummed is the longest range that is answered with checksums of its own, in bytes
// (learn.microsoft.com/rest/api/storageservices/get-blob).
const maxSummed = 4 << 20

// A span is n bytes from off on.
type span struct{ off, n int64 }

// header is the span as Content-Range has it.
func (s span) header(size int64) string {
	return fmt.Sprintf("bytes %d-%d/%d", s.off, s.off+s.n-1, size)
}

// A byteRange is the part of a blob that a request asks for.
type byteRange struct {
	given    bool
	from, to int64 // both included; to is -1 for the end
	md5, crc bool  // with checksums of the part
}

var (
	errRange = &wire.Error{Status: http.StatusRequestedRangeNotSatisfiable, Code: "InvalidRange",
		Message: "The range specified is invalid for the current size of the resource."}
	errSummed = &wire.Error{Status: http.StatusBadRequest, Code: "OutOfRangeInput",
		Message: "One of the request inputs is out of range: checksums of a range are given up to 4 MiB."}
)

// parseRange reads x-ms-range, or else Range. A form that Azure does not know
// counts as absent, which HTTP allows and SDKs rely on: there are some that send
// bytes=-1- for the whole.
func parseRange(h http.Header) (byteRange, error) {
	b := byteRange{to: -1}
	b.given = b.parse(cmp.Or(h.Get("x-ms-range"), h.Get("Range")))
	for name, on := range map[string]*bool{"x-ms-range-get-content-md5": &b.md5, "x-ms-range-get-content-crc64": &b.crc} {
		value := h.Get(name)
		*on = strings.EqualFold(value, "true")
		if *on && !b.given {
			return b, wire.BadHeader(name, value)
		}
	}
	if b.md5 && b.crc {
		return b, wire.BadHeader("x-ms-range-get-content-crc64", "true") // Azure gives one or the other
	}
	return b, nil
}

// parse reads bytes=from-to and bytes=from-.
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

// parseOffset reads decimal digits alone.
func parseOffset(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err == nil
}

// of is the span of a blob of size bytes that the range asks for.
func (b byteRange) of(size int64) (span, error) {
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
