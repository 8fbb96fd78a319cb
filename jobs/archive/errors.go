package archive

import (
	"errors"

	"furrow/tables"
	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// ErrNoContainer says that the archive was not created. Callers also handle tables.ErrExists, tables.ErrConflict and
// tables.ErrBusy.
var ErrNoContainer = errors.New("no such container")

// Errors that only a Store handles.
var (
	errNoObject = errors.New("no such object")
	// A commit drops all blocks that it does not name.
	errBlocksGone = errors.New("another writer has dropped its blocks")
)

// named wraps an error of the blob service in one of the errors above, if one fits, and keeps the original.
func named(err error) error { return service.Read(err, nameOf) }

// nameOf lists the error codes. learn.microsoft.com: "Blob service error codes".
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

// refused reports whether storage has given a reason why it will never do what was asked. After any other error it may
// have done it.
func refused(err error) bool {
	for _, unknown := range []error{tables.ErrBusy, tables.ErrExists, tables.ErrConflict, errBlocksGone, errNoObject} {
		if errors.Is(err, unknown) {
			return false
		}
	}
	f, ok := errors.AsType[*service.Failure](err)
	return ok && f.Status < 500
}
