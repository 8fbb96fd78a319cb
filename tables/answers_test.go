package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// A script answers requests in order, with answers that are rare from real servers.
type script struct {
	answers  []answer
	requests []string // method and URL
	statuses []int    // reported to OnOperation
	prefer   string   // the last Prefer
}

type answer struct {
	status int
	header map[string]string
	body   string
	cut    bool  // the body breaks off after this
	err    error // instead of an answer
}

func (s *script) Do(req *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, req.Method+" "+req.URL.String())
	s.prefer = req.Header.Get("Prefer")
	if len(s.answers) == 0 {
		return nil, fmt.Errorf("%w: the script has ended", http.ErrAbortHandler)
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	body := io.Reader(strings.NewReader(a.body))
	if a.cut {
		body = io.MultiReader(body, iotest.ErrReader(io.ErrUnexpectedEOF))
	}
	resp := &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(body), Request: req}
	for k, v := range a.header {
		resp.Header.Set(k, v)
	}
	return resp, a.err
}

// table returns a table whose storage answers as in s.
func (s *script) table(t *testing.T) *Table {
	t.Helper()
	c := Config{Account: Account{Name: "acme", Key: "a2V5", Table: "https://acme.table.core.windows.net"}, Transport: s}
	c.Retry.RetryDelay = time.Microsecond
	c.OnOperation = func(_ context.Context, o Operation) { s.statuses = append(s.statuses, o.Status) }
	client := must.Have(Connect(c))(t)
	return client.Table("readings")
}

func fault(code, message string) string {
	return `{"odata.error":{"code":"` + code + `","message":{"lang":"en-US","value":"` + message +
		`\nRequestId:7\nTime:now"}}}`
}

// TestPagesShareNoMemory lets an answer break off, and compares a page after the memory of its answer was used again.
func TestPagesShareNoMemory(t *testing.T) {
	next := map[string]string{"x-ms-continuation-NextPartitionKey": "1!4!cA--", "x-ms-continuation-NextRowKey": "1!4!cg--"}
	first, second := string(page(3, `"text":"first","id@odata.type":"Edm.Binary","id":"Zmlyc3Q="`)),
		string(page(3, `"text":"other","id@odata.type":"Edm.Binary","id":"b3RoZXI="`))
	s := &script{answers: []answer{
		{status: 200, body: first[:200], cut: true},
		{status: 200, header: next, body: first},
		{status: 200, body: strings.ReplaceAll(second, "contoso", "fabrikam")},
	}}
	var pages []Page
	for p, err := range s.table(t).Rows(t.Context(), Query{}) {
		pages = append(pages, p)
		must.Succeed(t, err)
	}
	if len(pages) != 2 || len(s.requests) != 3 {
		t.Fatalf("%d pages of %d requests", len(pages), len(s.requests))
	}
	if want := must.Have(decodePage([]byte(first)))(t); !reflect.DeepEqual(pages[0].Rows, want) {
		t.Errorf("the first page became %+v", pages[0].Rows)
	}
}

func TestAnEmptyPageIsNotTheLast(t *testing.T) {
	next := map[string]string{"x-ms-continuation-NextPartitionKey": "1!4!cA--", "x-ms-continuation-NextRowKey": "1!4!cg--"}
	noRow := map[string]string{"x-ms-continuation-NextPartitionKey": "1!4!cQ--", "Date": "Fri, 20 Nov 2026 09:17:00 GMT"}
	s := &script{answers: []answer{
		{status: 200, header: next, body: `{"value":[]}`},
		{status: 200, header: noRow, body: `{"value":[]}`},
		{status: 200, body: `{"value":[{"PartitionKey":"p","RowKey":"r"}]}`},
	}}
	var pages []Page
	for page, err := range s.table(t).Rows(t.Context(), Query{Range: Partition("p"), Size: 5000}) {
		must.Succeed(t, err)
		pages = append(pages, page)
	}
	want := []Page{
		{Next: Continuation{"1!4!cA--", "1!4!cg--"}},
		{Next: Continuation{PartitionKey: "1!4!cQ--"}, Time: time.Date(2026, 11, 20, 9, 17, 0, 0, time.UTC)},
		{Rows: []Entity{{PartitionKey: "p", RowKey: "r"}}},
	}
	if !reflect.DeepEqual(pages, want) {
		t.Errorf("got  %+v\nwant %+v", pages, want)
	}
	if !strings.Contains(s.requests[0], "top=1000") {
		t.Errorf("the first request is %s", s.requests[0])
	}
	for i, part := range []string{"", "NextRowKey=1%214%21cg--", "NextPartitionKey=1%214%21cQ--"} {
		if !strings.Contains(s.requests[i], part) || !strings.Contains(s.requests[i], "filter=PartitionKey+eq+%27p%27") {
			t.Errorf("request %d is %s", i, s.requests[i])
		}
	}
}

