package endpoint

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"furrow/tables"
)

// maxBody is how long the body of a request may be, in bytes.
const maxBody = 16 << 10

// issueTimeout is for the work in storage, with its retries.
const issueTimeout = 20 * time.Second

// token answers a device. What costs more comes later.
func (h *Handler) token(x *exchange) *refusal {
	defer h.took(x)
	device, err := tables.ParseDeviceID(x.id)
	if err != nil {
		return &refusal{code: BadDeviceID, detail: err.Error()}
	}
	e, no := h.authenticate(x, device)
	if no != nil {
		return no
	}
	if wait := h.devices.pass(device, x.began); wait > 0 {
		return &refusal{code: TooManyRequests, detail: "the device asks too often: keep a token until renewAfter", after: wait}
	}
	if wait := h.fleet.pass(x.began); wait > 0 {
		return &refusal{code: TooManyRequests, detail: "many devices ask at the same time: ask again after Retry-After", after: wait}
	}
	if no := checkBody(x); no != nil {
		return no
	}
	return h.issue(x, device, e)
}

func (h *Handler) authenticate(x *exchange, device tables.DeviceID) (tables.Enrollment, *refusal) {
	header := x.r.Header.Get("Authorization")
	if header == "" {
		return tables.Enrollment{}, &refusal{code: ProofMissing, detail: "the request has no Authorization header; it takes a SharedAccessSignature"}
	}
	e, err := h.issuer.Authenticate(x.r.Context(), device, header)
	if err != nil {
		return e, h.because(err)
	}
	return e, nil
}

// checkBody reads the body, which says nothing yet. It is read whole, so that a
// slow sender does not hold a place, and the connection can be used again.
func checkBody(x *exchange) *refusal {
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return &refusal{code: BodyTooLarge, detail: "the body is larger than 16 KiB; it may be empty"}
	}
	if err != nil {
		return &refusal{code: BadBody, detail: "the body did not come whole, or not in time", cause: err}
	}
	if v := jsontext.Value(body); len(body) > 0 && (!v.IsValid() || v.Kind() != '{') {
		return &refusal{code: BadBody, detail: "the body is not a JSON object; it may be empty"}
	}
	return nil
}

func (h *Handler) issue(x *exchange, device tables.DeviceID, e tables.Enrollment) *refusal {
	leave, wait := h.gate.enter(x.r.Context())
	if leave == nil {
		return &refusal{code: StorageBusy, detail: busy, after: wait}
	}
	defer leave()
	ctx, cancel := context.WithTimeout(x.r.Context(), issueTimeout)
	defer cancel()
	answer, err := h.issuer.Issue(ctx, device, e)
	if err != nil {
		return h.because(err)
	}
	h.metrics.tokens.Inc()
	h.journal.issued(x)
	return x.send(answer)
}

// because is the refusal of an error of the issuer's. Where it is worth while to
// ask again, it says when.
func (h *Handler) because(err error) *refusal {
	no := refused(err)
	if no.code == StorageBusy {
		no.after = h.gate.turnAway()
	}
	return &no
}
