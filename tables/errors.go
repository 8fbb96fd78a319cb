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

// Errors that callers compare. Each may also answer a retry of a request that succeeded
// and whose answer was lost: read again and compare.
var (
	ErrNotFound = errors.New("no such entity")
	ErrNoTable  = errors.New("no such table")
	ErrExists   = errors.New("it exists already")
	ErrConflict = errors.New("it has changed meanwhile") // If-Match is another version
	ErrBusy     = errors.New("storage is busy")          // after all retries
)

// Absent reports whether an error says that there is no such entity, or not even its table.
func Absent(err error) bool { return errors.Is(err, ErrNotFound) || errors.Is(err, ErrNoTable) }

// ErrNoDate says that an answer of storage does not tell the time. No other clock is as good.
var ErrNoDate = errors.New("storage sent no Date, without which nobody knows what is over")

// named wraps an error of storage with one of the errors above, if one applies.
func named(err error) error { return service.Read(err, nameOf) }

// nameOf compares codes, because a status has many meanings: 409 is also a table that is
// being deleted.
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

// complete sets f's code and message from the answer's body, which has them for operations
// of a transaction.
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
		return // not in the format of storage: only the status is known
	}
	if f.Code == "" {
		f.Code = told.Error.Code
	}
	f.Message, _, _ = strings.Cut(told.Error.Message.Value, "\n")
}

// A TransactionError is the operation that failed in a refused transaction, and its error.
// Nothing of the transaction was written.
type TransactionError struct {
	Index int // of the operation
	Op    Op
	Err   error
}

func (e *TransactionError) Error() string {
	return fmt.Sprintf("operation %d, %s %s: %v", e.Index, e.Op.Kind, e.Op.Entity.name(), e.Err)
}

func (e *TransactionError) Unwrap() error { return e.Err }
