package tables

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/go-json-experiment/json"
)

// What a caller decides on. Every one may also be the answer to a repeat of
// a request that succeeded and whose answer was lost: read again and compare
// before giving up or going on.
var (
	ErrNotFound = errors.New("no such entity")
	ErrNoTable  = errors.New("no such table")
	ErrExists   = errors.New("it exists already")
	ErrConflict = errors.New("it has changed meanwhile") // If-Match names another version
	ErrBusy     = errors.New("storage is busy")          // still, after the retries
)

// named gives an error of storage one of the names above where it has one, and
// keeps the original in the chain. It goes by codes, as one status means many
// things: 409 is also a table that is being deleted.
// learn.microsoft.com: "Table service error codes", "Common REST API error codes".
func named(err error) error {
	if _, ok := errors.AsType[*failure](err); ok {
		return err
	}
	re, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok {
		return err
	}
	f := &failure{Code: re.ErrorCode, Status: re.StatusCode, cause: err}
	f.read(re.RawResponse)
	switch code := aztables.TableErrorCode(f.Code); code {
	case aztables.ResourceNotFound, aztables.EntityNotFound:
		f.name = ErrNotFound
	case aztables.TableNotFound:
		f.name = ErrNoTable
	case aztables.EntityAlreadyExists, aztables.TableAlreadyExists:
		f.name = ErrExists
	case aztables.UpdateConditionNotSatisfied, "ConditionNotMet":
		f.name = ErrConflict
	case "ServerBusy", "OperationTimedOut", "InternalError", "TooManyRequests":
		f.name = ErrBusy
	case "":
		if f.Status == http.StatusServiceUnavailable || f.Status == http.StatusTooManyRequests {
			f.name = ErrBusy // said by something on the way, which has no codes
		}
	}
	return f
}

// A failure is an error of storage in one line: azcore's own has a page.
type failure struct {
	Code    string
	Message string
	Status  int
	Request string
	name    error // one of the names above, or nil
	cause   error
}

func (f *failure) Error() string {
	text := f.Message
	if f.name != nil {
		text = f.name.Error()
	}
	if text == "" {
		text = http.StatusText(f.Status)
	}
	code := f.Code
	if code == "" {
		code = "no code"
	}
	text = fmt.Sprintf("%s (%s, %d", text, code, f.Status)
	if f.Request != "" {
		text += ", request " + f.Request
	}
	return text + ")"
}

func (f *failure) Unwrap() []error {
	if f.name == nil {
		return []error{f.cause}
	}
	return []error{f.name, f.cause}
}

// read completes f from the answer, whose body azcore has kept.
func (f *failure) read(resp *http.Response) {
	if resp == nil {
		return
	}
	f.Request = resp.Header.Get("x-ms-request-id")
	body, err := runtime.Payload(resp)
	if err != nil {
		return
	}
	var told struct {
		Error struct {
			Code    string `json:"code"`
			Message struct {
				Value string `json:"value"`
			} `json:"message"`
		} `json:"odata.error"`
	}
	if json.Unmarshal(body, &told) != nil {
		return // not in the format of storage: the status must do
	}
	if f.Code == "" {
		f.Code = told.Error.Code
	}
	f.Message, _, _ = strings.Cut(told.Error.Message.Value, "\n")
}

// A TransactionError says which operation made storage refuse a transaction;
// nothing of the transaction was written. It unwraps to the operation's error.
type TransactionError struct {
	Index int // of the operation
	Op    Op
	Err   error
}

func (e *TransactionError) Error() string {
	return fmt.Sprintf("operation %d, %s %s: %v", e.Index, e.Op.Kind, e.Op.Entity.name(), e.Err)
}

func (e *TransactionError) Unwrap() error { return e.Err }
