package api

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"furrow/sas/access"
	"furrow/tables/azuretest/must"
	"furrow/worker/admin"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

// A numbered row is one of many.
type numbered struct {
	N    int    `json:"n" column:"n"`
	Text string `json:"text" column:"text"`
}

type numberedAnswer struct {
	model.Bounds
	Rows []numbered `json:"rows"`
	model.Extent
}

// counting returns an answer of n rows, which then ends or fails, or has its end before.
func counting(n int, failure error) model.Export { return countingFrom(0, n, failure) }

func countingFrom(first, n int, failure error) model.Export {
	out := &numberedAnswer{Bounds: model.Bounds{Limit: n}, Rows: []numbered{}}
	rows := func(yield func(any, error) bool) {
		for i := first; i < n; i++ {
			if out.Count > 0 && out.Ends() {
				out.RowsRead, out.Next = out.Count+1, strconv.Itoa(i)
				return
			}
			row := numbered{i, fmt.Sprintf("row %d says \"hello\", and has a few bytes more than that", i)}
			if out.Count++; !yield(row, nil) {
				return
			}
		}
		out.RowsRead = out.Count + 1
		if failure != nil {
			yield(nil, failure)
		}
	}
	return model.Export{Answer: out, Row: numbered{},
		Rows: rows}
}

// serveExport serves an answer for each request.
func serveExport(a *API, answer func() model.Export) http.Handler {
	mux := http.NewServeMux()
	Register(mux, []Route{Take("/rows", export(a,
		func(*http.Request, Form, answers.Format) (model.Export, error) { return answer(), nil }))}, a.Fail)
	return mux
}

// rowsIn returns how many rows a complete answer has, or why it is not one.
func rowsIn(f answers.Format, body []byte) (n int, err error) {
	switch f {
	case answers.JSON:
		var a struct {
			Rows  []json.RawMessage
			Count int
		}
		if err = json.Unmarshal(body, &a); err == nil && len(a.Rows) != a.Count {
			err = fmt.Errorf("%d rows, and it says %d", len(a.Rows), a.Count)
		}
		return len(a.Rows), err
	case answers.JSONL:
		d := json.NewDecoder(bytes.NewReader(body))
		for err == nil {
			var row struct{ N *int }
			if err = d.Decode(&row); err == nil && row.N != nil {
				n++
			}
		}
		if err == io.EOF {
			err = nil
		}
		return n, err
	case answers.CSV:
		lines, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
		return len(lines) - 1, err
	}
	r, err := ipc.NewReader(bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	defer r.Release()
	for r.Next() {
		n += int(r.RecordBatch().NumRows())
		texts := r.RecordBatch().Column(1).(*array.String)
		first, _ := strconv.Atoi(r.RecordBatch().Column(0).ValueStr(0))
		if want := fmt.Sprintf("row %d ", first+texts.Len()-1); !strings.HasPrefix(texts.Value(texts.Len()-1), want) {
			return n, fmt.Errorf("row %d is %q", n-1, texts.Value(texts.Len()-1))
		}
	}
	return n, r.Err()
}

// TestAnswersOfAllSizesAreWhole reads answers of no row, of a few and of many megabytes over TCP, with what their heads
// say of them.
func TestAnswersOfAllSizesAreWhole(t *testing.T) {
	for _, n := range []int{0, 1, 3, 50_000} {
		a := New(nil, []admin.Fleet{{}}, access.Log{}, quiet())
		server := httptest.NewServer(serveExport(a, func() model.Export { return counting(n, nil) }))
		defer server.Close()
		for _, format := range answers.ForPrograms() {
			answer := must.Have(http.Get(server.URL + "/rows?format=" + format))(t)
			body, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			f := answers.Format(format)
			if got, bad := rowsIn(f, body); got != n || err != nil || bad != nil {
				t.Errorf("%s of %d rows has %d: %v, %v", format, n, got, err, bad)
			}
			from := answer.Header
			if answer.Header.Get("Content-Type") != f.MediaType() || answer.Header.Get(headerLimit) != fmt.Sprint(n) ||
				from.Get(headerCount) != fmt.Sprint(n) || from.Get(headerRowsRead) != fmt.Sprint(n+1) ||
				from.Get(headerNext) != "" || len(answer.Trailer) > 0 {
				t.Errorf("%s of %d rows, %d bytes: headers %v", format, n, len(body), answer.Header)
			}
		}
	}
}

// TestErrorAfterAnyRowsIsAProblem fails after a few rows, and after many.
func TestErrorAfterAnyRowsIsAProblem(t *testing.T) {
	a := New(nil, []admin.Fleet{{}}, access.Log{}, quiet())
	for _, format := range answers.ForPrograms() {
		w := httptest.NewRecorder()
		n := 5
		if format != "json" {
			n = 20_000
		}
		serveExport(a, func() model.Export { return counting(n, errors.New("storage is gone")) }).
			ServeHTTP(w, httptest.NewRequest("GET", "/rows?format="+format, nil))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" ||
			w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %.200s", format, w.Code, w.Body)
		}
	}
}

