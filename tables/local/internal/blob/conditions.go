package blob

import (
	"net/http"
	"strings"
	"time"

	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// conditions are a request's conditional headers
// (learn.microsoft.com/rest/api/storageservices/specifying-conditional-headers-for-blob-service-operations).
type conditions struct {
	match, noneMatch     string
	modified, unmodified time.Time // If-Modified-Since, If-Unmodified-Since; zero where absent
}

var (
	errCondition = &wire.Error{Status: http.StatusPreconditionFailed, Code: "ConditionNotMet",
		Message: "The condition specified using HTTP conditional header(s) is not met."}
	errNotModified = &wire.Error{Status: http.StatusNotModified, Code: errCondition.Code, Message: errCondition.Message}
	errUnsatisfied = &wire.Error{Status: http.StatusBadRequest, Code: "UnsatisfiableCondition",
		Message: "The request includes an unsatisfiable condition for this operation."}
	errConditions = &wire.Error{Status: http.StatusBadRequest, Code: "MultipleConditionHeadersNotSupported",
		Message: "Multiple condition headers are not supported."}
)

// parseConditions parses the conditions of a read, which may be combined.
func parseConditions(h http.Header) (c conditions, err error) {
	c.match, c.noneMatch = h.Get("If-Match"), h.Get("If-None-Match")
	for name, to := range map[string]*time.Time{"If-Modified-Since": &c.modified,
		"If-Unmodified-Since": &c.unmodified} {
		text := h.Get(name)
		if text == "" {
			continue
		}
		if *to, err = http.ParseTime(text); err != nil {
			return c, wire.BadHeader(name, text)
		}
	}
	return c, nil
}

// parseWriteConditions parses the conditions of a write: one, or an ETag and its
// time, which is then ignored.
func parseWriteConditions(h http.Header) (conditions, error) {
	c, err := parseConditions(h)
	if err != nil {
		return c, err
	}
	if c.match != "" {
		c.unmodified = time.Time{}
	}
	if c.noneMatch != "" {
		c.modified = time.Time{}
	}
	given := 0
	for _, is := range []bool{c.match != "", c.noneMatch != "", !c.modified.IsZero(), !c.unmodified.IsZero()} {
		if is {
			given++
		}
	}
	if given > 1 {
		return c, errConditions
	}
	return c, nil
}

// refuseConditions refuses conditions where Azure does not support them, because the
// client relies on them.
func refuseConditions(h http.Header) error {
	for _, name := range []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"} {
		if h.Get(name) != "" {
			return &wire.Error{Status: http.StatusBadRequest, Code: "UnsupportedHeader",
				Message: "One of the HTTP headers specified in the request is not supported.",
				Details: []wire.Detail{{Name: "HeaderName", Value: name}}}
		}
	}
	return nil
}

// etag returns the ETag of something changed at the given ticks, without quotes.
func etag(changed int64) string {
	const digits = "0123456789ABCDEF"
	var b [18]byte
	i := len(b)
	for n := uint64(changed); n > 0; n >>= 4 {
		i--
		b[i] = digits[n&15]
	}
	return "0x" + string(b[i:])
}

// modified returns the time of a change for Last-Modified, to the second.
func modified(changed int64) time.Time { return store.FromTicks(changed).Truncate(time.Second) }

// names reports whether a list of ETags, with quotes or without, contains the one of
// changed.
func names(list string, changed int64) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.Trim(strings.TrimPrefix(strings.TrimSpace(one), "W/"), `"`)
		if one == "*" || one == etag(changed) {
			return true
		}
	}
	return false
}

// forRead checks the conditions for an existing blob:
// If-Match && If-Unmodified-Since && (If-None-Match || If-Modified-Since).
func (c conditions) forRead(changed int64) error {
	at := modified(changed)
	switch {
	case c.match != "" && !names(c.match, changed), !c.unmodified.IsZero() && at.After(c.unmodified):
		return errCondition
	case strings.TrimSpace(c.noneMatch) == "*":
		return errUnsatisfied
	}
	asked := c.noneMatch != "" || !c.modified.IsZero()
	another := c.noneMatch != "" && !names(c.noneMatch, changed)
	newer := !c.modified.IsZero() && at.After(c.modified)
	if asked && !another && !newer {
		return errNotModified
	}
	return nil
}

// forWrite checks all conditions for something that exists.
func (c conditions) forWrite(changed int64) error {
	at := modified(changed)
	if c.match != "" && !names(c.match, changed) ||
		c.noneMatch != "" && names(c.noneMatch, changed) ||
		!c.modified.IsZero() && !at.After(c.modified) ||
		!c.unmodified.IsZero() && at.After(c.unmodified) {
		return errCondition
	}
	return nil
}

// forChange checks the conditions of a write to a blob, which must exist.
func (c conditions) forChange(old *record) error {
	if old == nil {
		return errBlobNotFound
	}
	return c.forWrite(old.Changed)
}

// forPut checks the conditions of a write that creates the blob if necessary. For
// Azure, a blob that does not exist has not been modified since any time.
func (c conditions) forPut(old *record) error {
	switch {
	case old == nil && (c.match != "" || !c.modified.IsZero()):
		return errCondition
	case old == nil:
		return nil
	case strings.TrimSpace(c.noneMatch) == "*":
		return errBlobExists
	}
	return c.forWrite(old.Changed)
}
