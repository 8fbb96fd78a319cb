package endpoint

import (
	"context"
	"errors"
	"net/http"
	"time"

	"furrow/sas"
	"furrow/tables"
)

// A Code is a machine-readable reason why a request failed. Its meaning never changes.
type Code string

// Every Code.
const (
	BadDeviceID        Code = "bad-device-id"
	BadBody            Code = "bad-body"
	ProofMissing       Code = "proof-missing"
	ProofMalformed     Code = "proof-malformed"
	ProofExpired       Code = "proof-expired"
	ProofTooLong       Code = "proof-too-long"
	ProofWrong         Code = "proof-wrong"
	CertificateWrong   Code = "certificate-wrong"
	CertificateExpired Code = "certificate-expired"
	Revoked            Code = "revoked"
	EnrollmentDisabled Code = "enrollment-disabled"
	NotRegistered      Code = "not-registered"
	WrongEnrollment    Code = "wrong-enrollment"
	WrongPrefix        Code = "wrong-prefix"
	EnrollmentFull     Code = "enrollment-full"
	NotFound           Code = "not-found"
	MethodNotAllowed   Code = "method-not-allowed"
	BodyTooLarge       Code = "body-too-large"
	TooManyRequests    Code = "too-many-requests"
	NotReady           Code = "not-ready"
	StorageBusy        Code = "storage-busy"
	Internal           Code = "internal"
)

// codes maps every Code to its HTTP status.
func codes() map[Code]int {
	return map[Code]int{
		BadDeviceID: http.StatusBadRequest, BadBody: http.StatusBadRequest,
		ProofMissing: http.StatusUnauthorized, ProofMalformed: http.StatusUnauthorized,
		ProofExpired: http.StatusUnauthorized, ProofTooLong: http.StatusUnauthorized, ProofWrong: http.StatusUnauthorized,
		CertificateWrong: http.StatusUnauthorized, CertificateExpired: http.StatusUnauthorized,
		Revoked: http.StatusForbidden, EnrollmentDisabled: http.StatusForbidden,
		NotRegistered: http.StatusForbidden, WrongEnrollment: http.StatusForbidden,
		WrongPrefix: http.StatusForbidden, EnrollmentFull: http.StatusForbidden,
		NotFound: http.StatusNotFound, MethodNotAllowed: http.StatusMethodNotAllowed,
		BodyTooLarge: http.StatusRequestEntityTooLarge, TooManyRequests: http.StatusTooManyRequests,
		NotReady: http.StatusServiceUnavailable, StorageBusy: http.StatusServiceUnavailable,
		Internal: http.StatusInternalServerError,
	}
}

// A problem is the body of every error response.
type problem struct {
	Type       string    `json:"type"`
	Title      string    `json:"title"`
	Status     int       `json:"status"`
	Detail     string    `json:"detail"`
	Code       Code      `json:"code"`
	RequestID  string    `json:"requestId"`
	ServerTime time.Time `json:"serverTime"`          // a device with a wrong clock corrects it by this
	RetryAfter int       `json:"retryAfter,omitzero"` // seconds, as in the header
}

// A refusal is the reason why a request fails.
type refusal struct {
	code   Code
	detail string        // for the client
	after  time.Duration // when to retry; zero: a retry would not help
	cause  error         // only logged
}

// refused returns the refusal for an issuer's error. The text of an unknown error is not
// sent to the device: it may contain internal names.
func refused(err error) refusal {
	if wait, ok := errors.AsType[*sas.NotReadyError](err); ok {
		return refusal{code: NotReady,
			detail: "the access policy of the device's tokens is not in force yet: retry after Retry-After", after: wait.After}
	}
	for _, known := range []struct {
		is     error
		code   Code
		detail string
	}{
		{sas.ErrProofExpired, ProofExpired, "the proof has expired: set the clock by serverTime and make a new proof"},
		{sas.ErrProofTooLong, ProofTooLong, "the proof is valid for more than a day: set the clock by serverTime and make " +
			"a shorter proof"},
		{sas.ErrProofResource, ProofWrong, sas.ErrProofResource.Error()},
		// Certificates come first: an unknown enrollment of theirs is named, because an authority has signed its name.
		{sas.ErrCertificateExpired, CertificateExpired, sas.ErrCertificateExpired.Error()},
		{sas.ErrCertificateDevice, CertificateWrong, sas.ErrCertificateDevice.Error()},
		{sas.ErrCertificateEnrollment, CertificateWrong, sas.ErrCertificateEnrollment.Error()},
		{sas.ErrCertificate, CertificateWrong, sas.ErrCertificate.Error()},
		// A client without a key must not learn which enrollments exist.
		{sas.ErrNoEnrollment, ProofWrong, sas.ErrProofWrong.Error()},
		{sas.ErrProofWrong, ProofWrong, sas.ErrProofWrong.Error()},
		{sas.ErrProof, ProofMalformed, sas.ErrProof.Error()},
		{sas.ErrDisabled, EnrollmentDisabled, sas.ErrDisabled.Error()},
		{sas.ErrNotRegistered, NotRegistered, sas.ErrNotRegistered.Error()},
		{sas.ErrOtherEnrollment, WrongEnrollment, sas.ErrOtherEnrollment.Error()},
		{sas.ErrPrefix, WrongPrefix, sas.ErrPrefix.Error()},
		{sas.ErrOtherPrefix, WrongPrefix, sas.ErrOtherPrefix.Error()},
		{sas.ErrElsewhere, WrongEnrollment, sas.ErrElsewhere.Error()},
		{sas.ErrFull, EnrollmentFull, sas.ErrFull.Error()},
		{sas.ErrRevoked, Revoked, sas.ErrRevoked.Error()},
		{tables.ErrBusy, StorageBusy, busy},
		{tables.ErrConflict, StorageBusy, busy}, // concurrent writers of the same record
		{context.DeadlineExceeded, StorageBusy, busy},
		{context.Canceled, StorageBusy, busy}, // the endpoint stops
	} {
		if errors.Is(err, known.is) {
			return refusal{code: known.code, detail: known.detail, cause: err}
		}
	}
	return refusal{code: Internal, detail: "internal error; the log has the details under requestId", cause: err}
}

const busy = "storage is busy: retry after Retry-After"
