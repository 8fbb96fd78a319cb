package tables

import (
	"errors"
	"fmt"
	"strings"

	"furrow/tables/service"

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
// keeps the original in the chain.
func named(err error) error { return service.Read(err, nameOf) }

// nameOf goes by codes, as one status means many things: 409 is also a table that
// is being deleted.
// learn.microsoft.com: "Table service error codes".
func nameOf(f *service.Failure) error {
	complete(f)
	switch aztables.TableErrorCode(f.Code) {
	case aztables.ResourceNotFound, aztables.EntityNotFound:
		return ErrNotFound
	case aztables.TableNotFound:
		return ErrNoTable
	case aztables.EntityAlreadyExists, aztables.TableAlreadyExists:
		return ErrExists
	case aztables.UpdateConditionNotSatisfied, "ConditionNotMet":
		return ErrConflict
	}
	if f.Busy() {
		return ErrBusy
	}
	return nil
}

// complete completes f from the answer's body, where the operations of a
// transaction have their codes.
func complete(f *service.Failure) {
	if f.Response == nil {
		return
	}
	body, err := runtime.Payload(f.Response)
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
