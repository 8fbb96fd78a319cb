package blob

import (
	"net/http"
	"slices"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/route"
	"furrow/tables/local/internal/wire"
)

func (s *Service) router() *route.Router[target] {
	return &route.Router[target]{Authorize: s.auth.Authorize, Room: s.store.Room.Check, Properties: s.own,
		Parse: parseTarget, Check: checkServed,
		Operations: s.operations(), Unserved: unserved}
}

func (s *Service) operations() []route.Operation[target] {
	return append(route.OfService[target](onAccount, s.own), []route.Operation[target]{
		{Name: "List Containers", On: onAccount, Method: "GET", Comp: "list", Account: "s:l", Do: s.containers.list},
		{Name: "Get Account Information", On: onKind, Method: "GET", Head: true, Comp: "properties",
			Allow: route.Itself, Account: ":*", Do: accountKind},
		{Name: "Back Up Storage", On: onAccount, Method: "GET", Comp: "backup",
			Do: func(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, _ target) error {
				return stream(w, r, "application/x-tar", s.Backup)
			}},
		{Name: "Inspect Storage", On: onAccount, Method: "GET", Comp: "inspection",
			Do: func(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, _ target) error {
				return stream(w, r, "application/json", s.Inspect)
			}},

		{Name: "Blob Batch", On: onAccount, Method: "POST", Comp: "batch", Allow: route.Itself, Account: ":*", Do: s.batch},
		{Name: "Blob Batch", On: onContainer, Method: "POST", Comp: "batch", Allow: route.Itself, Account: ":*", Do: s.batch},

		{Name: "Create Container", On: onContainer, Method: "PUT", Account: "c:cw", Do: s.containers.create},
		{Name: "Delete Container", On: onContainer, Method: "DELETE", Account: "c:d", Do: s.containers.delete},
		{Name: "Get Container Properties", On: onContainer, Method: "GET", Head: true, Account: "c:r",
			Do: s.containers.properties},
		{Name: "Get Container Metadata", On: onContainer, Method: "GET", Head: true, Comp: "metadata", Account: "c:r",
			Do: s.containers.properties},
		{Name: "Set Container Metadata", On: onContainer, Method: "PUT", Comp: "metadata", Grows: true, Account: "c:w",
			Do: s.containers.setMetadata},
		{Name: "Get Container ACL", On: onContainer, Method: "GET", Head: true, Comp: "acl", Do: s.containers.getACL},
		{Name: "Set Container ACL", On: onContainer, Method: "PUT", Comp: "acl", Do: s.containers.setACL},
		{Name: "List Blobs", On: onContainer, Method: "GET", Comp: "list", Allow: "l", Account: "c:l", Do: s.listBlobs},

		{Name: "Put Blob", On: onBlob, Method: "PUT", Allow: "cw", Grows: true, Account: "o:cw", Do: s.putBlob},
		{Name: "Copy Blob", On: onCopy, Method: "PUT", Allow: "cw", Grows: true, Account: "o:cw", Do: s.copyBlob},
		{Name: "Get Blob", On: onBlob, Method: "GET", Allow: "r", Account: "o:r", Do: s.getBlob},
		{Name: "Get Blob Properties", On: onBlob, Method: "HEAD", Allow: "r", Account: "o:r", Do: s.getBlob},
		{Name: "Set Blob Properties", On: onBlob, Method: "PUT", Comp: "properties", Allow: "w", Grows: true, Account: "o:w",
			Do: s.setProperties},
		{Name: "Get Blob Metadata", On: onBlob, Method: "GET", Head: true, Comp: "metadata", Allow: "r", Account: "o:r",
			Do: s.getMetadata},
		{Name: "Set Blob Metadata", On: onBlob, Method: "PUT", Comp: "metadata", Allow: "w", Grows: true, Account: "o:w",
			Do: s.setMetadata},
		{Name: "Delete Blob", On: onBlob, Method: "DELETE", Allow: "d", Account: "o:d", Do: s.deleteBlob},
		{Name: "Put Block", On: onBlob, Method: "PUT", Comp: "block", Allow: "w", Grows: true, Account: "o:w",
			Do: s.putBlock},
		{Name: "Put Block List", On: onBlob, Method: "PUT", Comp: "blocklist", Allow: "w", Grows: true, Account: "o:w",
			Do: s.putBlockList},
		{Name: "Append Block", On: onBlob, Method: "PUT", Comp: "appendblock", Allow: "aw", Grows: true, Account: "o:aw",
			Do: s.appendBlock},
		{Name: "Get Block List", On: onBlob, Method: "GET", Comp: "blocklist", Allow: "r", Account: "o:r",
			Do: s.getBlockList},
	}...)
}

