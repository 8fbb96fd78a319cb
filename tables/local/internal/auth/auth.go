// Package auth authenticates requests and determines what they may do. It accepts
// SharedKey and SharedKeyLite signatures of the account key, account SAS, service SAS of
// tables, queues and containers, with or without a stored access policy, and user
// delegation SAS of tables and queues.
package auth

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"furrow/tables/local/internal/wire"
)

// A Verifier checks requests against one account's key.
type Verifier struct {
	Account string
	Key     []byte
	// Policies returns the stored access policies of a table, queue or container,
	// none if it does not exist.
	Policies func(name string) []Policy
}

// A Grant is what a request may do.
type Grant struct {
	Owner   bool        // signed with the account key: everything is permitted
	Perms   string      // permissions of a SAS
	Range   Range       // keys that a table SAS is for
	Name    string      // table, queue or container that a service SAS is for
	Types   string      // resource types of an account SAS; otherwise empty
	Headers http.Header // headers that a blob SAS sets on the answer (rscc, rscd, rsce, rscl, rsct)

	query url.Values // of a SAS, for Recheck
}

// Allow returns an error unless the grant has one of the permissions.
func (g *Grant) Allow(anyOf string) error {
	if g.Owner || strings.ContainsAny(g.Perms, anyOf) {
		return nil
	}
	return errPermission
}

var errPermission = &wire.Error{Status: http.StatusForbidden, Code: "AuthorizationPermissionMismatch",
	Message: "This request is not authorized to perform this operation using this permission."}

// OwnerOnly returns an error unless the request is signed with the account key. No
// service SAS permits, for example, creating a table.
func (g *Grant) OwnerOnly() error {
	if g.Owner {
		return nil
	}
	return errUnauthorized
}

// errUnauthorized is for operations that no service SAS permits, and keys outside its range.
var errUnauthorized = &wire.Error{Status: http.StatusForbidden, Code: "AuthorizationFailure",
	Message: "This request is not authorized to perform this operation."}

func failed(detail string) *wire.Error {
	return &wire.Error{Status: http.StatusForbidden, Code: "AuthenticationFailed",
		Message: "Server failed to authenticate the request. " +
			"Make sure the value of Authorization header is formed correctly including the signature.",
		Details: []wire.Detail{{Name: "AuthenticationErrorDetail", Value: detail}}}
}

// A Resource is a table, queue or container, or a blob in a container. Name is
// empty for the account itself; Blob is unescaped.
type Resource struct{ Name, Blob string }

// Authorize authenticates r, and returns what it may do with res.
func (v *Verifier) Authorize(r *wire.Request, res Resource) (*Grant, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		return v.byHeader(r, header)
	}
	if r.Query.Has("sig") {
		return v.bySAS(r, res)
	}
	return nil, &wire.Error{Status: http.StatusUnauthorized, Code: "NoAuthenticationInformation",
		Message: "Server failed to authenticate the request. " +
			"Please refer to the information in the www-authenticate header."}
}

func (v *Verifier) byHeader(r *wire.Request, header string) (*Grant, error) {
	scheme, credential, _ := strings.Cut(header, " ")
	switch strings.ToLower(scheme) { // in any case: RFC 9110, 11.1
	case "sharedkey", "sharedkeylite":
		if err := v.sharedKey(r, strings.EqualFold(scheme, "SharedKeyLite"), strings.TrimSpace(credential)); err != nil {
			return nil, err
		}
		return &Grant{Owner: true}, nil
	case "bearer":
		return nil, wire.NotImplemented("authorization by Microsoft Entra (Bearer) tokens")
	}
	return nil, &wire.Error{Status: http.StatusBadRequest, Code: "InvalidAuthenticationInfo",
		Message: "Authentication information is not given in the correct format. " +
			"Check the value of Authorization header."}
}

// parseTime parses the ISO 8601 forms that a SAS or a policy may have.
func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02T15:04:05.9999999Z", "2006-01-02T15:04Z", "2006-01-02",
		time.RFC3339Nano} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
