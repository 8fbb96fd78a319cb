package tables

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"furrow/tables/service"
)

// Azurite refuses a stored policy without all terms, and ignores the terms of a token that
// names a policy. So missing terms are set to values that no other policy has, and removed
// when the policy is read: such a token may add rows, for as long as its policy exists.
var (
	azuriteExpiry = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	azuriteStart  = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
)

const azuriteMay = "a"

// complete returns p in the form that Azurite accepts.
func (p StoredPolicy) complete() StoredPolicy {
	if p.Start.IsZero() {
		p.Start = azuriteStart
	}
	if p.Expiry.IsZero() {
		p.Expiry = azuriteExpiry
	}
	if p.Permissions == "" {
		p.Permissions = azuriteMay
	}
	return p
}

// incomplete undoes complete.
func (p StoredPolicy) incomplete() StoredPolicy {
	if p.Start.Equal(azuriteStart) {
		p.Start = time.Time{}
	}
	if p.Expiry.Equal(azuriteExpiry) {
		p.Expiry = time.Time{}
		if p.Permissions == azuriteMay {
			p.Permissions = ""
		}
	}
	return p
}

// isAzurite reports whether an answer comes from Azurite.
func isAzurite(h http.Header) bool { return strings.HasPrefix(h.Get("Server"), "Azurite") }

// refusedByAzurite reports a 400 from Azurite, as for a policy without all terms.
func refusedByAzurite(err error) bool {
	f, ok := errors.AsType[*service.Failure](err)
	return ok && f.Status == http.StatusBadRequest && f.Response != nil && isAzurite(f.Response.Header)
}
