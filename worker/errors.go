package worker

import (
	"errors"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
)

// Errors that callers handle. A busy queue is tables.ErrBusy, as with the other services.
var (
	// ErrLeaseLost says that the message is no longer its holder's: another worker has it, or it was finished. The context
	// of a job ends with this cause.
	ErrLeaseLost = errors.New("the lease of the message is lost")
	ErrNoQueue   = errors.New("no such queue")
)

// named wraps an error of the queue service in one of the errors above, if one fits, and keeps the original.
func named(err error) error { return service.Read(err, nameOf) }

// nameOf lists the error codes. learn.microsoft.com: "Queue service error codes".
func nameOf(f *service.Failure) error {
	switch queueerror.Code(f.Code) {
	case queueerror.PopReceiptMismatch, queueerror.MessageNotFound:
		return ErrLeaseLost
	case queueerror.QueueNotFound, queueerror.QueueBeingDeleted:
		return ErrNoQueue
	}
	if f.Busy() {
		return tables.ErrBusy
	}
	return nil
}

// refused reports whether err says that the request was certainly not carried out: the service was busy, or answered
// with a reason. After a timeout or a broken connection nobody knows.
func refused(err error) bool {
	f, ok := errors.AsType[*service.Failure](err)
	return ok && (f.Status < 500 || f.Code == string(queueerror.ServerBusy))
}

// An Outcome is how a delivery ended.
type Outcome uint8

const (
	OutcomeDone     Outcome = iota + 1 // its job succeeded, and it was deleted
	OutcomeFailed                      // its job failed; it comes again after a pause
	OutcomePoisoned                    // it went to the poison queue
	OutcomeLost                        // its lease was lost: another worker has it, or it comes again
	OutcomeReleased                    // the pool gave it back; this try does not count
)

func (o Outcome) String() string {
	return [...]string{"none", "done", "failed", "poisoned", "lost", "released"}[o]
}

// A Result says how a delivery ended.
type Result struct {
	Outcome Outcome
	Message jobs.Message // as last saved; zero if it could not be read
	Took    time.Duration
	Err     error // why it is not done; nil if it is, or was released
}
