package dashboard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"furrow/tables"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web"
)

// A Code says what is wrong with a request, or why it cannot be answered now, in a
// word that a program can go by. None ever changes its meaning.
type Code string

// All codes.
const (
	BadRequest       Code = "bad-request"
	Unauthorized     Code = "unauthorized"
	WrongHost        Code = "wrong-host"
	NotFound         Code = "not-found"
	MethodNotAllowed Code = "method-not-allowed"
	TooManyRequests  Code = "too-many-requests"
	StorageAway      Code = "storage-away"
	Internal         Code = "internal"
)

// codes are all of them, with the status of the answer.
func codes() map[Code]int {
	return map[Code]int{
		BadRequest: http.StatusBadRequest, Unauthorized: http.StatusUnauthorized, WrongHost: http.StatusMisdirectedRequest,
		NotFound: http.StatusNotFound, MethodNotAllowed: http.StatusMethodNotAllowed,
		TooManyRequests: http.StatusTooManyRequests, StorageAway: http.StatusServiceUnavailable, Internal: http.StatusInternalServerError,
	}
}

// A problem is the body of every answer that is an error and no page.
type problem struct {
	Type       string `json:"type"`
	Title      string `json:"title"`
	Status     int    `json:"status"`
	Detail     string `json:"detail"`
	Code       Code   `json:"code"`
	RequestID  string `json:"requestId"`
	RetryAfter int    `json:"retryAfter,omitempty"` // seconds, as in the header
}

// A refusal is why a request is not answered.
type refusal struct {
	code   Code
	title  string        // for pages
	detail string        // for whoever asked
	after  time.Duration // when to ask again; zero where that would change nothing
	cause  error         // for the log alone
}

func (r *refusal) Error() string { return r.detail }

var errNothing = &refusal{code: NotFound, title: "There is no such page", detail: "There is nothing at this address: /openapi.json says what data there is, and / is the map."}

func badRequest(detail string) *refusal {
	return &refusal{code: BadRequest, title: "That cannot be asked", detail: detail}
}

// storageAfter is when to ask again that storage did not answer.
const storageAfter = 5 * time.Second

// refused says why, of any error. Nothing of one that is not known is told: it may
// name what is none of anybody's business.
func refused(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	if ask, ok := errors.AsType[*model.AskError](err); ok {
		return badRequest(ask.Detail)
	}
	if errors.Is(err, model.ErrUnknown) {
		return &refusal{code: NotFound, title: "Nobody of that name is known", detail: "There is no such device or tenant; one that is new can take a minute until it is known here."}
	}
	if errors.Is(err, context.Canceled) {
		return &refusal{code: StorageAway, title: "The request was given up", detail: "Whoever asked did not wait for the answer."}
	}
	detail := "Storage does not answer as it should; the log of this dashboard says what it said. What was read before is shown on the pages that have it. Ask again in a moment."
	if errors.Is(err, tables.ErrBusy) || errors.Is(err, context.DeadlineExceeded) {
		detail = "Storage is busy or too slow. Ask again in a moment."
	}
	return &refusal{code: StorageAway, title: "Storage does not answer", detail: detail, after: storageAfter, cause: err}
}

// refuse answers with a problem, as a page where people asked.
func (d *Dashboard) refuse(x *exchange, err error) {
	no, id := refused(err), rand.Text()
	h, status := x.w.Header(), codes()[no.code]
	h.Set("X-Request-Id", id)
	if no.cause != nil {
		d.log.Warn("a request could not be answered", "path", x.r.URL.Path, "requestId", id, "error", no.cause)
	}
	if x.began {
		return // a stream: who listens asks again
	}
	seconds := int((no.after + time.Second - 1) / time.Second)
	if seconds > 0 {
		h.Set("Retry-After", strconv.Itoa(seconds))
	}
	h.Set("Cache-Control", "no-store")
	if x.page {
		d.show(x, status, web.ProblemPage{Foot: d.foot(model.Read{At: time.Now()}), Status: status, Title: no.title, Detail: no.detail})
		return
	}
	body, err := json.Marshal(problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: no.detail, Code: no.code, RequestID: id, RetryAfter: seconds})
	if err != nil {
		panic(err) // it is made of texts and numbers
	}
	x.send(status, "application/problem+json", append(body, '\n'))
}
