// Package service is what the clients of the three storage services have in
// common: their errors, each in one line, what is told of their requests, and
// counts of these.
package service

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// A Failure is an error that a service has answered, in one line: azcore's own
// has a page.
type Failure struct {
	Code     string
	Message  string // of the service, where it says more than the code
	Status   int
	Request  string         // id by which the service's makers find it
	Response *http.Response // its body was read, and azcore has kept it
	Name     error          // what a caller decides on; nil where it has no name
	cause    error
}

// Read gives an error of an SDK's client as a Failure with the name that name
// finds for it, and keeps the original in the chain. An error of the way to the
// service loses the query of its URL, which may hold a signature. Others, and
// nil, stay as they are.
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

// Busy tells whether the service, or something on the way to it that has no
// codes, will do it later, or may have done it and took too long to say so.
// learn.microsoft.com: "Common REST API error codes".
func (f *Failure) Busy() bool {
	switch f.Code {
	case "ServerBusy", "OperationTimedOut", "InternalError", "TooManyRequests":
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

// unanswered is an error of the way to a service: what was asked may be done.
type unanswered struct {
	text  string
	cause error
}

func (u *unanswered) Error() string { return u.text }
func (u *unanswered) Unwrap() error { return u.cause }
