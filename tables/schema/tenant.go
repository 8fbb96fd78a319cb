package schema

import (
	"fmt"

	"furrow/tables"
)

// A Tenant owns devices. It is text of 1 to 128 characters without control characters and
// without white space at its ends, and neither "." nor "..".
type Tenant string

// ParseTenant returns s as a Tenant, or why it is invalid.
func ParseTenant(s string) (Tenant, error) {
	if s == "." || s == ".." {
		return "", fmt.Errorf("tenant %q: a URL cannot contain it as a part of its path; choose another name", s)
	}
	return Tenant(s), checkText("tenant", s)
}

// Key returns t escaped as a part of keys and names: letters, digits and - . _ =.
func (t Tenant) Key() string { return escape(string(t)) }

// ParseTenantKey parses the result of Key, and nothing else.
func ParseTenantKey(s string) (Tenant, error) {
	text, err := unescape(s)
	if err != nil {
		return "", fmt.Errorf("tenant %s: %w", tables.Quote(s), err)
	}
	return ParseTenant(text)
}

// A Site is the place of a device: text with the rules of a Tenant, where "." is allowed.
type Site string

// ParseSite returns s as a Site, or why it is invalid.
func ParseSite(s string) (Site, error) { return Site(s), checkText("site", s) }