// TestDownloadIsWholeOrFails has a part for each row. One that fails after many cannot be read to its end.
func TestDownloadIsWholeOrFails(t *testing.T) {
	const n = 3000
	a := New(model.New(model.Config{Accounts: make([]model.Account, 1)}), []admin.Fleet{{}}, access.Log{}, quiet())
	for _, failure := range []error{nil, errors.New("storage is gone")} {
		open := func(_ *http.Request, _ None, after string) (model.Export, error) {
			first, _ := strconv.Atoi(after)
			part := countingFrom(first, n, failure)
			part.Answer.Reach().End()
			return part, nil
		}
		mux := http.NewServeMux()
		Register(mux, []Route{Take("/rows.csv", download(a, open))}, a.Fail)
		server := httptest.NewServer(mux)
		defer server.Close()
		answer := must.Have(http.Get(server.URL + "/rows.csv"))(t)
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		got, bad := rowsIn(answers.CSV, body)
		if whole := err == nil && bad == nil && got == n; whole != (failure == nil) || failure != nil && err == nil {
			t.Errorf("with %v: %d rows, %v, %v", failure, got, err, bad)
		}
	}
}

// TestFormatFollowsTheRequest has the parameter win over the header.
func TestFormatFollowsTheRequest(t *testing.T) {
	h := serveExport(New(nil, []admin.Fleet{{}}, access.Log{}, quiet()), func() model.Export { return counting(1, nil) })
	for accept, want := range map[string]answers.Format{
		"": answers.JSON, "*/*": answers.JSON, "text/html": answers.JSON, "text/csv": answers.CSV,
		"application/json;q=0.5, text/csv;q=0.8": answers.CSV, "application/x-ndjson": answers.JSONL,
		"application/vnd.apache.arrow.stream, */*;q=0.1": answers.Arrow, "text/csv;q=x, ;;": answers.JSON,
		"text/csv;q=0": answers.JSON,
	} {
		for _, format := range []string{"", "jsonl"} {
			r := httptest.NewRequest("GET", "/rows?format="+format, nil)
			r.Header.Set("Accept", accept)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if format != "" {
				want = answers.JSONL
			}
			if w.Header().Get("Content-Type") != want.MediaType() || !strings.Contains(w.Header().Get("Vary"), "Accept") {
				t.Errorf("Accept %q, format=%s: %v", accept, format, w.Header())
			}
		}
	}
}

// TestListsInSeveralLinesAreOne has the headers Accept and If-None-Match in two lines each.
func TestListsInSeveralLinesAreOne(t *testing.T) {
	r := httptest.NewRequest("GET", "/rows", nil)
	r.Header["Accept"] = []string{"text/html", "text/csv, */*;q=0.1"}
	w := httptest.NewRecorder()
	serveExport(New(nil, []admin.Fleet{{}}, access.Log{}, quiet()), func() model.Export { return counting(1, nil) }).
		ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); got != answers.CSV.MediaType() {
		t.Errorf("the answer is %s", got)
	}
	w = httptest.NewRecorder()
	writeTagged(w, r, []byte("{}"))
	r.Header["If-None-Match"] = []string{`"x"`, w.Header().Get("ETag")}
	w = httptest.NewRecorder()
	if writeTagged(w, r, []byte("{}")); w.Code != http.StatusNotModified {
		t.Errorf("with the ETag in the second line: %d", w.Code)
	}
}

