package dashboard

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
)

// TestDocumentedExamplesPrintReadings runs what furrow help pages has for Python and Node on a fleet.
func TestDocumentedExamplesPrintReadings(t *testing.T) {
	python := os.Getenv("FURROW_TABLE_READERS")
	if python == "" {
		t.Skip("FURROW_TABLE_READERS names a Python that has pandas, polars and duckdb")
	}
	f := newFixture(t, 4, Config{Loopback: true})
	url, stop, ended := f.serve(t)
	defer func() { stop(); must.Succeed(t, <-ended) }()
	f.waitFor(t, 4)
	page := string(must.Have(os.ReadFile("../../cmd/furrow/reference/pages.md"))(t))
	for language, command := range map[string][]string{"python": {python, "-"},
		"js": {"node", "--input-type=module", "-"}} {
		var program strings.Builder
		for _, block := range strings.Split(page, "```"+language+"\n")[1:] {
			code, _, _ := strings.Cut(block, "```")
			program.WriteString(code)
		}
		code := strings.ReplaceAll(program.String(), "http://localhost:10090/", url+"/")
		if strings.Count(code, url) == 0 {
			t.Errorf("%s: no example asks the dashboard: %s", language, code)
		}
		run := exec.CommandContext(t.Context(), command[0], command[1:]...)
		run.Stdin = strings.NewReader(code)
		said, err := run.CombinedOutput()
		if err != nil || !strings.Contains(string(said), "temperature") || !strings.Contains(string(said), "d0002") {
			t.Errorf("%s: %v\n%s", language, err, said)
		}
		t.Logf("%s: %.1500s", language, said)
	}
}
