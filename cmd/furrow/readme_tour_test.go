package main

import (
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"furrow/tables/azuretest/effort"
)

// tour returns the lines of the README's tour, except those that build furrow.
func tour(t *testing.T) (up string, lines []string) {
	t.Helper()
	_, text, ok := strings.Cut(readme(t), "\n## A tour\n")
	text, _, _ = strings.Cut(text, "\n## ")
	if !ok {
		t.Fatal("the README has no tour")
	}
	for block := range strings.SplitSeq(text, "```sh\n") {
		code, _, ok := strings.Cut(block, "```")
		if !ok {
			continue
		}
		for line := range strings.Lines(code) {
			switch line = strings.TrimSpace(line); {
			case strings.HasPrefix(line, "go build "):
			case line == "./furrow up":
				up = line
			default:
				lines = append(lines, line)
			}
		}
	}
	if up == "" || len(lines) < 6 {
		t.Fatalf("the tour is %q, %q", up, lines)
	}
	return up, lines
}

// TestReadmeTourWorks runs the tour in a shell, in an empty folder and on free ports.
func TestReadmeTourWorks(t *testing.T) {
	effort.OnlyLong(t, "TestReadmeCommandsExist looks for the commands, and their own tests run them")
	t.Parallel() // it mostly waits
	needTools(t)
	dir := t.TempDir()
	linkProgram(t, dir)
	shell := func(line string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), "sh", "-c", line)
		c.Dir = dir
		return c
	}
	first, lines := tour(t)
	up := shell("exec " + first + " --listen 127.0.0.1:0 --storage-port 0 --dashboard 127.0.0.1:0")
	said := &lockedBuffer{}
	up.Stdout, up.Stderr = said, said
	must(t, up.Start())
	t.Cleanup(func() { _ = up.Wait() })
	t.Cleanup(func() { _ = up.Process.Signal(os.Interrupt) })
	await(t, said, func() bool { return strings.Contains(said.String(), "Stop it with Ctrl-C") })
	shown := said.String()
	for _, line := range lines {
		out, err := shell(line).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		t.Logf("$ %s\n%s", line, out)
		mustShow(t, line, string(out))
		shown += string(out)
	}
	mustFit(t, shown)
	if log := said.String(); !regexp.MustCompile(`msg="run completed" pipeline=live .*rows=[1-9]`).MatchString(log) {
		t.Errorf("the log does not have the run:\n%s", log)
	}
	token := regexp.MustCompile(`furrow_[A-Z2-7]{26}`).FindString(shown) // of alice: nobody else may look any more
	address := regexp.MustCompile(`http://\S+`).FindString(said.String())
	if page := get(t, http.DefaultClient, address, token); !strings.Contains(page, "pump-7") {
		t.Errorf("the first page does not show pump-7:\n%s", page)
	}
}

// mustShow fails if a line of the tour shows nothing.
func mustShow(t *testing.T, line, out string) {
	t.Helper()
	for part, want := range map[string]string{"enrollment add": "plant1, of tenant contoso",
		"| sh":  "storage responds 204",
		"--raw": "temperature,21.5", "simulate": "20  devices had a token", "pump-7 --latest": "temperature,21.5",
		"--window 1h": ",temperature_air,", "status": "next run in", "device revoke": "is revoked"} {
		if strings.Contains(line, part) && (!strings.Contains(out, want) || strings.Contains(out, "furrow: ")) {
			t.Errorf("%s shows no %q:\n%s", line, want, out)
		}
	}
	if strings.TrimSpace(out) == "" {
		t.Errorf("%s shows nothing", line)
	}
}

// mustFit fails if a line is wider than a terminal. CSV and logs are for programs.
func mustFit(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > screenWidth && strings.Count(line, ",") < 6 &&
			!strings.HasPrefix(line, "time=") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
