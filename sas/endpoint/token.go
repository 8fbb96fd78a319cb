package endpoint

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"furrow/tables/schema"

	"github.com/go-json-experiment/json/jsontext"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 16 << 10

// issueTimeout bounds the storage operations of a request, retries included, and those of its proof.
const issueTimeout = 20 * time.Second

// token serves a token request. Expensive checks come last.
func (h *Handler) token(x *exchange) *refusal {
	defer h.took(x)
	device, err := schema.ParseDeviceID(x.id)
	if err != nil {
		return &refusal{code: BadDeviceID, detail: err.Error()}
	}
	e, no := h.authenticate(x, device)
	x.key = string(e.ID)
	if no != nil {
		return no
	}
	if wait := h.devices.admit(proven{device, e.ID}, x.began); wait > 0 {
		return &refusal{code: TooManyRequests, detail: "the device requests tokens too often: keep a token until renewAfter",
			after: wait}
	}
	if wait := h.perEnrollment.admit(e, x.began); wait > 0 {
		return &refusal{code: TooManyRequests,
			detail: "the devices of the enrollment request tokens at a higher rate than it allows: retry after Retry-After",
			after:  wait}
	}
	if wait := h.fleet.admit(e.Tenant, x.began); wait > 0 {
		return &refusal{code: TooManyRequests,
			detail: "many devices request tokens at the same time: retry after Retry-After", after: wait}
	}
	if no := checkBody(x); no != nil {
		return no
	}
	return h.issue(x, device, e)
}

// authenticate verifies the device's proof, or its certificate if it sends no proof.
func (h *Handler) authenticate(x *exchange, device schema.DeviceID) (e schema.Enrollment, _ *refusal) {
	header := x.r.Header.Get("Authorization")
	ctx, cancel := context.WithTimeout(x.r.Context(), issueTimeout)
	defer cancel()
	var err error
	switch {
	case header != "":
		e, err = h.issuer.Authenticate(ctx, device, header)
	case x.r.TLS != nil && len(x.r.TLS.PeerCertificates) > 0:
		e, err = h.issuer.AuthenticateCertificate(ctx, device, x.r.TLS.PeerCertificates)
	default:
		return e, &refusal{code: ProofMissing,
			detail: "the request has no Authorization header and no client certificate; send a SharedAccessSignature"}
	}
	if err != nil {
		return e, h.refusalOf(err)
	}
	return e, nil
}

// checkBody reads the body, which has no defined members yet. Reading all of it first keeps
// slow senders from holding a storage slot, and lets the connection be reused.
func checkBody(x *exchange) *refusal {
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return &refusal{code: BodyTooLarge, detail: "the body is larger than 16 KiB; send none or a small JSON object"}
	}
	if err != nil {
		return &refusal{code: BadBody, detail: "the body is incomplete, or was sent too slowly", cause: err}
	}
	// Generated clients send null where their caller gives no body.
	if v := jsontext.Value(body); len(body) > 0 && (!v.IsValid() || v.Kind() != '{' && v.Kind() != 'n') {
		return &refusal{code: BadBody, detail: "the body is not a JSON object; send an object or no body"}
	}
	return nil
}

func (h *Handler) issue(x *exchange, device schema.DeviceID, e schema.Enrollment) *refusal {
	release, wait := h.storage.acquire(x.r.Context(), e.Tenant)
	if release == nil {
		return &refusal{code: StorageBusy, detail: busy, after: wait}
	}
	defer release()
	ctx, cancel := context.WithTimeout(x.r.Context(), issueTimeout)
	defer cancel()
	answer, err := h.issuer.Issue(ctx, device, e)
	if err != nil {
		return h.refusalOf(err)
	}
	h.metrics.tokens.Inc()
	h.log.issued(x)
	return x.send(answer)
}

// refusalOf returns the refusal for an issuer's error, with a retry time if a retry can help.
func (h *Handler) refusalOf(err error) *refusal {
	no := refused(err)
	if no.code == StorageBusy {
		no.after = h.storage.retryAfter()
	}
	return &no
}
