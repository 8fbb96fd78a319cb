package sas

import (
	"errors"
	"fmt"
	"time"
)

// Why a device gets no token although its request can be read. The errors of
// proofs (ErrProof and those after it) are the other reasons.
var (
	ErrNoEnrollment    = errors.New("no such enrollment")
	ErrDisabled        = errors.New("the enrollment is disabled")
	ErrNotRegistered   = errors.New("the device is not registered, and its enrollment takes only devices that are")
	ErrOtherEnrollment = errors.New("the device belongs to another enrollment")
	ErrRevoked         = errors.New("the device is revoked")
)

// A NotReadyError says that a token would not be accepted yet: the stored access
// policy that it would hang on is not in force everywhere.
type NotReadyError struct {
	After time.Duration // when to ask again
}

func (e *NotReadyError) Error() string {
	return fmt.Sprintf("the stored access policy of the device's cohort is not in force yet; ask again in %v", e.After.Round(time.Second))
}
