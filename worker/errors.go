package worker

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"furrow/tables"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
)

// What a caller decides on; a busy queue is tables.ErrBusy, as storage is one.
var (
	// ErrLeaseLost says that a message is no longer its holder's: another has
	// it, or it was finished. It is an outcome, and the cause with which the
	// context of a job ends.
	ErrLeaseLost = errors.New("the lease of the message is lost")
	ErrNoQueue   = errors.New("no such queue")
)

// named gives an error of the queue service one of the names above where it
// has one, and keeps the original in the chain. Every code is known here.
// learn.microsoft.com: "Queue service error codes", "Common REST API error codes".
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
	switch code := queueerror.Code(re.ErrorCode); {
	case code == queueerror.PopReceiptMismatch, code == queueerror.MessageNotFound:
		f.name = ErrLeaseLost
	case code == queueerror.QueueNotFound, code == queueerror.QueueBeingDeleted:
		f.name = ErrNoQueue
	case code == queueerror.ServerBusy, code == queueerror.OperationTimedOut, code == queueerror.InternalError, code == "TooManyRequests":
		f.name = tables.ErrBusy
	case code == "" && (re.StatusCode == http.StatusServiceUnavailable || re.StatusCode == http.StatusTooManyRequests):
		f.name = tables.ErrBusy // said by something on the way, which has no codes
	}
	return f
}

// withoutQuery is an error of the transport without the query of its URL, which
// may hold a signature, and does hold the receipt of a message.
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

// refused tells an error after which what was asked is surely not done from one
// after which it may be: a busy service has looked at nothing, and all other
// codes are reasons. A service that took too long, and a connection that broke,
// say nothing.
func refused(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && (f.status < 500 || f.code == string(queueerror.ServerBusy))
}
