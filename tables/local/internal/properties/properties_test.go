package properties

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// do serves a request of the Blob service.
func do(f func(http.ResponseWriter, *wire.Request) error, method, body string, headers ...string) (
	*httptest.ResponseRecorder, error) {
	r := &wire.Request{Request: httptest.NewRequest(method, "/", nil), Body: strings.NewReader(body),
		Query: map[string][]string{"restype": {"service"}}}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	return w, f(w, r)
}

func properties(inner string) string {
	return "<StorageServiceProperties>" + inner + "</StorageServiceProperties>"
}

func corsRule(origins, methods, headers, exposed string) string {
	return "<CorsRule><AllowedOrigins>" + origins + "</AllowedOrigins><AllowedMethods>" + methods +
		"</AllowedMethods><MaxAgeInSeconds>5</MaxAgeInSeconds><ExposedHeaders>" + exposed +
		"</ExposedHeaders><AllowedHeaders>" + headers + "</AllowedHeaders></CorsRule>"
}

func TestPropertiesOutlastARestart(t *testing.T) {
	fs := vfs.NewMem()
	s, closeStore := wiretest.OpenStore(t, fs, "db")
	k, err := Open(s, wire.Blob)
	must.Succeed(t, err)
	rule := corsRule("https://a.example", "GET", "x", "y")
	for _, change := range []string{"<Cors>" + rule + "</Cors>",
		"<DefaultServiceVersion>2019-02-02</DefaultServiceVersion>"} {
		must.Have(do(k.Set, "PUT", properties(change)))(t)
	}
	closeStore()
	s, _ = wiretest.OpenStore(t, fs, "db")
	for service, want := range map[wire.Service]bool{wire.Blob: true, wire.Queue: false} {
		if k, err = Open(s, service); err != nil {
			t.Fatal(err)
		}
		w, err := do(k.Get, "GET", "")
		must.Succeed(t, err)
		for _, part := range []string{"<AllowedOrigins>https://a.example</AllowedOrigins>", "2019-02-02"} {
			if got := w.Body.String(); strings.Contains(got, part) != want {
				t.Errorf("%s: %s in %s: want %v", service, part, got, want)
			}
		}
	}
}

func TestWrongPropertiesAreRefused(t *testing.T) {
	ok := corsRule("*", "GET", "", "")
	rules := func(rules string) string { return properties("<Cors>" + rules + "</Cors>") }
	many := strings.Repeat("x", 250)
	const days = "<RetentionPolicy><Enabled>true</Enabled><Days>366</Days></RetentionPolicy>"
	const enabled = "<Enabled>true</Enabled>"
	for body, want := range map[string]string{
		"":                                      "InvalidXmlDocument",
		"<Other/>":                              "InvalidXmlDocument",
		rules(""):                               "",
		rules(strings.Repeat(ok, 5)):            "",
		rules(strings.Repeat(ok, 6)):            "InvalidXmlDocument",
		rules(corsRule("", "GET", "", "")):      "InvalidXmlNodeValue",
		rules(corsRule("*", "", "", "")):        "InvalidXmlNodeValue",
		rules(corsRule("*", "GET,SEE", "", "")): "InvalidXmlNodeValue",
		rules(corsRule("*", "GET", many+"7 more.", "")):                              "InvalidXmlNodeValue",
		rules(corsRule("*", "GET", "", "a\r\nb")):                                    "InvalidXmlNodeValue",
		rules(strings.Repeat(corsRule(many, "GET", many, ""), 5)):                    "InvalidXmlDocument",
		properties("<HourMetrics>" + enabled + "</HourMetrics>"):                     "InvalidXmlDocument",
		properties("<Logging>" + days + "</Logging>"):                                "InvalidXmlDocument",
		properties("<DeleteRetentionPolicy>" + enabled + "</DeleteRetentionPolicy>"): "NotImplemented",
		properties("<StaticWebsite>" + enabled + "</StaticWebsite>"):                 "NotImplemented",
	} {
		_, err := parse([]byte(body), wire.Blob)
		code := ""
		if err != nil {
			code = wire.AsError(err).Code
		}
		if code != want {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	off := []byte(properties("<StaticWebsite><Enabled>false</Enabled></StaticWebsite>"))
	if _, err := parse(off, wire.Table); err == nil {
		t.Error("tables take a property of blobs")
	}
}

// The first rule for an origin and a method decides about the answer. Headers are named as the answer has them.
func TestAnswersNameWhoMayReadThem(t *testing.T) {
	s, _ := wiretest.OpenStore(t, vfs.NewMem(), "db")
	k := must.Have(Open(s, wire.Blob))(t)
	set := func(rules string) {
		t.Helper()
		must.Have(do(k.Set, "PUT", properties("<Cors>"+rules+"</Cors>")))(t)
	}
	answer := func(method, origin string) string {
		r := httptest.NewRequest(method, "/", nil)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		recorder := httptest.NewRecorder()
		w := k.Writer(recorder, r)
		wire.Set(w.Header(), "x-ms-meta-A", "1")
		wire.Set(w.Header(), "ETag", "e")
		w.Write([]byte("x"))
		h := recorder.Result().Header
		var got []string
		for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials",
			"Access-Control-Expose-Headers", "Vary"} {
			got = append(got, h.Get(name))
		}
		return strings.Join(got, "|")
	}
	set("")
	if got := answer("GET", "https://a.example"); got != "|||" {
		t.Errorf("without rules: %s", got)
	}
	set(corsRule("https://a.example, https://*.b.example", "GET", "", "x-ms-meta*,Content-Length") +
		corsRule("*", "PUT", "", "") + corsRule("https://a.example", "PUT", "", "ETag"))
	for _, c := range []struct{ method, origin, want string }{
		{"GET", "https://a.example", "https://a.example|true|Content-Length,x-ms-meta-A|Origin"},
		{"GET", "https://x.b.example", "https://x.b.example|true|Content-Length,x-ms-meta-A|Origin"},
		{"GET", "https://.b.example", "|||Origin"},
		{"GET", "https://a.example.evil", "|||Origin"},
		{"GET", "", "|||Origin"},
		{"PUT", "https://a.example", "*|||"},
		{"PUT", "", "*|||"},
		{"DELETE", "https://a.example", "|||Origin"},
	} {
		if got := answer(c.method, c.origin); got != c.want {
			t.Errorf("%s from %q: %s, want %s", c.method, c.origin, got, c.want)
		}
	}
}
