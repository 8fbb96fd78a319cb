package archive

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"furrow/tables"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// ErrNoContainer is an archive that was not created. What else a caller decides
// on has its name from tables: ErrExists, ErrConflict and ErrBusy.
var ErrNoContainer = errors.New("no such container")

// What only a Store decides on.
var (
	errNoObject   = errors.New("no such object")
	errBlocksGone = errors.New("another writer has dropped its blocks") // as every commit drops all that it does not name
)

// named gives an error of the blob service one of the names above where it has
// one, and keeps the original in the chain. Every code is known here.
// learn.microsoft.com: "Blob service error codes", "Common REST API error codes".
func named(err error) error {
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*url.Error](err); ok {
		return withoutQuery(err, wrong)
	}
	re, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok {
		return err
	}
	f := &failure{code: re.ErrorCode, status: re.StatusCode, cause: err}
	if re.RawResponse != nil {
		f.request = re.RawResponse.Header.Get("x-ms-request-id")
	}
	switch code := bloberror.Code(re.ErrorCode); code {
	case bloberror.ContainerNotFound, bloberror.ContainerBeingDeleted:
		f.name = ErrNoContainer
	case bloberror.BlobNotFound:
		f.name = errNoObject
	case bloberror.ContainerAlreadyExists, bloberror.BlobAlreadyExists:
		f.name = tables.ErrExists
	case bloberror.ConditionNotMet:
		f.name = tables.ErrConflict
	case bloberror.InvalidBlockList:
		f.name = errBlocksGone
	case bloberror.ServerBusy, bloberror.OperationTimedOut, bloberror.InternalError, "TooManyRequests":
		f.name = tables.ErrBusy
	case "":
		if f.status == http.StatusServiceUnavailable || f.status == http.StatusTooManyRequests {
			f.name = tables.ErrBusy // said by something on the way, which has no codes
		}
	}
	return f
}

// withoutQuery is an error of the transport without the query of its URL, which
// may hold a signature.
func withoutQuery(err error, wrong *url.Error) error {
	where := wrong.URL
	if u, bad := url.Parse(where); bad == nil {
		u.RawQuery = ""
		where = u.String()
	}
	return &unanswered{text: fmt.Sprintf("%s %s: %v", wrong.Op, where, wrong.Err), cause: err}
}

// unanswered is an error of the way to storage: what was asked may be done.
type unanswered struct {
	text  string
	cause error
}

func (u *unanswered) Error() string { return u.text }
func (u *unanswered) Unwrap() error { return u.cause }

// A failure is an error of the service in one line: azcore's own has a page.
type failure struct {
	code    string
	status  int
	request string
	name    error // one of the names above, or nil
	cause   error
}

func (f *failure) Error() string {
	text, code := http.StatusText(f.status), f.code
	if f.name != nil {
		text = f.name.Error()
	}
	if code == "" {
		code = "no code"
	}
	text = fmt.Sprintf("%s (%s, %d", text, code, f.status)
	if f.request != "" {
		text += ", request " + f.request
	}
	return text + ")"
}

func (f *failure) Unwrap() []error {
	if f.name == nil {
		return []error{f.cause}
	}
	return []error{f.name, f.cause}
}

// refused tells whether storage has said why it will not do what was asked, now
// or later. All other errors are "unknown": it may be done (invariant 9).
func refused(err error) bool {
	for _, unknown := range []error{tables.ErrBusy, tables.ErrExists, tables.ErrConflict, errBlocksGone, errNoObject} {
		if errors.Is(err, unknown) {
			return false
		}
	}
	f, ok := errors.AsType[*failure](err)
	return ok && f.status < 500
}
