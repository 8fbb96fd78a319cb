package worker

import (
	"errors"

	"furrow/tables"
	"furrow/tables/service"

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
// has one, and keeps the original in the chain.
func named(err error) error { return service.Read(err, nameOf) }

// nameOf knows every code. learn.microsoft.com: "Queue service error codes".
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

// refused tells an error after which what was asked is surely not done from one
// after which it may be: a busy service has looked at nothing, and all other
// codes are reasons. A service that took too long, and a connection that broke,
// say nothing.
func refused(err error) bool {
	f, ok := errors.AsType[*service.Failure](err)
	return ok && (f.Status < 500 || f.Code == string(queueerror.ServerBusy))
}
