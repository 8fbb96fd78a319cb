package endpoint

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json"
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
	asked, no := readBody(x)
	if no != nil {
		return no
	}
	return h.issue(x, device, e, asked)
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

// A tokenBody is what a device may ask for with its token.
type tokenBody struct {
	Ring bool   `json:"ring"`
	Late string `json:"late"` // a row key
}

// readBody reads the body. Reading all of it first keeps slow senders from holding a storage slot, and lets the
// connection be reused.
func readBody(x *exchange) (a tokenBody, _ *refusal) {
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return a, &refusal{code: BodyTooLarge, detail: "the body is larger than 16 KiB; send none or a small JSON object"}
	}
	if err != nil {
		return a, &refusal{code: BadBody, detail: "the body is incomplete, or was sent too slowly", cause: err}
	}
	// Generated clients send null where their caller gives no body.
	if len(body) > 0 && (json.Unmarshal(body, &a) != nil) {
		return a, &refusal{code: BadBody,
			detail: "the body is not a JSON object, or its ring is neither true nor false, or its late is no text; send an " +
				"object or no body"}
	}
	if _, err := schema.ParseRowKey(a.Late); a.Late != "" && err != nil {
		return a, &refusal{code: BadBody, detail: "late is not a row key of readings: " + err.Error()}
	}
	return a, nil
}

// late returns from when on rows are late, as far as any token has admitted them; zero: none are.
func (a tokenBody) late(answer sas.Answer) tables.Ticks {
	key, err := schema.ParseRowKey(a.Late)
	if err != nil || key.Ticks >= answer.LatestRowKey {
		return 0
	}
	return max(key.Ticks, answer.EarliestRowKey)
}

func (h *Handler) issue(x *exchange, device schema.DeviceID, e schema.Enrollment, a tokenBody) *refusal {
	release, wait := h.storage.acquire(x.r.Context(), e.Tenant)
	if release == nil {
		return &refusal{code: StorageBusy, detail: busy, after: wait}
	}
	defer release()
	ctx, cancel := context.WithTimeout(x.r.Context(), issueTimeout)
	defer cancel()
	answer, err := h.issuer.Issue(ctx, device, e)
	if err == nil && (a.Ring || a.Late != "") {
		err = h.issuer.Ring(ctx, device, a.late(answer))
	}
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
