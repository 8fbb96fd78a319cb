package sas

import (
	"errors"
	"fmt"
	"time"
)

// Reasons why a device with a valid proof gets no token. See ErrProof for those of invalid
// proofs.
var (
	ErrNoEnrollment    = errors.New("no such enrollment")
	ErrDisabled        = errors.New("the enrollment is disabled")
	ErrNotRegistered   = errors.New("the device is not registered, and its enrollment admits only registered devices")
	ErrOtherEnrollment = errors.New("the device belongs to another enrollment")
	ErrRevoked         = errors.New("the device is revoked")
)

// ErrInsecureURL means that tokens for a URL could be intercepted.
var ErrInsecureURL = errors.New("the URL is neither https nor on loopback, so tokens could be intercepted")

// A NotReadyError means that storage would not accept a token yet: its stored access policy is
// not in force everywhere.
type NotReadyError struct {
	After time.Duration // when to retry
}

func (e *NotReadyError) Error() string {
	return fmt.Sprintf("the access policy of the device's tokens is not in force yet; retry in %v",
		e.After.Round(time.Second))
}
