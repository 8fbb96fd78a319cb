package wire

import (
	"bufio"
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

// serve returns the answer to r of a handler that answers every request with 204.
func serve(s Service, r *http.Request) *httptest.ResponseRecorder {
	h := &Handler{Service: s, Account: "acct", Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Serve: func(w http.ResponseWriter, r *Request) error {
			if r.Path == "panic" {
				panic("as asked")
			}
			if _, err := r.ReadBody(1000); err != nil {
				return err
			}
			Set(w.Header(), "path", r.Path)
			w.WriteHeader(http.StatusNoContent)
			return nil
		}}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func get(target string) *http.Request { return httptest.NewRequest(http.MethodGet, target, nil) }

func TestLimitsAreRefusedInAzuresFormat(t *testing.T) {
	header := func(name, value string) *http.Request {
		r := get("/acct/x")
		r.Header.Set(name, value)
		return r
	}
	claims := func(r *http.Request, length int64) *http.Request { r.ContentLength = length; return r }
	whole := get("/acct/x")
	whole.RequestURI = "http://h/acct/x"
	post := func(size int) *http.Request {
		return httptest.NewRequest(http.MethodPost, "/acct/x", strings.NewReader(strings.Repeat("b", size)))
	}
	for name, c := range map[string]struct {
		r      *http.Request
		status int
		code   string
	}{
		"a body at the limit":     {post(1000), 204, ""},
		"a body beyond it":        {post(1001), 413, "RequestBodyTooLarge"},
		"one without a length":    {claims(post(1001), -1), 413, "RequestBodyTooLarge"},
		"one with a wrong length": {claims(post(1), 1<<40), 413, "RequestBodyTooLarge"},
		"a long URL":              {get("/acct/" + strings.Repeat("u", MaxURL)), 414, "InvalidUri"},
		"many query parameters":   {get("/acct/x?" + strings.Repeat("a=b&", MaxQuery)), 400, "InvalidQueryParameterValue"},
		"a malformed query":       {get("/acct/x?a=%zz"), 400, "InvalidQueryParameterValue"},
		"large headers":           {header("x-ms-meta-a", strings.Repeat("h", MaxHeaders)), 431, "RequestHeaderTooLarge"},
		"an invalid version":      {header("x-ms-version", "newest"), 400, "InvalidHeaderValue"},
		"another account":         {get("/other/x"), 400, "InvalidUri"},
		"no account":              {get("/"), 400, "InvalidUri"},
		"a panic":                 {get("/acct/panic"), 500, "InternalError"},
		"the account in the host": {get("http://acct.table.example/x/y"), 204, ""},
		"a whole URL":             {whole, 204, ""},
	} {
		w := serve(Blob, c.r)
		if w.Code != c.status || strings.Join(w.Header()["x-ms-error-code"], "") != c.code {
			t.Errorf("%s: %d %v, want %d %s", name, w.Code, w.Header()["x-ms-error-code"], c.status, c.code)
		}
		start := XMLHeader + "<Error><Code>" + c.code + "</Code><Message>"
		if c.code != "" && !strings.HasPrefix(w.Body.String(), start) {
			t.Errorf("%s: body %.200s", name, w.Body)
		}
	}
}

func TestNamesOfResources(t *testing.T) {
	for name, want := range map[string]*Error{
		"abc": nil, "a-1": nil, "0-a-b-0": nil, strings.Repeat("a", 63): nil,
		"ab": ErrNameLength, strings.Repeat("a", 64): ErrNameLength, "Abc": ErrName, "-ab": ErrName, "ab-": ErrName,
		"a--b": ErrName, "a_b": ErrName, "a.b": ErrName, "$root": ErrName, "éé": ErrName,
	} {
		if err := CheckName(name); want == nil && err != nil || want != nil && err != error(want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

func TestQueryIsSplitAtAmpersandsOnly(t *testing.T) {
	if _, err := ParseQuery(strings.Repeat("a&", MaxQuery)); err == nil {
		t.Error("a query of an operation in a batch may have any number of parameters")
	}
	query, err := ParseQuery("$format=application/json;odata=nometadata&&a=b+c%3B&a=&d&sig=x=")
	want := url.Values{"$format": {"application/json;odata=nometadata"}, "a": {"b c;", ""}, "d": {""}, "sig": {"x="}}
	if err != nil || !reflect.DeepEqual(query, want) {
		t.Errorf("%v, %v; want %v", query, err, want)
	}
}

func TestAnswersCarryWhatSDKsExpect(t *testing.T) {
	r := get("/acct/x")
	r.Header.Set("x-ms-version", "2026-12-06")
	r.Header.Set("x-ms-client-request-id", "mine")
	h := serve(Queue, r).Header()
	for name, want := range map[string]string{"x-ms-version": "2026-12-06", "x-ms-client-request-id": "mine",
		"Server": "Furrow-queue/1.0"} {
		if got := strings.Join(h[name], ""); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, err := http.ParseTime(h.Get("Date")); err != nil {
		t.Errorf("Date: %v", err)
	}
	if id := h["x-ms-request-id"]; len(id) != 1 || len(id[0]) != 36 {
		t.Errorf("x-ms-request-id: %q", id)
	}
}

func TestClientsTextIsNotEchoedIntoHeaders(t *testing.T) {
	r := get("/acct/x")
	r.Header["X-Ms-Client-Request-Id"] = []string{"a\r\nSet-Cookie: b"}
	if got := serve(Table, r).Header()["x-ms-client-request-id"]; got != nil {
		t.Errorf("x-ms-client-request-id: %q", got)
	}
}

func TestTableErrorsAreJSONOrXMLAsAccepted(t *testing.T) {
	r := get("/other/x")
	if body := serve(Table, r).Body.String(); !strings.HasPrefix(body,
		`{"odata.error":{"code":"InvalidUri","message":{"lang":"en-US","value":"`) {
		t.Errorf("JSON: %s", body)
	}
	r.Header.Set("Accept", "application/xml")
	if body := serve(Table, r).Body.String(); !strings.Contains(body,
		`<m:code>InvalidUri</m:code><m:message xml:lang="en-US">`) {
		t.Errorf("XML: %s", body)
	}
}

// Every request that net/http accepts gets an answer, and never a 500.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte("GET /acct/x?comp=list HTTP/1.1\r\nHost: h\r\nx-ms-version: 2026-12-06\r\nx-ms-client-request-id: " +
		"a\r\n\r\n"))
	f.Add([]byte("POST http://h/acct/%2f?a=%41&b HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"))
	f.Add([]byte("PUT /acct HTTP/1.1\r\nHost: acct.queue.h:1\r\nTransfer-Encoding: chunked\r\nx-ms-version: " +
		"0000-00-00\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			return
		}
		if strings.HasSuffix(r.URL.Path, "/panic") {
			return // the test's handler panics for this path
		}
		for _, s := range []Service{Blob, Queue, Table} {
			w := serve(s, r)
			if w.Code == http.StatusInternalServerError || w.Code >= 400 && w.Header()["x-ms-error-code"] == nil {
				t.Fatalf("%s: %d %s", s, w.Code, w.Body)
			}
			for name, values := range w.Header() {
				for _, v := range values {
					if strings.ContainsAny(name+v, "\r\n") {
						t.Fatalf("%s: header %q: %q", s, name, v)
					}
				}
			}
		}
	})
}
