package azuretest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// asked asks each service for something that exists and for something that is missing,
// and returns the answers.
func asked(t *testing.T, a Account, header ...string) map[string]*http.Response {
	t.Helper()
	table, queue, container := a.NewTable(t), a.NewQueue(t), a.NewContainer(t)
	insert(t, table, "p", "r", nil)
	calls := map[string]func(context.Context){
		"a row":           func(ctx context.Context) { table.GetEntity(ctx, "p", "r", nil) },
		"a missing row":   func(ctx context.Context) { table.GetEntity(ctx, "p", "missing", nil) },
		"a queue":         func(ctx context.Context) { queue.GetProperties(ctx, nil) },
		"a missing queue": func(ctx context.Context) { a.Queues(t).NewQueueClient(Name("q")).GetProperties(ctx, nil) },
		"a container":     func(ctx context.Context) { container.GetProperties(ctx, nil) },
		"a missing container": func(ctx context.Context) {
			a.Blobs(t).ServiceClient().NewContainerClient(Name("c")).GetProperties(ctx, nil)
		},
	}
	answers := map[string]*http.Response{}
	for what, call := range calls {
		var r *http.Response
		call(captured(t, &r, header...))
		if r == nil {
			t.Fatalf("%s: no answer", what)
		}
		answers[what] = r
	}
	return answers
}

// Every answer of every service, even a refusal, has the service's time in its Date
// header, to the second. Furrow's horizon is based on it.
func (protocol) AnswersHaveTheServersTime(t *testing.T, a Account) {
	for what, r := range asked(t, a) {
		date := value(http.ParseTime(r.Header.Get("Date")))(t)
		expect(t, a, what+": close to now", time.Since(date).Abs() < 5*time.Minute, true)
	}
}

// Every answer has a unique ID for support, a version, and the caller's ID.
func (protocol) AnswersHaveARequestID(t *testing.T, a Account) {
	seen := map[string]bool{"": true}
	for what, r := range asked(t, a, "x-ms-client-request-id", "mine-1") {
		id := r.Header.Get("x-ms-request-id")
		expect(t, a, what+": ID seen before", seen[id], false)
		seen[id] = true
		var known []difference[bool]
		if strings.HasSuffix(what, "container") {
			known = append(known, differs(Azurite, false, "sends no version for a HEAD of a container"))
		}
		expect(t, a, what+": has a version", r.Header.Get("x-ms-version") != "", true, known...)
		echoed := r.Header.Get("x-ms-client-request-id")
		var omitted []difference[string]
		if r.StatusCode >= 400 {
			omitted = append(omitted, differs(Azurite, "", "omits the client's ID from errors"))
		}
		expect(t, a, what+": client's ID", echoed, "mine-1", omitted...)
	}
}

// An error's body is JSON with odata.error, code and message. The message ends with the
// request ID and the time. The SDK reads its ErrorCode from the body.
func (tables) ErrorsAreInAzuresFormat(t *testing.T, a Account) {
	c := a.NewTable(t)
	var r *http.Response
	expect(t, a, "code", outcome(c.GetEntity(captured(t, &r), "p", "r", nil)), "404 ResourceNotFound")
	b := body(t, r)
	for _, part := range []string{`"odata.error"`, `"code":"ResourceNotFound"`, `"message"`, `"lang":"en-US"`,
		"RequestId:" + r.Header.Get("x-ms-request-id"), "Time:"} {
		expect(t, a, "has "+part, strings.Contains(b, part), true)
	}
	contentType := r.Header.Get("Content-Type")
	expect(t, a, "content type "+contentType, strings.HasPrefix(contentType, "application/json"), true)
}

// An unknown operation is refused.
func (tables) UnknownOperationIsRefused(t *testing.T, a Account) {
	name := Name("t")
	a.MakeTable(t, name)
	for _, method := range []string{"PATCH", "OPTIONS", "TRACE"} {
		req := signed(t, a, name, time.Now())
		req.Method = method
		expect(t, a, method, send(t, a, req).StatusCode/100, 4)
	}
}
