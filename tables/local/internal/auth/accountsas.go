package auth

import (
	"net/http"
	"strings"

	"furrow/tables/local/internal/wire"
)

// Errors for an account SAS of another service or of other kinds of resources.
var (
	errService = &wire.Error{Status: http.StatusForbidden, Code: "AuthorizationServiceMismatch",
		Message: "This request is not authorized to perform this operation using this service."}
	errType = &wire.Error{Status: http.StatusForbidden, Code: "AuthorizationResourceTypeMismatch",
		Message: "This request is not authorized to perform this operation using this resource type."}
)

// accountSAS checks a SAS of the account, which is for whole services
// (learn.microsoft.com/rest/api/storageservices/create-account-sas).
func (v *Verifier) accountSAS(r *wire.Request) (*Grant, error) {
	q := r.Query
	lines := []string{v.Account}
	for _, name := range []string{"sp", "ss", "srt", "st", "se", "sip", "spr", "sv"} {
		lines = append(lines, q.Get(name))
	}
	if q.Get("sv") >= "2020-12-06" {
		lines = append(lines, q.Get("ses"))
	}
	text := strings.Join(lines, "\n") + "\n"
	if !signed(v.Key, text, q.Get("sig")) {
		return nil, failed("Signature did not match. String to sign used was " + text)
	}
	g := &Grant{Types: q.Get("srt"), query: q}
	if q.Has("si") || strings.Trim(g.Types, "sco") != "" || g.Types == "" {
		return nil, failed("An account SAS needs resource types (srt), and has no stored access policy.")
	}
	var err error
	if g.Perms, err = g.permissions(nil, r.Now); err != nil {
		return nil, err
	}
	if err := checkOrigin(r); err != nil {
		return nil, err
	}
	if !strings.Contains(q.Get("ss"), string(r.Service[:1])) {
		return nil, errService
	}
	return g, nil
}

// AllowAccount returns an error unless an account SAS permits an operation. The rule is a resource type
// (s: service, c: table, queue or container, o: their contents), a colon, and permissions. One of them is enough;
// with "*" the operation checks them. An empty rule permits nothing.
func (g *Grant) AllowAccount(rule string) error {
	kind, perms, _ := strings.Cut(rule, ":")
	switch {
	case rule == "":
		return errUnauthorized
	case !strings.Contains(g.Types, kind):
		return errType
	case perms == "*":
		return nil
	}
	return g.Allow(perms)
}

// For reports whether the grant is for a table, queue or container, and what is in it.
func (g *Grant) For(name string) bool {
	return g.Owner || g.Types != "" || strings.EqualFold(g.Name, name)
}