// TestOnePersonLeavesQuestionsToOthers keeps answers of people open.
func TestOnePersonLeavesQuestionsToOthers(t *testing.T) {
	a := New(nil, []admin.Fleet{{}}, access.Log{}, quiet())
	var ends []func()
	ask := func(name string) bool {
		end, err := a.Question(Person{Name: name})
		if err != nil {
			if p, is := errors.AsType[*Problem](err); !is || p.Code != TooManyRequests || p.RetryAfter == 0 {
				t.Errorf("the error is %v", err)
			}
			return false
		}
		ends = append(ends, end)
		return true
	}
	for ask("alice") {
	}
	if len(ends) != maxQuestions/2 || !ask("bob") {
		t.Errorf("alice asks %d questions at a time, and leaves none to bob", len(ends))
	}
	for _, end := range ends {
		end()
	}
	if a.questions.Used() != 0 || !ask("alice") {
		t.Errorf("afterwards %d", a.questions.Used())
	}
}

// A pipe is a listener of one connection that has no buffer.
type pipe struct{ conns chan net.Conn }

func (p pipe) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipe) Close() error   { return nil }
func (p pipe) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowClientHoldsNothing has a client that stops reading. No more rows are read for it than an answer can have, and
// soon it is dropped.
func TestSlowClientHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(nil, []admin.Fleet{{}}, access.Log{}, quiet())
		var answer model.Export
		server := &http.Server{Handler: serveExport(a, func() model.Export {
			answer = counting(10_000_000, nil)
			return answer
		})}
		p := pipe{make(chan net.Conn)}
		ended := make(chan error)
		go func() { ended <- server.Serve(p) }()
		client, served := net.Pipe()
		p.conns <- served
		must.Have(io.WriteString(client, "GET /rows?format=csv HTTP/1.1\r\nHost: x\r\n\r\n"))(t)
		must.Have(client.Read(make([]byte, 100)))(t)
		synctest.Wait()
		if asked, read := a.questions.Used(), answer.Answer.Reach().Count; asked != 1 || read == 0 || read > 100_000 {
			t.Errorf("%d questions, %d rows read for a client that takes none", asked, read)
		}
		time.Sleep(sendTimeout + time.Second)
		synctest.Wait()
		if asked := a.questions.Used(); asked != 0 {
			t.Errorf("%d questions %v after the client stopped", asked, sendTimeout)
		}
		close(p.conns)
		<-ended
		server.Close()
	})
}

// TestLoopGetsEveryRow asks for part after part, as programs do that cannot read trailers, until a part says nothing of
// another one.
func TestLoopGetsEveryRow(t *testing.T) {
	const n = 200_000
	a := New(nil, []admin.Fleet{{}}, access.Log{}, quiet())
	for _, format := range answers.ForPrograms() {
		got, parts, after := 0, 0, ""
		for parts == 0 || after != "" {
			first, _ := strconv.Atoi(after)
			w := httptest.NewRecorder()
			serveExport(a, func() model.Export { return countingFrom(first, n, nil) }).
				ServeHTTP(w, httptest.NewRequest("GET", "/rows?format="+format, nil))
			part, bad := rowsIn(answers.Format(format), w.Body.Bytes())
			if w.Code != http.StatusOK || bad != nil || part == 0 || w.Body.Len() > heldBytes+2<<20 {
				t.Fatalf("%s, part %d: %d, %d rows in %d bytes: %v", format, parts, w.Code, part, w.Body.Len(), bad)
			}
			got, parts, after = got+part, parts+1, w.Header().Get(headerNext)
			if format == "json" {
				var said struct{ Next string }
				must.Succeed(t, json.Unmarshal(w.Body.Bytes(), &said))
				after = said.Next
			}
		}
		if got != n || parts < 2 {
			t.Errorf("%s: %d of %d rows in %d parts", format, got, n, parts)
		}
	}
}

// TestSlowReadEndsWithACursor takes longer for each row than an answer may take.
func TestSlowReadEndsWithACursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := counting(10, nil)
		rows := answer.Rows
		answer.Rows = func(yield func(any, error) bool) {
			rows(func(row any, err error) bool { time.Sleep(heldFor / 3); return yield(row, err) })
		}
		w := httptest.NewRecorder()
		serveExport(New(nil, []admin.Fleet{{}}, access.Log{}, quiet()), func() model.Export { return answer }).
			ServeHTTP(w, httptest.NewRequest("GET", "/rows?format=csv", nil))
		if got, bad := rowsIn(answers.CSV, w.Body.Bytes()); got == 0 || got > 4 || bad != nil ||
			w.Header().Get(headerNext) != strconv.Itoa(got) {
			t.Errorf("%d rows, %v: %v", got, bad, w.Header())
		}
	})
}
