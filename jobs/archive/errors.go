package archive

import (
	"errors"

	"furrow/tables"
	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// ErrNoContainer is an archive that was not created. What else a caller decides on has its name from tables: ErrExists,
// ErrConflict and ErrBusy.
var ErrNoContainer = errors.New("no such container")

// What only a Store decides on.
var (
	errNoObject   = errors.New("no such object")
	errBlocksGone = errors.New("another writer has dropped its blocks") // as every commit drops all that it does not name
)

// named gives an error of the blob service one of the names above where it has one, and keeps the original in the
// chain.
func named(err error) error { return service.Read(err, nameOf) }

// nameOf knows every code. learn.microsoft.com: "Blob service error codes".
func nameOf(f *service.Failure) error {
	switch bloberror.Code(f.Code) {
	case bloberror.ContainerNotFound, bloberror.ContainerBeingDeleted:
		return ErrNoContainer
	case bloberror.BlobNotFound:
		return errNoObject
	case bloberror.ContainerAlreadyExists, bloberror.BlobAlreadyExists:
		return tables.ErrExists
	case bloberror.ConditionNotMet:
		return tables.ErrConflict
	case bloberror.InvalidBlockList:
		return errBlocksGone
	}
	if f.Busy() {
		return tables.ErrBusy
	}
	return nil
}

// refused tells whether storage has said why it will not do what was asked, now or later. All other errors are
// "unknown": it may be done (invariant 9).
func refused(err error) bool {
	for _, unknown := range []error{tables.ErrBusy, tables.ErrExists, tables.ErrConflict, errBlocksGone, errNoObject} {
		if errors.Is(err, unknown) {
			return false
		}
	}
	f, ok := errors.AsType[*service.Failure](err)
	return ok && f.Status < 500
}
