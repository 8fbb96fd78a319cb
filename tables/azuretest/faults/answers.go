package faults

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
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
