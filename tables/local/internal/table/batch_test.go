package table

import (
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"
)

// asOwner serves requests as if the account's owner had signed them.
func asOwner(s *Service) http.Handler {
	rt := s.router()
	rt.Authorize = func(*wire.Request, auth.Resource) (*auth.Grant, error) { return &auth.Grant{Owner: true}, nil }
	return &wire.Handler{Service: wire.Table, Account: wiretest.Account, Now: time.Now,
		Log: slog.New(slog.DiscardHandler), Serve: rt.Serve}
}

// send serves a request as the account's owner.
func send(t *testing.T, s *Service, method, target, body string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	asOwner(s).ServeHTTP(w, r)
	return w
}

// insertion returns a transaction of one insert. The headers are those of the insert.
func insertion(row string, headers ...string) string {
	return strings.Join(append([]string{
		"--b", "Content-Type: multipart/mixed; boundary=c", "",
		"--c", "Content-Type: application/http", "",
		"POST http://x/furrow/rows HTTP/1.1", "Content-Type: application/json"},
		append(headers, "", `{"PartitionKey":"p","RowKey":"`+row+`","n@odata.type":"Edm.Int64","n":"1"}`,
			"--c--", "--b--", "")...), "\r\n")
}

// Older clients accept Atom as the answer to a transaction, and JSON as the answers to
// its operations.
func TestEachOperationHasItsOwnAccept(t *testing.T) {
	s := open(t)
	header := http.Header{"Content-Type": {"multipart/mixed; boundary=b"},
		"Accept": {"application/atom+xml,application/xml"}}
	for _, c := range []struct{ row, accept, want string }{
		{"1", "application/json;odata=nometadata", "\r\n\r\n" + `{"PartitionKey":"p"`},
		{"2", "application/json;odata=fullmetadata", `"odata.editLink"`},
		{"3", "application/json", `"n@odata.type":"Edm.Int64"`},
		{"3", "application/json", `{"odata.error":{"code":"EntityAlreadyExists","message":{"lang":"en-US","value":"0:The`},
		{"4", "application/atom+xml", "AtomFormatNotSupported"},
	} {
		w := send(t, s, http.MethodPost, "/furrow/$batch", insertion(c.row, "Accept: "+c.accept), header)
		if w.Code != http.StatusAccepted || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s of row %s: %d %s", c.accept, c.row, w.Code, w.Body)
		}
	}
}

func TestUnknownQueryOptionsAreNotIgnored(t *testing.T) {
	s := open(t, "p")
	for _, option := range []string{"$orderby=RowKey", "$skip=1", "$count=true", "$inlinecount=allpages", "$expand=x"} {
		w := send(t, s, http.MethodGet, "/furrow/rows()?$top=1&"+option, "", nil)
		if w.Code != http.StatusNotImplemented || !strings.Contains(w.Body.String(), option[:strings.Index(option, "=")]) {
			t.Errorf("%s: %d %s", option, w.Code, w.Body)
		}
	}
}

// Some clients number the operations of a transaction, before the request or in it.
func TestAnswersRepeatTheContentID(t *testing.T) {
	s := open(t)
	header := http.Header{"Content-Type": {"multipart/mixed; boundary=b"}}
	inside := insertion("1", "content-id: 7")
	const first = "Content-Type: application/http"
	before := strings.Replace(insertion("2"), first, "Content-ID: 8\r\n"+first, 1)
	for body, want := range map[string]string{inside: "Content-ID: 7\r\n", before: "Content-ID: 8\r\n"} {
		w := send(t, s, http.MethodPost, "/furrow/$batch", body, header)
		if w.Code != http.StatusAccepted || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d %s, without %s", w.Code, w.Body, want)
		}
	}
	w := send(t, s, http.MethodPost, "/furrow/$batch", insertion("3"), header)
	if strings.Contains(w.Body.String(), "Content-ID") {
		t.Errorf("an operation without a number is answered %s", w.Body)
	}
}

// The URL of an operation may have a host, and the account below it or not.
func TestOperationsMayHaveAnyFormOfURL(t *testing.T) {
	s := open(t)
	header := http.Header{"Content-Type": {"multipart/mixed; boundary=b"}}
	for i, url := range []string{"http://x/furrow/rows", "https://furrow.table.core.windows.net/rows", "/furrow/rows",
		"/rows", "rows", "http://x/furrow/rows?timeout=9"} {
		body := strings.Replace(insertion(strconv.Itoa(i)), "http://x/furrow/rows", url, 1)
		w := send(t, s, http.MethodPost, "/furrow/$batch", body, header)
		if !strings.Contains(w.Body.String(), "HTTP/1.1 201") {
			t.Errorf("%s: %d %s", url, w.Code, w.Body)
		}
	}
	for _, url := range []string{"http://x", "", "http://x/furrow/%zz"} {
		body := strings.Replace(insertion("z"), "http://x/furrow/rows", url, 1)
		w := send(t, s, http.MethodPost, "/furrow/$batch", body, header)
		if strings.Contains(w.Body.String(), "HTTP/1.1 20") {
			t.Errorf("%q: %d %s", url, w.Code, w.Body)
		}
	}
}
