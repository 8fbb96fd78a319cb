package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tour are the lines of the README's tour, but for what builds furrow.
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

// TestReadmeTourWorks types the tour into a shell, in a folder of its own. Only the
// ports are others.
func TestReadmeTourWorks(t *testing.T) {
	for _, tool := range []string{"sh", "curl", "openssl", "sed", "date"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not on this machine", tool)
		}
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "furrow"),
		fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec %s \"$@\"\n", asFurrow, os.Args[0]), 0o700))
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
	for began := time.Now(); !strings.Contains(said.String(), "Stop it with Ctrl-C"); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("up says:\n%s", said)
		}
	}
	for _, line := range lines {
		out, err := shell(line).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		t.Logf("$ %s\n%s", line, out)
	}
}
