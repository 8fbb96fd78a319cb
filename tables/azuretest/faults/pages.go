package faults

import (
	"net/http"
	"path"
	"strings"
)

// ourToken is the continuation token of an empty page that stands before the
// first. A query that comes back with it is the query without a token. (Only
// the transport that gave it knows it, as only a service knows its own.)
const ourToken = "faults!start"

// queriesEntities tells a query from the reading of one row, whose path ends in
// its keys, from the list of tables, and from other services.
func queriesEntities(req *http.Request) bool {
	resource := path.Base(strings.TrimSuffix(req.URL.Path, "()"))
	return req.Method == http.MethodGet && acceptsJSON(req) && !strings.ContainsRune(resource, '(') &&
		resource != "Tables" && !req.URL.Query().Has("comp")
}

// emptyPage answers a query with no rows and a token by which it goes on where
// it stood: the token that it came with. Azure gives such pages where a query
// crosses servers or takes long, and some have no NextRowKey.
// https://learn.microsoft.com/rest/api/storageservices/query-timeout-and-pagination
func emptyPage(req *http.Request) *http.Response {
	resp := answer(req, http.StatusOK, tableJSON, `{"value":[]}`)
	query := req.URL.Query()
	if !query.Has("NextPartitionKey") {
		resp.Header.Set("x-ms-continuation-NextPartitionKey", ourToken)
		return resp
	}
	for _, name := range []string{"NextPartitionKey", "NextRowKey"} {
		if query.Has(name) {
			resp.Header.Set("x-ms-continuation-"+name, query.Get(name))
		}
	}
	return resp
}

// withoutOurToken is the request as the service is to see it. Neither shared
// keys nor tokens sign the query's continuation.
func withoutOurToken(req *http.Request) *http.Request {
	query := req.URL.Query()
	if query.Get("NextPartitionKey") != ourToken {
		return req
	}
	query.Del("NextPartitionKey")
	req = req.Clone(req.Context())
	req.URL.RawQuery = query.Encode()
	return req
}
