package tables

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"furrow/tables/service"
)

// Azurite refuses a stored policy that leaves anything to the token, and heeds
// nothing of what the token of a policy says. There, what a policy leaves open is
// filled with what no other policy states, and left out again when it is read: a
// token adds, and lives for as long as its policy.
var (
	azuriteExpiry = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	azuriteStart  = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
)

const azuriteMay = "a"

// complete is p as Azurite takes it.
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

// incomplete undoes what complete has done.
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

// isAzurite tells by its answer who has answered.
func isAzurite(h http.Header) bool { return strings.HasPrefix(h.Get("Server"), "Azurite") }

// refusedByAzurite tells an error that Azurite has answered without a code, as it
// does where a policy leaves something open.
func refusedByAzurite(err error) bool {
	f, ok := errors.AsType[*service.Failure](err)
	return ok && f.Status == http.StatusBadRequest && f.Response != nil && isAzurite(f.Response.Header)
}