func TestABrokenPageIsAnError(t *testing.T) {
	for _, body := range []string{"", "{", `{"value":[{"PartitionKey":"p","RowKey":"r"`, "<html>"} {
		s := &script{answers: []answer{{status: 200, body: body}}}
		n := 0
		for page, err := range s.table(t).Rows(t.Context(), Query{}) {
			if n++; err == nil {
				t.Errorf("%q is read as %+v", body, page)
			}
		}
		if n != 1 {
			t.Errorf("%q gives %d pages", body, n)
		}
	}
}

// transactionAnswer returns an answer to a transaction in the form of storage.
func transactionAnswer(parts ...string) answer {
	body := "--b1\r\nContent-Type: multipart/mixed; boundary=c1\r\n\r\n"
	for _, p := range parts {
		body += "--c1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + p + "\r\n"
	}
	return answer{status: 202, header: map[string]string{"Content-Type": "multipart/mixed; boundary=b1"},
		body: body + "--c1--\r\n--b1--\r\n"}
}

const written = "HTTP/1.1 204 No Content\r\nETag: W/\"datetime'2026'\"\r\nDataServiceVersion: 1.0;\r\n\r\n"

func refused(status int, code, message string) string {
	return fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: application/json\r\n\r\n%s", status, fault(code, message))
}

func twoOps() []Op { return []Op{Insert(row("p", "a")), Merge(row("p", "b"), "W/1")} }

func TestATransactionRefusedUnder202Fails(t *testing.T) {
	for message, want := range map[string]struct {
		code  string
		index int
		name  error
	}{
		"1:The update condition specified in the request was not satisfied.": {"UpdateConditionNotSatisfied", 1, ErrConflict},
		"0:The specified entity already exists.":                             {"EntityAlreadyExists", 0, ErrExists},
		"1:The table specified does not exist.":                              {"TableNotFound", 1, ErrNoTable},
		"0:The server is busy.":                                              {"ServerBusy", 0, ErrBusy},
		"99:One of the request inputs is not valid.":                         {"InvalidInput", -1, nil},
		"The requested operation is not implemented: this.":                  {"NotImplemented", -1, nil},
	} {
		s := &script{answers: []answer{transactionAnswer(refused(412, want.code, message))}}
		_, err := s.table(t).Submit(t.Context(), twoOps())
		if err == nil || want.name != nil && !errors.Is(err, want.name) || !strings.Contains(err.Error(), want.code) {
			t.Errorf("%s: %v", message, err)
		}
		te, ok := errors.AsType[*TransactionError](err)
		if ok != (want.index >= 0) ||
			ok && (te.Index != want.index || te.Op.Entity.RowKey != twoOps()[want.index].Entity.RowKey) {
			t.Errorf("%s: %v", message, err)
		}
		if re, ok := errors.AsType[*azcore.ResponseError](err); !ok || re.ErrorCode != want.code || re.StatusCode != 412 {
			t.Errorf("%s: the chain of %v has %v", message, err, re)
		}
	}
}

// aztables panics on some of these answers.
func TestIncompleteAnswerToATransactionIsAnError(t *testing.T) {
	whole := transactionAnswer(written, written)
	for cut := range len(whole.body) - len("--b1--\r\n") - len("--c1--\r\n") {
		a := whole
		a.body = whole.body[:cut]
		s := &script{answers: []answer{a}}
		if w, err := s.table(t).Submit(t.Context(), twoOps()); err == nil {
			t.Fatalf("an answer of only %d bytes is read as %+v", cut, w)
		}
	}
	whole.header = nil
	if w, err := (&script{answers: []answer{whole}}).table(t).Submit(t.Context(), twoOps()); err == nil {
		t.Errorf("an answer without a type is read as %+v", w)
	}
	one := &script{answers: []answer{transactionAnswer(written)}}
	if w, err := one.table(t).Submit(t.Context(), twoOps()); err == nil {
		t.Errorf("one answer to two operations is read as %+v", w)
	}
}