// accountKind answers with what kind of account this is like: one copy of the data, and no hierarchy of folders.
func accountKind(w http.ResponseWriter, _ *wire.Request, _ *auth.Grant, _ target) error {
	for name, value := range map[string]string{"x-ms-sku-name": "Standard_LRS", "x-ms-account-kind": "StorageV2",
		"x-ms-is-hns-enabled": "false"} {
		wire.Set(w.Header(), name, value)
	}
	return wire.Empty(w, http.StatusOK)
}

// unserved names the operations, by comp, that answer 501.
var unserved = map[string]string{
	"blobs":                "Find Blobs by Tags",
	"copy":                 "Abort Copy Blob",
	"expiry":               "Set Blob Expiry",
	"immutabilityPolicies": "immutability policies",
	"incrementalcopy":      "page blobs (Incremental Copy Blob)",
	"lease":                "leases",
	"legalhold":            "legal holds",
	"page":                 "page blobs (Put Page)",
	"pagelist":             "page blobs (Get Page Ranges)",
	"query":                "Query Blob Contents",
	"rename":               "Rename Container",
	"seal":                 "append blobs (Seal)",
	"snapshot":             "snapshots",
	"tags":                 "blob index tags",
	"tier":                 "access tiers (Set Blob Tier)",
	"undelete":             "soft delete (Undelete)",
	"userdelegationkey":    "Get User Delegation Key",
}

// unservedHeaders ask for something beside the operation. Ignoring one would
// store something other than what the client means.
var unservedHeaders = []struct{ name, what string }{
	{copySource, "copies of contents (Put Blob From URL, Put Block From URL, Append Block From URL)"},
	{"x-ms-copy-source-authorization", "copies by a Bearer token (x-ms-copy-source-authorization)"},
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
	{"x-ms-upn", "directories (x-ms-upn)"},
}

// unservedQueries are parameters that select another version of a blob.
var unservedQueries = []string{"snapshot", "versionid", "prevsnapshot", "deletetype", "showonly"}

// isCopy reports whether a request is Copy Blob or, which is the same here, Copy Blob From URL.
func isCopy(r *wire.Request, at target) bool {
	return r.Method == http.MethodPut && at.blob != "" && r.Query.Get("comp") == "" && r.Header.Get(copySource) != "" &&
		r.Header.Get("x-ms-blob-type") == ""
}

// checkServed refuses requests for what this server does not serve, by name.
func checkServed(r *wire.Request, at target) error {
	for _, h := range unservedHeaders {
		if r.Header.Get(h.name) != "" && (h.name != copySource || !isCopy(r, at)) {
			return wire.NotImplemented(h.what)
		}
	}
	for name := range r.Query {
		if slices.Contains(unservedQueries, name) {
			return wire.NotImplemented("snapshots, versions and soft delete (" + name + " in the URL)")
		}
	}
	if r.Query.Get("restype") == "container" && at.blob != "" {
		return wire.NotImplemented("restype=" + r.Query.Get("restype") + " here")
	}
	if r.Header.Get("x-ms-lease-id") != "" && r.Query.Get("comp") != "lease" {
		return errNoLease(at)
	}
	return nil
}

// errNoLease is the error for a lease ID: there are no leases.
func errNoLease(at target) error {
	what, code := "blob", "LeaseNotPresentWithBlobOperation"
	if at.blob == "" {
		what, code = "container", "LeaseNotPresentWithContainerOperation"
	}
	return &wire.Error{Status: http.StatusPreconditionFailed, Code: code,
		Message: "There is currently no lease on the " + what + "."}
}
