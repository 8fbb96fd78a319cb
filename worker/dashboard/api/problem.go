package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/commands"
	"furrow/worker/admin"
	"furrow/worker/dashboard/model"
)

// A Code says what is wrong in a word that programs can rely on: no code ever changes its meaning.
type Code string

// All codes.
const (
	BadRequest         Code = "bad-request"
	Unauthorized       Code = "unauthorized"
	Forbidden          Code = "forbidden"
	WrongHost          Code = "wrong-host"
	NotFound           Code = "not-found"
	MethodNotAllowed   Code = "method-not-allowed"
	Conflict           Code = "conflict"
	TooManyRequests    Code = "too-many-requests"
	StorageUnavailable Code = "storage-unavailable"
	Internal           Code = "internal"
)

func statuses() map[Code]int {
	return map[Code]int{
		BadRequest: http.StatusBadRequest, Unauthorized: http.StatusUnauthorized, Forbidden: http.StatusForbidden,
		WrongHost: http.StatusMisdirectedRequest,
		Conflict:  http.StatusConflict,
		NotFound:  http.StatusNotFound, MethodNotAllowed: http.StatusMethodNotAllowed,
		TooManyRequests: http.StatusTooManyRequests, StorageUnavailable: http.StatusServiceUnavailable,
		Internal: http.StatusInternalServerError,
	}
}

// A Problem is an error as clients see it. It is the body of every JSON answer that is an error (RFC 9457).
type Problem struct {
	Type       string `json:"type"`
	Title      string `json:"title"`
	Status     int    `json:"status"`
	Detail     string `json:"detail"` // what is wrong and what to do
	Code       Code   `json:"code"`
	RequestID  string `json:"requestId"`
	RetryAfter int    `json:"retryAfter,omitempty"` // seconds, as in the header
	Param      string `json:"param,omitempty"`      // the parameter that is invalid, where it is one of them

	heading string
	cause   error // only for the log
}

func (p *Problem) Error() string { return p.Detail }

func (p *Problem) Heading() string { return p.heading }

// NewProblem returns a problem; detail says what to do about it.
func NewProblem(code Code, heading, detail string) *Problem {
	status := statuses()[code]
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code,
		heading: heading}
}

// RetryIn returns p after setting when to try again, rounded up to seconds.
func (p *Problem) RetryIn(d time.Duration) *Problem {
	p.RetryAfter = int((d + time.Second - 1) / time.Second)
	return p
}

func badRequest(detail string) *Problem { return NewProblem(BadRequest, "Invalid request", detail) }

// badParam returns a problem with one parameter.
func badParam(name, detail string) *Problem {
	p := badRequest(detail)
	p.Param = name
	return p
}

// storageRetry is when to repeat a request that storage did not answer.
const storageRetry = 5 * time.Second

// ProblemOf returns what clients are told of an error. The text of an unknown one is not: it may be confidential.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if q, ok := errors.AsType[*model.QueryError](err); ok {
		return badParam(q.Param, q.Detail)
	}
	if t, ok := errors.AsType[*model.TenantError](err); ok {
		p := NewProblem(NotFound, "Tenant not found",
			fmt.Sprintf("There is no tenant %s. A new one can take a minute to appear.", quote(t.Tenant)))
		p.Param = "tenant"
		return p
	}
	switch {
	case errors.Is(err, model.ErrWholeFleet):
		return NewProblem(NotFound, "About the whole fleet",
			"This is about the whole fleet, and you see one tenant of it. The overview has its devices.")
	case errors.Is(err, model.ErrNoIncident):
		return NewProblem(NotFound, "Incident not found", "There is no such incident, or retention has deleted it.")
	case errors.Is(err, model.ErrNoFile):
		return NewProblem(NotFound, "File not found", "The archive has no such file. /v1/archive/files has the paths of "+
			"the files that a table has now; those that left it stay for a day.")
	case errors.Is(err, model.ErrUnknown):
		return NewProblem(NotFound, "Device or tenant not found",
			"There is no such device or tenant. A new one can take a minute to appear.")
	case errors.Is(err, model.ErrBusy):
		return NewProblem(TooManyRequests, "Too many conditions at once", "This dashboard decides as many conditions as it "+
			"can. Try again in a moment.").RetryIn(5 * time.Second)
	case errors.Is(err, model.ErrSlow):
		return NewProblem(TooManyRequests, "The condition takes too long", "Select devices by tenant, site, model or "+
			"label, too, or fewer readings. Or try again in a moment.").RetryIn(5 * time.Second)
	case errors.Is(err, commands.ErrFull), errors.Is(err, commands.ErrTaken), errors.Is(err, commands.ErrExpired),
		errors.Is(err, admin.ErrNoCommands):
		return NewProblem(Conflict, "Not possible now", asSentence(err))
	case errors.Is(err, admin.ErrIncidentClosed):
		return NewProblem(Conflict, "The incident is closed", asSentence(err))
	case errors.Is(err, admin.ErrNoText):
		return badRequest(asSentence(err))
	case errors.Is(err, context.Canceled):
		return NewProblem(StorageUnavailable, "Request canceled",
			"The client closed the connection before the answer was ready.")
	}
	detail := "Storage returned an error; the dashboard's log has it. Pages that were read before are still shown. Try " +
		"again in a moment."
	if errors.Is(err, tables.ErrBusy) || errors.Is(err, context.DeadlineExceeded) {
		detail = "Storage is busy or too slow. Try again in a moment."
	}
	p := NewProblem(StorageUnavailable, "Storage is unavailable", detail).RetryIn(storageRetry)
	p.cause = err
	return p
}

// asSentence returns an error that people caused.
func asSentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// Report sets the headers of an answer that is an error, logs its cause, and returns the problem to write.
func Report(w http.ResponseWriter, r *http.Request, err error, log *slog.Logger) *Problem {
	p := ProblemOf(err)
	p.RequestID = rand.Text()
	if p.cause != nil {
		log.Warn("request failed", "path", r.URL.Path, "requestId", p.RequestID, "error", p.cause)
	}
	w.Header().Set("X-Request-Id", p.RequestID)
	w.Header().Set("Cache-Control", "no-store")
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	return p
}
