package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	needTools(t)
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
	await(t, said, func() bool { return strings.Contains(said.String(), "Stop it with Ctrl-C") })
	for _, line := range lines {
		out, err := shell(line).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		t.Logf("$ %s\n%s", line, out)
	}
}
