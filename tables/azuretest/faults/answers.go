package faults

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// busy and timedOut are the errors of a service under load.
// https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes
func busy(req *http.Request) *http.Response {
	return refusal(req, http.StatusServiceUnavailable, "ServerBusy",
		"The server is currently unable to receive requests. Please retry your request.")
}

func timedOut(req *http.Request) *http.Response {
	return refusal(req, http.StatusInternalServerError, "OperationTimedOut",
		"The operation could not be completed within the permitted time.")
}

// refusal returns an error in the format of the request's service: JSON if the request
// accepts it, as for tables, otherwise XML.
func refusal(req *http.Request, status int, code, message string) *http.Response {
	id := uuid.NewString()
	message += "\nRequestId:" + id + "\nTime:" + time.Now().UTC().Format("2006-01-02T15:04:05.0000000Z")
	var resp *http.Response
	if acceptsJSON(req) {
		resp = answer(req, status, tableJSON,
			fmt.Sprintf(`{"odata.error":{"code":%q,"message":{"lang":"en-US","value":%q}}}`, code, message))
	} else {
		resp = answer(req, status, "application/xml",
			fmt.Sprintf(`<?xml version="1.0" encoding="utf-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`,
				code, message))
		resp.Header.Set("x-ms-error-code", code)
	}
	resp.Header.Set("x-ms-request-id", id)
	return resp
}

const tableJSON = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"

func acceptsJSON(req *http.Request) bool { return strings.Contains(req.Header.Get("Accept"), "json") }

// answer returns a response without a server.
func answer(req *http.Request, status int, contentType, body string) *http.Response {
	h := http.Header{}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	h.Set("x-ms-version", req.Header.Get("x-ms-version"))
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", status, http.StatusText(status)),
		StatusCode: status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        h,
		Body:          io.NopCloser(bytes.NewReader([]byte(body))),
		ContentLength: int64(len(body)),
		Request:       req,
	}
}

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
