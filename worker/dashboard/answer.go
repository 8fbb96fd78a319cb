package dashboard

import (
	"net/http"
	"time"
)

// An Answer says how a request ended.
type Answer struct {
	Route  string // such as "GET /v1/devices"; "none" for a request that was refused before it had one
	Status int
	Took   time.Duration // a stream's until it ended
}

// An answerWriter notes the status of an answer.
type answerWriter struct {
	http.ResponseWriter
	answer  Answer
	written bool
	missing func() string // says how much of the fleet cannot be read; nil: nobody asks
}

// IncompleteHeader is of answers of the API that lack a part of the fleet. It says how much.
const IncompleteHeader = "Furrow-Incomplete"

// begin adds what is only known when everything was read.
func (a *answerWriter) begin() {
	if a.written || a.missing == nil {
		return
	}
	if missing := a.missing(); missing != "" {
		a.Header().Set(IncompleteHeader, missing)
	}
}

func (a *answerWriter) WriteHeader(status int) {
	a.begin()
	if !a.written && status >= http.StatusOK {
		a.answer.Status, a.written = status, true
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answerWriter) Write(b []byte) (int, error) {
	a.begin()
	a.written = true
	return a.ResponseWriter.Write(b)
}

// Flush is for what looks for an http.Flusher, and Unwrap for an http.ResponseController.
func (a *answerWriter) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() }

func (a *answerWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (d *Dashboard) count(a *answerWriter, began time.Time) {
	if d.c.OnAnswer != nil {
		a.answer.Took = time.Since(began)
		d.c.OnAnswer(a.answer)
	}
}
