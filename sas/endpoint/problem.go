package endpoint

import (
	"context"
	"errors"
	"net/http"
	"time"

	"furrow/sas"
	"furrow/tables"
)

// A Code says what is wrong with a request, or why it cannot be answered now, in a
// word that a program can go by. None ever changes its meaning.
type Code string

// All codes.
const (
	BadDeviceID        Code = "bad-device-id"
	BadBody            Code = "bad-body"
	ProofMissing       Code = "proof-missing"
	ProofMalformed     Code = "proof-malformed"
	ProofExpired       Code = "proof-expired"
	ProofWrong         Code = "proof-wrong"
	Revoked            Code = "revoked"
	EnrollmentDisabled Code = "enrollment-disabled"
	NotRegistered      Code = "not-registered"
	WrongEnrollment    Code = "wrong-enrollment"
	NotFound           Code = "not-found"
	MethodNotAllowed   Code = "method-not-allowed"
	BodyTooLarge       Code = "body-too-large"
	TooManyRequests    Code = "too-many-requests"
	NotReady           Code = "not-ready"
	StorageBusy        Code = "storage-busy"
	Internal           Code = "internal"
)

// codes are all of them, with the status of the answer.
func codes() map[Code]int {
	return map[Code]int{
		BadDeviceID: http.StatusBadRequest, BadBody: http.StatusBadRequest,
		ProofMissing: http.StatusUnauthorized, ProofMalformed: http.StatusUnauthorized,
		ProofExpired: http.StatusUnauthorized, ProofWrong: http.StatusUnauthorized,
		Revoked: http.StatusForbidden, EnrollmentDisabled: http.StatusForbidden,
		NotRegistered: http.StatusForbidden, WrongEnrollment: http.StatusForbidden,
		NotFound: http.StatusNotFound, MethodNotAllowed: http.StatusMethodNotAllowed,
		BodyTooLarge: http.StatusRequestEntityTooLarge, TooManyRequests: http.StatusTooManyRequests,
		NotReady: http.StatusServiceUnavailable, StorageBusy: http.StatusServiceUnavailable,
		Internal: http.StatusInternalServerError,
	}
}

// A problem is the body of every answer that is an error.
type problem struct {
	Type       string    `json:"type"`
	Title      string    `json:"title"`
	Status     int       `json:"status"`
	Detail     string    `json:"detail"`
	Code       Code      `json:"code"`
	RequestID  string    `json:"requestId"`
	ServerTime time.Time `json:"serverTime"`          // a device with a wrong clock mends it by this
	RetryAfter int       `json:"retryAfter,omitzero"` // seconds, as in the header
}

// A refusal is why a request is not done.
type refusal struct {
	code   Code
	detail string        // for whoever asked
	after  time.Duration // when to ask again; zero where that would change nothing
	cause  error         // for the log alone
}

// refused says why, of an error of the issuer's. Nothing of an error that is not
// known goes to the device: it may name what is none of its business.
func refused(err error) refusal {
	if wait, ok := errors.AsType[*sas.NotReadyError](err); ok {
		return refusal{code: NotReady, detail: "the stored access policy of the device's cohort is not in force yet: ask again after Retry-After", after: wait.After}
	}
	for _, known := range []struct {
		is     error
		code   Code
		detail string
	}{
		{sas.ErrProofExpired, ProofExpired, "the proof has expired: set the clock by serverTime, and make a new one"},
		{sas.ErrProofResource, ProofWrong, sas.ErrProofResource.Error()},
		// Who has no key learns nothing of which enrollments there are.
		{sas.ErrNoEnrollment, ProofWrong, sas.ErrProofWrong.Error()},
		{sas.ErrProofWrong, ProofWrong, sas.ErrProofWrong.Error()},
		{sas.ErrProof, ProofMalformed, sas.ErrProof.Error()},
		{sas.ErrDisabled, EnrollmentDisabled, sas.ErrDisabled.Error()},
		{sas.ErrNotRegistered, NotRegistered, sas.ErrNotRegistered.Error()},
		{sas.ErrOtherEnrollment, WrongEnrollment, sas.ErrOtherEnrollment.Error()},
		{sas.ErrRevoked, Revoked, sas.ErrRevoked.Error()},
		{tables.ErrBusy, StorageBusy, busy},
		{tables.ErrConflict, StorageBusy, busy}, // others have written the same record again and again
		{context.DeadlineExceeded, StorageBusy, busy},
		{context.Canceled, StorageBusy, busy}, // mostly, a device that would not wait so long
	} {
		if errors.Is(err, known.is) {
			return refusal{code: known.code, detail: known.detail, cause: err}
		}
	}
	return refusal{code: Internal, detail: "something is wrong here, not with the request; the log tells what, under requestId", cause: err}
}

const busy = "storage is busy: ask again after Retry-After"
