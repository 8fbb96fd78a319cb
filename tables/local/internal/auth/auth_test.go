package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/wire"
)

var (
	key = []byte("the account's key")
	now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
)

func mac(text string) string { return macBy(key, text) }

func macBy(key []byte, text string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

func request(s wire.Service, method, target string, q url.Values) *wire.Request {
	r := httptest.NewRequest(method, target, nil)
	return &wire.Request{Request: r, Service: s, Account: "acct", Target: target, Query: q, Now: now,
		Version: "2020-12-06"}
}

// token returns a table SAS with default terms, except for those in changes.
func token(changes map[string]string) url.Values {
	terms := map[string]string{"sv": "2019-02-02", "sp": "a", "st": "2026-11-20T09:00:00Z",
		"se": "2026-11-20T11:00:00Z", "tn": "Rows", "spk": "d1", "epk": "d1"}
	maps.Copy(terms, changes)
	q := url.Values{}
	for name, v := range terms {
		if v != "" {
			q.Set(name, v)
		}
	}
	q.Set("sig", mac(sasText(wire.Table, q, "/table/acct/"+strings.ToLower(q.Get("tn")))))
	return q
}

func policies(string) []Policy {
	var full, expired, bare Policy
	full.ID, expired.ID, bare.ID = "full", "expired", "bare"
	full.Access.Permission, full.Access.Expiry = "ad", "2026-11-20T12:00:00Z"
	expired.Access.Permission, expired.Access.Expiry = "a", "2026-11-20"
	return []Policy{full, expired, bare}
}

func TestSASTermsAreChecked(t *testing.T) {
	v := &Verifier{Account: "acct", Key: key, Policies: policies}
	secure := func(r *wire.Request) { r.TLS = &tls.ConnectionState{} }
	from := func(addr string) func(*wire.Request) {
		return func(r *wire.Request) { r.RemoteAddr = addr + ":1" }
	}
	alter := func(name, value string) func(*wire.Request) {
		return func(r *wire.Request) { r.Query.Set(name, value) }
	}
	add := func(name, value string) func(*wire.Request) {
		return func(r *wire.Request) { r.Query.Add(name, value) }
	}
	as := func(h, m int) func(*wire.Request) {
		return func(r *wire.Request) { r.Now = time.Date(2026, 11, 20, h, m, 0, 0, time.UTC) }
	}
	for name, c := range map[string]struct {
		terms  map[string]string
		change func(*wire.Request)
		code   string // empty: granted
	}{
		"date only":                 {map[string]string{"st": "2026-11-20", "se": "2026-11-21"}, nil, ""},
		"expired":                   {nil, as(11, 0), "AuthenticationFailed"},
		"a minute before expiry":    {nil, as(10, 59), ""},
		"no expiry":                 {map[string]string{"se": ""}, nil, "AuthenticationFailed"},
		"no permissions":            {map[string]string{"sp": ""}, nil, "AuthenticationFailed"},
		"an invalid expiry":         {map[string]string{"se": "tomorrow"}, nil, "AuthenticationFailed"},
		"another signature":         {nil, alter("sig", mac("something else")), "AuthenticationFailed"},
		"a second signature":        {nil, add("sig", mac("something else")), "AuthenticationFailed"},
		"a second table":            {nil, add("tn", "other"), "AuthenticationFailed"},
		"an invalid signature":      {nil, alter("sig", "?"), "AuthenticationFailed"},
		"spelled in lower case":     {map[string]string{"tn": "rows"}, nil, ""},
		"an old version":            {map[string]string{"sv": "2014-02-14"}, nil, "AuthenticationFailed"},
		"a row without a partition": {map[string]string{"spk": "", "srk": "1"}, nil, "AuthenticationFailed"},
		"https, over https":         {map[string]string{"spr": "https"}, secure, ""},
		"either protocol":           {map[string]string{"spr": "https,http"}, nil, ""},
		"http alone":                {map[string]string{"spr": "http"}, nil, "AuthenticationFailed"},
		"its address":               {map[string]string{"sip": "10.0.0.1"}, from("10.0.0.1"), ""},
		"its range":                 {map[string]string{"sip": "10.0.0.1-10.0.0.9"}, from("[::ffff:10.0.0.9]"), ""},
		"another address": {map[string]string{"sip": "10.0.0.1-10.0.0.9"}, from("10.0.0.10"),
			"AuthorizationSourceIPMismatch"},
		"an invalid address":      {map[string]string{"sip": "here"}, from("10.0.0.1"), "AuthenticationFailed"},
		"a policy with all terms": {map[string]string{"sp": "", "st": "", "se": "", "si": "full"}, nil, ""},
		"a policy that has expired": {map[string]string{"sp": "", "st": "", "se": "", "si": "expired"}, nil,
			"AuthenticationFailed"},
		"a policy without terms": {map[string]string{"si": "bare"}, nil, ""},
		"a policy that is gone":  {map[string]string{"si": "gone"}, nil, "AuthenticationFailed"},
		"a term in token and policy": {map[string]string{"se": "", "st": "", "si": "full"}, nil,
			"InvalidQueryParameterValue"},
	} {
		r := request(wire.Table, "POST", "/acct/rows", token(c.terms))
		if c.change != nil {
			c.change(r)
		}
		g, err := v.Authorize(r, Resource{Name: "rows"})
		e, _ := errors.AsType[*wire.Error](err)
		switch {
		case c.code == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.code != "" && (e == nil || e.Code != c.code):
			t.Errorf("%s: %+v, %v; want %s", name, g, err, c.code)
		}
	}
}

func TestRangeComparesPairsOfKeys(t *testing.T) {
	pair := func(p, r string) Key { return Key{p, r} }
	one := Range{From: pair("d1", ""), To: pair("d1", ""), HasFrom: true, HasTo: true}
	window := Range{From: pair("d1", "3"), To: pair("d1", "5"), HasFrom: true, HasTo: true, ToRow: true}
	for _, c := range []struct {
		g    Range
		k    Key
		want bool
	}{
		{one, pair("d1", ""), true}, {one, pair("d1", "~"), true}, {one, pair("d", "9"), false},
		{one, pair("d10", "0"), false}, {one, pair("", "0"), false}, {one, pair("D1", "0"), false},
		{window, pair("d1", "2"), false}, {window, pair("d1", "3"), true}, {window, pair("d1", "5"), true},
		{window, pair("d1", "50"), false}, {window, pair("d2", "4"), false},
		{Range{}, pair("anything", ""), true},
	} {
		if got := c.g.Contains(c.k); got != c.want {
			t.Errorf("%+v contains %v = %v, want %v", c.g, c.k, got, c.want)
		}
	}
}

func TestSharedKeyNeedsItsDateAndSignature(t *testing.T) {
	v := &Verifier{Account: "acct", Key: key}
	signed := func(s wire.Service, lite bool, at time.Time) *wire.Request {
		r := request(s, "PUT", "/acct/a%20b", url.Values{"comp": {"metadata"}, "Z": {"2", "1"}})
		r.Header = http.Header{"X-Ms-Date": {wire.HTTPTime(at)}, "X-Ms-Meta-A_b": {" x  y "}, "X-Ms-Meta-A1": {"1"},
			"Content-Type": {"text/plain"}, "Content-Length": {"0"}}
		scheme := "SharedKey"
		if lite {
			scheme = "SharedKeyLite"
		}
		r.Header.Set("Authorization", scheme+" acct:"+mac(stringToSign(r, lite, byWeight)))
		return r
	}
	for _, s := range []wire.Service{wire.Blob, wire.Queue, wire.Table} {
		for _, lite := range []bool{false, true} {
			if g, err := v.Authorize(signed(s, lite, now.Add(-14*time.Minute)), Resource{}); err != nil || !g.Owner {
				t.Errorf("%s, lite %v: %v", s, lite, err)
			}
			for name, r := range map[string]*wire.Request{
				"a date 16 minutes old":   signed(s, lite, now.Add(-16*time.Minute)),
				"a date 16 minutes ahead": signed(s, lite, now.Add(16*time.Minute)),
			} {
				if _, err := v.Authorize(r, Resource{}); err == nil {
					t.Errorf("%s, lite %v: %s is accepted", s, lite, name)
				}
			}
			r := signed(s, lite, now)
			r.Header.Set("Authorization", "shared"+strings.TrimPrefix(r.Header.Get("Authorization"), "Shared"))
			if _, err := v.Authorize(r, Resource{}); err != nil {
				t.Errorf("%s, lite %v: the scheme in another case: %v", s, lite, err)
			}
			r = signed(s, lite, now)
			r.Target = "/acct/other"
			if _, err := v.Authorize(r, Resource{}); err == nil {
				t.Errorf("%s, lite %v: another path is accepted", s, lite)
			}
		}
	}
	want := "PUT\n\n\n\n\ntext/plain\n\n\n\n\n\n\nx-ms-date:Fri, 20 Nov 2026 10:00:00 GMT\n" +
		"x-ms-meta-a_b:x y\nx-ms-meta-a1:1\n/acct/acct/a%20b\ncomp:metadata\nz:1,2"
	if got := stringToSign(signed(wire.Blob, false, now), false, byWeight); got != want {
		t.Errorf("string to sign\n%q, want\n%q", got, want)
	}
}

// Documents of .NET start with a byte order mark, editors end them with a line feed, and
// some readers resolve no character references.
func TestPoliciesAreReadAndWrittenForEveryClient(t *testing.T) {
	policies, err := parsePolicies([]byte("\uFEFF<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" +
		"<SignedIdentifiers>\n<SignedIdentifier><Id>it's &quot;so&quot;</Id>" +
		"<AccessPolicy><Expiry>2030-01-01</Expiry></AccessPolicy></SignedIdentifier>\n" +
		"<SignedIdentifier><Id>empty</Id><AccessPolicy/></SignedIdentifier>\n</SignedIdentifiers>\n"))
	must.Succeed(t, err)
	want := wire.XMLHeader + `<SignedIdentifiers><SignedIdentifier><Id>it's "so"</Id>` +
		`<AccessPolicy><Expiry>2030-01-01</Expiry></AccessPolicy></SignedIdentifier>` +
		`<SignedIdentifier><Id>empty</Id></SignedIdentifier></SignedIdentifiers>`
	if got := string(FormatPolicies(policies)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Accepted policies can be formatted and parsed again.
func FuzzPolicies(f *testing.F) {
	f.Add([]byte(`<?xml version="1.0"?><SignedIdentifiers><SignedIdentifier><Id>1</Id><AccessPolicy><Start>2026-01-01</Start><Expiry/><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := parsePolicies(body)
		if err != nil {
			return
		}
		again := FormatPolicies(p)
		if q, err := parsePolicies(again); err != nil || len(q) != len(p) {
			t.Fatalf("%q became %q: %v", body, again, err)
		}
	})
}

// No invalid header or query is accepted, or causes a panic.
func FuzzAuthorization(f *testing.F) {
	f.Add("SharedKey acct:AAAA", "sv=2020-12-06&sig=AAAA&sr=b&sp=r&se=2030-01-01", "x/y")
	f.Add("", "sv=2020-12-06&sig=AAAA&tn=rows&spk=a&epk=b&si=full&sip=1.2.3.4-5.6.7.8", "rows")
	f.Fuzz(func(t *testing.T, header, query, name string) {
		q, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		v := &Verifier{Account: "acct", Key: key, Policies: policies}
		for _, s := range []wire.Service{wire.Blob, wire.Queue, wire.Table} {
			r := request(s, "GET", "/acct/x", q)
			r.Header.Set("Authorization", header)
			r.Header.Set("x-ms-date", wire.HTTPTime(now))
			if g, err := v.Authorize(r, Resource{Name: name, Blob: name}); err == nil {
				t.Fatalf("%s granted %+v", s, g)
			}
		}
	})
}
