package azuretest

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func protocol(t *testing.T, a Account) {
	check(t, a,
		answersHaveTheServersTime,
		answersHaveARequestID,
		errorsAreInAzuresFormat,
		unknownOperationsAreNoSuccess,
	)
}

// Every answer, also a refusal, has the storage service's time in its Date
// header, to the second: Furrow's horizon comes from there.
func answersHaveTheServersTime(t *testing.T, a Account) {
	c := a.NewTable(t)
	for range 2 { // the second is refused
		var r *http.Response
		c.AddEntity(captured(t, &r), row(t, "p", "r", nil), nil)
		date, err := http.ParseTime(r.Header.Get("Date"))
		must(t, err)
		expect(t, a, r.Status+": close to now", time.Since(date).Abs() < 5*time.Minute, true)
	}
}

// Every answer has an id of its own for support, the version it follows, and
// the caller's id repeated.
func answersHaveARequestID(t *testing.T, a Account) {
	c := a.NewTable(t)
	seen := map[string]bool{"": true}
	for range 2 { // the second is refused
		var r *http.Response
		c.AddEntity(captured(t, &r, "x-ms-client-request-id", "mine-1"), row(t, "p", "r", nil), nil)
		id := r.Header.Get("x-ms-request-id")
		expect(t, a, "request id seen before", seen[id], false)
		seen[id] = true
		expect(t, a, "has a version", r.Header.Get("x-ms-version") != "", true)
		echoed := r.Header.Get("x-ms-client-request-id")
		if r.StatusCode < 400 {
			expect(t, a, "client's id", echoed, "mine-1")
		} else {
			expect(t, a, "client's id with an error", echoed, "mine-1", differs(Azurite, "", "keeps the client's id out of errors"))
		}
	}
}

// An error's body is JSON with odata.error, code and message within, and the
// message ends in request id and time; from it the SDK has its ErrorCode.
func errorsAreInAzuresFormat(t *testing.T, a Account) {
	c := a.NewTable(t)
	var r *http.Response
	_, err := c.GetEntity(captured(t, &r), "p", "r", nil)
	expect(t, a, "code", answer(err), "404 ResourceNotFound")
	b := body(t, r)
	for _, part := range []string{`"odata.error"`, `"code":"ResourceNotFound"`, `"message"`, `"lang":"en-US"`, "RequestId:" + r.Header.Get("x-ms-request-id"), "Time:"} {
		expect(t, a, "has "+part, strings.Contains(b, part), true)
	}
	contentType := r.Header.Get("Content-Type")
	expect(t, a, "content type "+contentType, strings.HasPrefix(contentType, "application/json"), true)
}

// An operation that the service does not know is refused, not passed over.
func unknownOperationsAreNoSuccess(t *testing.T, a Account) {
	name := Name("t")
	a.MakeTable(t, name)
	for _, method := range []string{"PATCH", "OPTIONS", "TRACE"} {
		req := signed(t, a, name, time.Now())
		req.Method = method
		expect(t, a, method, send(t, a, req).StatusCode/100, 4)
	}
}
