// Package service implements what the clients of the three storage services share:
// errors in one line, observation of requests, and counts of operations.
package service

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// A Failure is an error that a service answered. Its text has one line; that of azcore
// fills a page.
type Failure struct {
	Code     string
	Message  string // of the service, if it says more than the code
	Status   int
	Request  string         // ID for support requests
	Response *http.Response // its body has been read; azcore keeps it
	Name     error          // what callers compare with errors.Is; may be nil
	cause    error
}

// Read converts an error of an SDK's client to a Failure that wraps it, with the name
// that name returns. It removes the query from the URL of a network error, because it
// may contain a signature. Other errors, and nil, are returned unchanged.
func Read(err error, name func(*Failure) error) error {
	if _, done := errors.AsType[*Failure](err); done || err == nil {
		return err
	}
	if wrong, ok := errors.AsType[*url.Error](err); ok {
		return withoutQuery(err, wrong)
	}
	re, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok {
		return err
	}
	f := &Failure{Code: re.ErrorCode, Status: re.StatusCode, Response: re.RawResponse, cause: err}
	if re.RawResponse != nil {
		f.Request = re.RawResponse.Header.Get("x-ms-request-id")
	}
	f.Name = name(f)
	return f
}

// diskFull is the code of embedded storage whose disk is full.
const diskFull = "InsufficientStorage"

// Busy reports whether the service, or a proxy that has no codes, is overloaded or has
// no room, or took too long to answer a request that may have been done.
// learn.microsoft.com: "Common REST API error codes".
func (f *Failure) Busy() bool {
	switch f.Code {
	case "ServerBusy", "OperationTimedOut", "InternalError", "TooManyRequests",
		diskFull:
		return true
	case "":
		return f.Status == http.StatusServiceUnavailable || f.Status == http.StatusTooManyRequests
	}
	return false
}

func (f *Failure) Error() string {
	text, code := f.Message, f.Code
	if f.Name != nil {
		text = f.Name.Error()
	}
	if code == diskFull {
		text = "the disk of the storage is full"
	}
	if text == "" {
		text = http.StatusText(f.Status)
	}
	if code == "" {
		code = "no code"
	}
	text = fmt.Sprintf("%s (%s, %d", text, code, f.Status)
	if f.Request != "" {
		text += ", request " + f.Request
	}
	return text + ")"
}

func (f *Failure) Unwrap() []error {
	if f.Name == nil {
		return []error{f.cause}
	}
	return []error{f.Name, f.cause}
}

func withoutQuery(err error, wrong *url.Error) error {
	where := wrong.URL
	if u, bad := url.Parse(where); bad == nil {
		u.RawQuery = ""
		where = u.String()
	}
	return &unanswered{text: fmt.Sprintf("%s %s: %v", wrong.Op, where, wrong.Err), cause: err}
}

// unanswered is a network error: the request may have been done.
type unanswered struct {
	text  string
	cause error
}

func (u *unanswered) Error() string { return u.text }
func (u *unanswered) Unwrap() error { return u.cause }
