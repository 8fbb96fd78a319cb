package api

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/sas/access"
	"furrow/tables/azuretest/must"
	"furrow/worker/admin"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

// loopRows is of how many rows the loops of furrow help pages ask for.
const loopRows = 200_000

// loopOf returns the loop of furrow help pages in a language, without what it is called for there.
func loopOf(t *testing.T, language, end string) string {
	t.Helper()
	page := string(must.Have(os.ReadFile("../../../cmd/furrow/reference/pages.md"))(t))
	for block := range strings.SplitSeq(page, "```"+language+"\n") {
		if code, _, _ := strings.Cut(block, "```"); strings.Contains(code, headerNext) {
			loop, _, found := strings.Cut(code, end)
			if !found {
				t.Fatalf("the loop in %s has no line %q", language, end)
			}
			return loop
		}
	}
	t.Fatalf("there is no loop in %s", language)
	return ""
}

// TestDocumentedLoopsGetEveryRow runs the loops of furrow help pages with limits that are below, near and above what an
// answer can have. Every fifth answer ends after a row, as if its time were over.
func TestDocumentedLoopsGetEveryRow(t *testing.T) {
	python := os.Getenv("FURROW_TABLE_READERS")
	if python == "" {
		t.Skip("FURROW_TABLE_READERS names a Python that has pyarrow")
	}
	a := New(nil, []admin.Fleet{{}}, access.Log{}, quiet())
	mux, answered := http.NewServeMux(), 0
	Register(mux, []Route{Take("/rows", export(a,
		func(_ *http.Request, p struct {
			model.Part
			Form
		}, f answers.Format,
		) (model.Export, error) {
			first, _ := strconv.Atoi(p.After)
			answer := upTo(countingFrom(first, loopRows, nil), first+cmp.Or(p.Limit, limit(p.Limit, f)))
			if answered++; answered%5 == 0 {
				answer.Answer.Reach().End() // after a row
			}
			return answer, nil
		}))}, a.Fail)
	server := httptest.NewServer(mux)
	defer server.Close()
	url := server.URL + "/rows"
	run := func(name, program string, arguments ...string) {
		t.Helper()
		began, command := time.Now(), exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
		command.Stdin = strings.NewReader(program)
		var said bytes.Buffer
		command.Stdout, command.Stderr = &said, &said
		err := command.Run()
		want := strings.TrimSpace(strings.Repeat(fmt.Sprintf("%d %d ", loopRows, loopRows*(loopRows-1)/2), 3))
		if got := strings.Join(strings.Fields(said.String()), " "); err != nil || got != want {
			t.Errorf("%s: %v, %.2000s, want %s", name, err, got, want)
		}
		t.Logf("%s: %v, %d answers", name, time.Since(began), answered)
	}
	run("Python", loopOf(t, "python", "readings = ")+fmt.Sprintf(`
for limit in (1000, 5000, 100000):
    all = table(%q, limit=limit)
    print(len(all), sum(all["n"].to_pylist()))
`, url), python, "-")
	run("Node", loopOf(t, "js", "for await")+fmt.Sprintf(`
for (const limit of [1000, 5000, 100000]) {
  let n = 0, sum = 0;
  for await (const row of rows(%q, { limit })) n++, sum += row.n;
  console.log(n, sum);
}
`, url), "node", "--input-type=module", "-")
}

// upTo ends an answer in front of a row, as the limit of a request does.
func upTo(answer model.Export, end int) model.Export {
	rows := answer.Rows
	answer.Rows = func(yield func(any, error) bool) {
		rows(func(row any, err error) bool {
			if r, is := row.(numbered); is && r.N == end {
				answer.Answer.Reach().Count--
				answer.Answer.Reach().Next = strconv.Itoa(end)
				return false
			}
			return yield(row, err)
		})
	}
	return answer
}
