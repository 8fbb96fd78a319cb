package auth

import (
	"encoding/xml"
	"errors"
	"maps"
	"net/url"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/wire"
)

// TestDelegationSignaturesEqualThoseOfAnSDK compares with tokens that @azure/storage-queue 12.30.0 signed. It has no
// table SAS of this kind; theirs have the four keys of the range after these lines.
func TestDelegationSignaturesEqualThoseOfAnSDK(t *testing.T) {
	const key = "skoid=11111111-2222-3333-4444-555555555555&sktid=66666666-7777-8888-9999-000000000000" +
		"&skt=2026-11-20T09%3A00%3A00Z&ske=2026-11-20T12%3A00%3A00Z&sks=q&skv=2025-07-05"
	for _, token := range []string{
		"sv=2025-07-05&spr=https&st=2026-11-20T09%3A30%3A00Z&se=2026-11-20T11%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=q&sp=ap" +
			"&sig=rT440yhDGbftjtsGuLnJkLr4yGLWgTzyu0dI7M1rUwU%3D",
		"sv=2025-07-05&se=2026-11-20T11%3A00%3A00Z&sr=q&sp=r&sig=c5NpAJ%2FbY3Oyu%2BJcnTnNJbqdcvQU0CGctTXkQuoBnM4%3D",
	} {
		q := must.Have(url.ParseQuery(token + "&" + key))(t)
		text := delegationText(wire.Queue, q, "/queue/contoso/jobs-live")
		if !signed([]byte("a user delegation key"), text, q.Get("sig")) {
			t.Errorf("%s is not signed by %q", token, text)
		}
	}
}

// delegated returns a table SAS signed with a user delegation key, except for changes.
func delegated(v *Verifier, changes map[string]string) url.Values {
	terms := map[string]string{"sv": "2025-07-05", "sp": "a", "se": "2026-11-20T11:00:00Z", "tn": "Rows", "spk": "d1",
		"epk": "d1", "skoid": owner, "sktid": owner, "skt": "2026-11-20T09:00:00Z", "ske": "2026-11-20T11:30:00Z", "sks": "t",
		"skv": "2025-07-05"}
	maps.Copy(terms, changes)
	q := url.Values{}
	for name, value := range terms {
		if value != "" {
			q.Set(name, value)
		}
	}
	text := delegationText(wire.Table, q, "/table/acct/rows")
	key := v.value(Delegation{q.Get("skoid"), q.Get("sktid"), q.Get("skt"), q.Get("ske"), q.Get("sks"), q.Get("skv")})
	q.Set("sig", macBy(key, text))
	return q
}

func TestDelegatedTermsAreChecked(t *testing.T) {
	v := &Verifier{Account: "acct", Key: key, Policies: policies}
	at := func(h, m int) func(*wire.Request) {
		return func(r *wire.Request) { r.Now = time.Date(2026, 11, 20, h, m, 0, 0, time.UTC) }
	}
	for name, c := range map[string]struct {
		terms  map[string]string
		change func(*wire.Request)
		code   string // empty: granted
	}{
		"valid":                     {nil, nil, ""},
		"expired":                   {nil, at(11, 0), "AuthenticationFailed"},
		"longer than its key":       {map[string]string{"se": "2026-11-20T12:00:00Z"}, at(11, 45), "AuthenticationFailed"},
		"before its key":            {map[string]string{"skt": "2026-11-20T10:30:00Z"}, nil, "AuthenticationFailed"},
		"without the key's time":    {map[string]string{"skt": ""}, nil, "AuthenticationFailed"},
		"of another service":        {map[string]string{"sks": "q"}, nil, "AuthenticationFailed"},
		"of an old version":         {map[string]string{"sv": "2019-02-02"}, nil, "AuthenticationFailed"},
		"with a policy":             {map[string]string{"si": "full"}, nil, "AuthenticationFailed"},
		"bound to a user":           {map[string]string{"sduoid": owner}, nil, "NotImplemented"},
		"signed by the account key": {nil, func(r *wire.Request) { accountSigned(r.Query) }, "AuthenticationFailed"},
		"with another key's end": {nil, func(r *wire.Request) { r.Query.Set("ske", "2026-11-27T11:30:00Z") },
			"AuthenticationFailed"},
		"of another range": {nil, func(r *wire.Request) { r.Query.Set("epk", "d2") }, "AuthenticationFailed"},
	} {
		r := request(wire.Table, "POST", "/acct/rows", delegated(v, c.terms))
		if c.change != nil {
			c.change(r)
		}
		g, err := v.Authorize(r, Resource{Name: "rows"})
		e, _ := errors.AsType[*wire.Error](err)
		switch {
		case c.code == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.code == "" && (g.Perms != "a" || g.Range.Contains(Key{"d2", ""})):
			t.Errorf("%s: %+v", name, g)
		case c.code != "" && (e == nil || e.Code != c.code):
			t.Errorf("%s: %+v, %v; want %s", name, g, err, c.code)
		}
	}
}

func accountSigned(q url.Values) {
	q.Set("sig", mac(delegationText(wire.Table, q, "/table/acct/rows")))
}

func TestDelegationKeysEndWithinAWeek(t *testing.T) {
	v := &Verifier{Account: "acct", Key: key}
	for body, code := range map[string]string{
		"<KeyInfo><Start>2026-11-20T09:00:00Z</Start><Expiry>2026-11-20T12:00:00Z</Expiry></KeyInfo>": "",
		"<KeyInfo><Expiry>2026-11-27T10:00:00Z</Expiry></KeyInfo>":                                    "",
		"<KeyInfo><Expiry>2026-11-27T10:00:01Z</Expiry></KeyInfo>":                                    "InvalidXmlNodeValue",
		"<KeyInfo><Expiry>2026-11-20T09:59:59Z</Expiry></KeyInfo>":                                    "InvalidXmlNodeValue",
		"<KeyInfo><Start>2026-11-20T09:00:00Z</Start></KeyInfo>":                                      "InvalidXmlNodeValue",
		"<KeyInfo>": "InvalidXmlDocument",
	} {
		answer, err := v.delegate([]byte(body), wire.Table, now)
		e, _ := errors.AsType[*wire.Error](err)
		if code == "" && err != nil || code != "" && (e == nil || e.Code != code) {
			t.Errorf("%s: %v; want %q", body, err, code)
		}
		if err != nil {
			continue
		}
		var told struct{ SignedExpiry, SignedService string }
		must.Succeed(t, xml.Unmarshal(answer, &told))
		if told.SignedService != "t" || told.SignedExpiry == "" {
			t.Errorf("%s: %s", body, answer)
		}
	}
}