func TestErrorsFollowFromCodes(t *testing.T) {
	all := []error{ErrNotFound, ErrNoTable, ErrExists, ErrConflict, ErrBusy}
	for code, want := range map[string]struct {
		status int
		name   error
	}{
		"ResourceNotFound":            {404, ErrNotFound},
		"EntityNotFound":              {404, ErrNotFound},
		"TableNotFound":               {404, ErrNoTable},
		"EntityAlreadyExists":         {409, ErrExists},
		"TableAlreadyExists":          {409, ErrExists},
		"TableBeingDeleted":           {409, nil},
		"UpdateConditionNotSatisfied": {412, ErrConflict},
		"AuthenticationFailed":        {403, nil},
		"InvalidInput":                {400, nil},
	} {
		s := &script{answers: []answer{{status: want.status, body: fault(code, "A sentence."),
			header: map[string]string{"x-ms-request-id": "id7"}}}}
		_, err := s.table(t).Get(t.Context(), "p", "r")
		for _, name := range all {
			if errors.Is(err, name) != (name == want.name) {
				t.Errorf("%s: %v is %q: %v", code, err, name, errors.Is(err, name))
			}
		}
		if re, ok := errors.AsType[*azcore.ResponseError](err); !ok || re.ErrorCode != code {
			t.Errorf("%s: the original is not in the chain of %v", code, err)
		}
		text := "A sentence."
		if want.name != nil {
			text = want.name.Error()
		}
		text = fmt.Sprintf(`get: table readings "p" "r": %s (%s, %d, request id7)`, text, code, want.status)
		if got := err.Error(); got != text {
			t.Errorf("got  %s\nwant %s", got, text)
		}
	}
}

func TestBusyStorageIsRetriedThenReported(t *testing.T) {
	busy := answer{status: 503, body: fault("ServerBusy", "The server is busy.")}
	s := &script{answers: []answer{busy, {status: 500, body: fault("OperationTimedOut", "")},
		{status: 204, header: map[string]string{"ETag": "W/1"}}}}
	if w, err := s.table(t).Do(t.Context(), Insert(row("p", "r"))); err != nil || w.ETags[0] != "W/1" ||
		len(s.requests) != 3 {
		t.Errorf("%+v, %v after %d requests", w, err, len(s.requests))
	}
	if want := []int{503, 500, 204}; !slices.Equal(s.statuses, want) {
		t.Errorf("reported statuses %v, want %v", s.statuses, want)
	}
	for _, last := range []answer{busy, {status: 503, body: "<html>"},
		{status: 500, body: fault("OperationTimedOut", "")}} {
		s = &script{answers: []answer{busy, busy, busy, last}}
		if _, err := s.table(t).Do(t.Context(), Insert(row("p", "r"))); !errors.Is(err, ErrBusy) || len(s.requests) != 4 {
			t.Errorf("%v after %d requests", err, len(s.requests))
		}
	}
}

func TestLostAnswerIsRetried(t *testing.T) {
	lost := answer{err: io.ErrUnexpectedEOF}
	s := &script{answers: []answer{lost, {status: 409, body: fault("EntityAlreadyExists", "")}}}
	if _, err := s.table(t).Do(t.Context(), Insert(row("p", "r"))); !errors.Is(err, ErrExists) {
		t.Errorf("a repeated insert that had succeeded: %v", err)
	}
	s = &script{answers: []answer{lost, lost, lost, lost}}
	if _, err := s.table(t).Do(t.Context(), Insert(row("p", "r"))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("no answer at all: %v", err)
	}
	if want := []int{0, 0, 0, 0}; !slices.Equal(s.statuses, want) {
		t.Errorf("reported statuses %v, want %v", s.statuses, want)
	}
}

func TestInsertAsksForNoContent(t *testing.T) {
	s := &script{answers: []answer{{status: 204}}}
	_, err := s.table(t).Do(t.Context(), Insert(row("p", "r")))
	if err != nil || s.prefer != "return-no-content" {
		t.Errorf("Prefer: %s, %v", s.prefer, err)
	}
}

func TestWritesWithoutAVersionAreNotSent(t *testing.T) {
	s := &script{}
	for _, op := range []Op{
		Replace(row("p", "r"), ""), Merge(row("p", "r"), ""), Delete("p", "r", ""),
		{Kind: KindInsert, Entity: row("p", "r"), IfMatch: "W/1"},
		{}, {Kind: KindQuery}, Insert(row("p", "a/b")), Insert(row("", "r")),
	} {
		if _, err := s.table(t).Do(t.Context(), op); err == nil || len(s.requests) > 0 {
			t.Errorf("%+v: %v after %v", op, err, s.requests)
		}
	}
}

func FuzzTransactionAnswer(f *testing.F) {
	f.Add("multipart/mixed; boundary=b1", transactionAnswer(written, written).body)
	f.Add("multipart/mixed; boundary=b1", transactionAnswer(refused(409, "EntityAlreadyExists", "1:It exists.")).body)
	f.Fuzz(func(t *testing.T, contentType, body string) {
		resp := &http.Response{StatusCode: 202, Header: http.Header{"Content-Type": {contentType}},
			Request: httptest.NewRequest("POST", "/$batch", nil)}
		etags, err := readTransaction(resp, []byte(body), twoOps())
		if err == nil && len(etags) != 2 {
			t.Fatalf("%d operations were written, not 2", len(etags))
		}
	})
}
