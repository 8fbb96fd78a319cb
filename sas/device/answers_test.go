package device

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/tables"
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
	f.Add([]byte(`{"status":401,"code":"proof-expired","detail":"` + strings.Repeat("ü", 300) +
		`","serverTime":"2026-11-21T14:00:00Z","retryAfter":1e300}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, _ := problem(reply{status: 429, body: body}); r.wait < 0 || r.wait > longestWait || len(r.Error()) > 2000 {
			t.Errorf("%s, %v", r.wait, r)
		}
		a, table, err := parseAnswer(body, "pump-7")
		if err != nil {
			return
		}
		token := a.token(table, a.ServerTime)
		if token.renew > token.expires || token.expires <= 0 || token.batch < 1 || token.batch > tables.MaxOps ||
			!token.admits(token.first) {
			t.Errorf("%+v", token)
		}
		text, boundary := token.transaction([]row{{token.first, []byte(`{"a":1}`)}})
		if !strings.Contains(string(text), boundary) || !strings.HasPrefix(table.String(), token.service()) {
			t.Errorf("%s", text)
		}
	})
}

func FuzzVerdict(f *testing.F) {
	f.Add(202, "multipart/mixed; boundary=a",
		"--a\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHTTP/1.1 204 No "+
			"Content\r\n\r\n\r\n--b\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n\r\n--b--\r\n--a--\r\n")
	f.Add(202, "multipart/mixed; boundary=a",
		"--a\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHTTP/1.1 409 Conflict\r\n\r\n"+
			`{"odata.error":{"code":"EntityAlreadyExists","message":{"value":"1:It exists."}}}`+"\r\n--b--\r\n--a--\r\n")
	f.Add(409, "application/json",
		`{"odata.error":{"code":"EntityAlreadyExists","message":{"value":"99999999999999999999:It exists."}}}`)
	f.Fuzz(func(t *testing.T, status int, contentType, body string) {
		r := reply{status: status, header: http.Header{"Content-Type": {contentType}}, body: []byte(body)}
		for _, o := range []outcome{readTransaction(r, 2), judge(r)} {
			if o.verdict != stored && o.err == nil {
				t.Errorf("%+v", o)
			}
		}
		if o := readTransaction(r, 2); o.index >= 2 {
			t.Errorf("%+v", o)
		}
	})
}

func TestVerdictsOfStorageResponses(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   deliveryResult
	}{
		"a row that exists":     {409, `{"odata.error":{"code":"EntityAlreadyExists"}}`, exists},
		"a table being deleted": {409, `{"odata.error":{"code":"TableBeingDeleted"}}`, unknown},
		"an invalid row":        {400, `{"odata.error":{"code":"PropertyNameInvalid"}}`, rejected},
		"a large row":           {413, ``, rejected},
		"an invalid token":      {400, `{"odata.error":{"code":"AuthenticationFailed"}}`, denied},
		"a 400 of a proxy":      {400, `<html>`, unknown},
		"no table":              {404, `{"odata.error":{"code":"TableNotFound"}}`, denied},
		"an expired token":      {403, `{"odata.error":{"code":"AuthenticationFailed"}}`, denied},
		"busy":                  {503, `{"odata.error":{"code":"ServerBusy"}}`, unknown},
	} {
		if o := judge(reply{status: c.status, body: []byte(c.body)}); o.verdict != c.want {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestRetryAfterIsSecondsOrATime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		"-7":                            0,
		"soon":                          0,
		"9999999999999":                 longestWait,
		"Sat, 21 Nov 2026 12:00:30 GMT": 30 * time.Second,
		"Sat, 21 Nov 2020 12:00:30 GMT": 0,
		"Sat, 21 Nov 2036 12:00:30 GMT": longestWait,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}, "Date": {"Sat, 21 Nov 2026 12:00:00 GMT"}}); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
