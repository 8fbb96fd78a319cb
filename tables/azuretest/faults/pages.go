package faults

import (
	"net/http"
	"path"
	"strings"
)

// ourToken is the continuation token of an empty page before the first page. A query
// with this token is sent without a token.
const ourToken = "faults!start"

// queriesEntities reports whether a request is a query of entities: not the read of one
// row, whose path ends in its keys, not the list of tables, and not another service.
func queriesEntities(req *http.Request) bool {
	resource := path.Base(strings.TrimSuffix(req.URL.Path, "()"))
	return req.Method == http.MethodGet && acceptsJSON(req) && !strings.ContainsRune(resource, '(') &&
		resource != "Tables" && !req.URL.Query().Has("comp")
}

// emptyPage answers a query with no rows and the token of the query, so that it
// continues at the same place. Azure sends such pages if a query crosses servers or
// takes long; some have no NextRowKey.
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

// withoutOurToken removes ourToken from a request. Neither SharedKey for tables nor a SAS signs it.
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
