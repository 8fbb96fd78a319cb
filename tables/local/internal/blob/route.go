package blob

import (
	"net/http"
	"slices"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// An operation serves one kind of request.
type operation func(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error

// route finds the operation by what the URL names, the method and comp.
func (s *Service) route(r *wire.Request, at target) (operation, error) {
	comp := r.Query.Get("comp")
	var routes map[string]operation
	switch {
	case at.container == "":
		routes = map[string]operation{
			"GET list": s.listContainers,
		}
	case at.blob == "":
		routes = map[string]operation{
			"PUT ":          s.createContainer,
			"GET ":          s.containerProperties,
			"HEAD ":         s.containerProperties,
			"GET metadata":  s.containerProperties,
			"HEAD metadata": s.containerProperties,
			"PUT metadata":  s.setContainerMetadata,
			"GET acl":       s.getACL,
			"HEAD acl":      s.getACL,
			"PUT acl":       s.setACL,
			"DELETE ":       s.deleteContainer,
			"GET list":      s.listBlobs,
		}
	default:
		routes = map[string]operation{
			"PUT ":           s.putBlob,
			"GET ":           s.getBlob,
			"HEAD ":          s.getBlob,
			"DELETE ":        s.deleteBlob,
			"GET metadata":   s.getMetadata,
			"HEAD metadata":  s.getMetadata,
			"PUT metadata":   s.setMetadata,
			"PUT properties": s.setProperties,
			"PUT block":      s.putBlock,
			"PUT blocklist":  s.putBlockList,
			"GET blocklist":  s.getBlockList,
		}
	}
	if do, ok := routes[r.Method+" "+comp]; ok {
		return do, nil
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		if _, ok := routes[method+" "+comp]; ok {
			return nil, errMethod
		}
	}
	if comp == "" {
		return nil, wire.BadQuery("comp", "", "The URL names neither a container nor an operation of the service.")
	}
	return nil, wire.NotImplemented(unserved(at, comp))
}

// operations are what comp names and this server does not serve.
var operations = map[string]string{
	"lease": "leases", "snapshot": "snapshots", "copy": "Abort Copy Blob", "tier": "access tiers (Set Blob Tier)",
	"tags": "blob index tags", "blobs": "Find Blobs by Tags", "page": "page blobs (Put Page)", "pagelist": "page blobs (Get Page Ranges)",
	"incrementalcopy": "page blobs (Incremental Copy Blob)", "appendblock": "append blobs (Append Block)", "seal": "append blobs (Seal)",
	"undelete": "soft delete (Undelete)", "query": "Query Blob Contents", "batch": "Blob Batch", "rename": "Rename Container",
	"stats": "Get Blob Service Stats", "userdelegationkey": "Get User Delegation Key", "expiry": "Set Blob Expiry",
	"immutabilityPolicies": "immutability policies", "legalhold": "legal holds",
}

func unserved(at target, comp string) string {
	name, known := operations[comp]
	switch {
	case known:
		return name
	case at.container == "" && comp == "properties":
		return "the Blob service's and the account's properties (comp=properties)"
	}
	return "comp=" + comp + " on blobs"
}

// unservedHeaders are what a request may ask for beside its operation. Passing
// over one would keep something other than what the client means.
var unservedHeaders = []struct{ name, what string }{
	{"x-ms-copy-source", "copies (Copy Blob, Put Blob From URL, Put Block From URL)"},
	{"x-ms-structured-body", "structured bodies (transfer validation by x-ms-structured-body)"},
	{"x-ms-encryption-key", "customer-provided keys (x-ms-encryption-key)"},
	{"x-ms-encryption-key-sha256", "customer-provided keys (x-ms-encryption-key-sha256)"},
	{"x-ms-encryption-scope", "encryption scopes (x-ms-encryption-scope)"},
	{"x-ms-default-encryption-scope", "encryption scopes (x-ms-default-encryption-scope)"},
	{"x-ms-blob-public-access", "anonymous access (x-ms-blob-public-access)"},
	{"x-ms-access-tier", "access tiers (x-ms-access-tier)"},
	{"x-ms-tags", "blob index tags (x-ms-tags)"},
	{"x-ms-if-tags", "conditions on blob index tags (x-ms-if-tags)"},
	{"x-ms-immutability-policy-until-date", "immutability policies"},
	{"x-ms-immutability-policy-mode", "immutability policies"},
	{"x-ms-legal-hold", "legal holds"},
	{"x-ms-expiry-option", "blob expiry (x-ms-expiry-option)"},
	{"x-ms-blob-content-length", "page blobs (x-ms-blob-content-length)"},
	{"x-ms-blob-sequence-number", "page blobs (x-ms-blob-sequence-number)"},
	{"x-ms-sequence-number-action", "page blobs (x-ms-sequence-number-action)"},
	{"x-ms-blob-condition-appendpos", "append blobs (x-ms-blob-condition-appendpos)"},
	{"x-ms-blob-condition-maxsize", "append blobs (x-ms-blob-condition-maxsize)"},
	{"x-ms-upn", "directories (x-ms-upn)"},
}

// unservedQueries are the parameters that name another version of a blob.
var unservedQueries = []string{"snapshot", "versionid", "prevsnapshot", "deletetype", "showonly"}

// checkServed names what this server does not serve.
func checkServed(r *wire.Request, at target) error {
	if r.Method == http.MethodOptions {
		return wire.NotImplemented("CORS preflight requests")
	}
	for _, h := range unservedHeaders {
		if r.Header.Get(h.name) != "" {
			return wire.NotImplemented(h.what)
		}
	}
	for name := range r.Query {
		if slices.Contains(unservedQueries, name) {
			return wire.NotImplemented("snapshots, versions and soft delete (" + name + " in the URL)")
		}
	}
	if r.Query.Get("restype") == "container" && at.blob != "" || r.Query.Get("restype") == "account" {
		return wire.NotImplemented("restype=" + r.Query.Get("restype") + " here")
	}
	if r.Header.Get("x-ms-lease-id") != "" && r.Query.Get("comp") != "lease" {
		return errNoLease(at)
	}
	return nil
}

// errNoLease refuses a lease id: there are no leases, so the one named is not held.
func errNoLease(at target) error {
	what, code := "blob", "LeaseNotPresentWithBlobOperation"
	if at.blob == "" {
		what, code = "container", "LeaseNotPresentWithContainerOperation"
	}
	return &wire.Error{Status: http.StatusPreconditionFailed, Code: code, Message: "There is currently no lease on the " + what + "."}
}
