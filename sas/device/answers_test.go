package device

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/service"
)

const goodAnswer = `{"device":"pump-7","url":"https://acct.table.core.windows.net/readings","sas":"sv=2019-02-02&sig=secret","partitionKey":"pump-7",
"rowKeyFormat":"ticks19[-suffix]","earliestRowKey":"0639000000000000000","latestRowKey":"0639100000000000000","expires":"2026-11-21T15:00:00Z",
"renewAfter":"2026-11-21T14:40:00Z","serverTime":"2026-11-21T14:00:00.123456Z","sendEvery":60,"batch":100,"later":{"a":1}}`

func TestInvalidTokenResponsesAreRefused(t *testing.T) {
	if _, _, err := parseAnswer([]byte(goodAnswer), "pump-7"); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string][2]string{
		"not the JSON":     {`{"device"`, `["device"`},
		"for device":       {`"device":"pump-7"`, `"device":"pump-8"`},
		"use https":        {"https://acct", "http://acct"},
		"URL of a table":   {"windows.net/readings", "windows.net/readings?x=y"},
		"table name":       {"windows.net/readings", "windows.net"},
		"partitionKey":     {`"partitionKey":"pump-7"`, `"partitionKey":"a/b"`},
		"window":           {"0639000000000000000", "639"},
		"is after latest":  {"0639000000000000000", "0639200000000000000"},
		"rowKeyFormat":     {"ticks19", "ticks20"},
		"sas is not":       {"sig=secret", "secret"},
		"after serverTime": {"15:00:00Z", "13:00:00Z"},
		"sendEvery":        {`"batch":100`, `"batch":0`},
	} {
		_, _, err := parseAnswer([]byte(strings.Replace(goodAnswer, change[0], change[1], 1)), "pump-7")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(goodAnswer))
	f.Add([]byte(strings.Replace(goodAnswer, `"renewAfter":"2026`, `"renewAfter":"0001`, 1)))
	f.Add([]byte(`{"status":401,"code":"proof-expired","detail":"` + strings.Repeat("ü", 300) +
		`","serverTime":"2026-11-21T14:00:00Z"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, _ := problem(reply{status: 429, body: body}); r.wait < 0 || r.wait > longestWait || len(r.Error()) > 2000 {
			t.Errorf("%s, %v", r.wait, r)
		}
		a, table, err := parseAnswer(body, "pump-7")
		if err != nil {
			return
		}
		token := must.Have((&Client{}).token(a, table, a.ServerTime))(t)
		if token.renew > token.expires || token.expires <= 0 || token.batch < 1 || token.batch > tables.MaxOps ||
			!token.admits(token.first) {
			t.Errorf("%+v", token)
		}
	})
}

func TestResultsOfStorageErrors(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		code   string
		want   result
	}{
		"a row that exists":     {409, "EntityAlreadyExists", exists},
		"a table being deleted": {409, "TableBeingDeleted", unknown},
		"an invalid row":        {400, "PropertyNameInvalid", rejected},
		"a large row":           {413, "", rejected},
		"an invalid token":      {400, "AuthenticationFailed", denied},
		"a 400 of a proxy":      {400, "", unknown},
		"no table":              {404, "TableNotFound", denied},
		"an expired token":      {403, "AuthenticationFailed", denied},
		"busy":                  {503, "ServerBusy", unknown},
	} {
		o := judge(&service.Failure{Status: c.status, Code: c.code, Response: &http.Response{}})
		if o.result != c.want || o.err == nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestRetryAfterIsBounded(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "9999999999999": longestWait,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
