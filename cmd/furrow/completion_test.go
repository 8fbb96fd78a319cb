package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"furrow/tables/azuretest/effort"
)

func TestCompletionScriptsAreForTheirShells(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}} {
		code, out, errs := furrow(t.Context(), "completion", shell)
		if code != exitOK || !strings.Contains(out, completeCommand) {
			t.Errorf("%s: exit %d, %s", shell, code, errs)
		}
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		script := filepath.Join(t.TempDir(), "script")
		writeFile(t, script, out)
		if out, err := exec.CommandContext(t.Context(), shell, append(check, script)...).CombinedOutput(); err != nil {
			t.Errorf("%s refuses it: %v, %s", shell, err, out)
		}
	}
}

// completions asks as the script of fish does, and returns the words.
func completions(t *testing.T, words ...string) (found []string) {
	t.Helper()
	code, out, errs := furrow(t.Context(), append([]string{completeCommand, "fish"}, words...)...)
	if code != exitOK || errs != "" {
		t.Errorf("%q: exit %d, %s", words, code, errs)
	}
	for line := range strings.Lines(out) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		found = append(found, word)
	}
	return found
}

func TestCompletionKnowsCommandsFlagsAndFixedWords(t *testing.T) {
	for line, want := range map[string]string{
		"devi":                     "device",
		"device re":                "revoke restore remove release",
		"device revoke --at":       "--at-expiry",
		"query --las":              "--last",
		"up --stop":                "", // hidden
		"query pu":                 "",
		"query pump-7 ":            "--help", // and the others
		"device revoke pump-7 ":    "",
		"device show -- ":          "",
		"query --tenant ":          "",
		"query pump-7 --format ":   "table csv jsonl",
		"query --format=":          "--format=table --format=csv --format=jsonl",
		"query --limit ":           "",
		"device list --status ":    "active revoked removed erased removing",
		"device import ":           "", // a file
		"up --config ":             "",
		"completion ":              "bash zsh fish",
		"completion b":             "bash",
		"token r":                  "revoke",
		"deploy init s":            "systemd",
		"help jo":                  "jobs",
		"help device sh":           "show",
		"help js":                  "json",
		"no-such command":          "",
		"query --format csv --for": "",
	} {
		got := completions(t, strings.Split(line, " ")...)
		if want == "--help" {
			if !slices.Contains(got, "--help") || !slices.Contains(got, "--format") {
				t.Errorf("%s: %q", line, got)
			}
			continue
		}
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %q; want %q", line, got, want)
		}
	}
}

// TestTabRunsNoCommand presses Tab in real shells, also where a command would change something.
func TestTabRunsNoCommand(t *testing.T) {
	effort.OnlyLong(t, "TestCompletionKnowsCommandsFlagsAndFixedWords asks without a shell")
	t.Parallel()
	if testing.Short() {
		t.Skip("each TAB starts a program, which takes seconds with the race detector")
	}
	f := newFixture(t)
	f.must("enrollment add plant1 --tenant contoso")
	before := f.must("enrollment list --json")
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			press := newTerminal(t, shell, f.storage)
			for typed, want := range map[string]string{
				"furrow devi\t":                          "furrow device ",
				"furrow device revoke pump-7 -\x2d\t":    "furrow device revoke pump-7 --",
				"furrow device add -- \t":                "furrow device add -- ",
				"furrow device import fle\t":             "furrow device import fleet.csv ",
				"furrow query --format js\t":             "furrow query --format jsonl ",
				"furrow query --format=js\t":             "furrow query --format=jsonl",
				"furrow enrollment disable plant1 --r\t": "furrow enrollment disable plant1 --revoke ",
			} {
				if got := press(typed); !strings.HasPrefix(got, want) {
					t.Errorf("%q gives %q; want %q", typed, got, want)
				}
			}
			if after := f.must("enrollment list --json"); after != before {
				t.Errorf("completion changed the enrollments to\n%s", after)
			}
		})
	}
}

// newTerminal starts an interactive shell behind a pseudo terminal of 200 columns, with the completion of furrow. The
// function that it returns types a line, and returns it as the shell has completed it.
func newTerminal(t *testing.T, shell, storage string) (press func(typed string) string) {
	t.Helper()
	for _, tool := range []string{shell, "script"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not on this machine", tool)
		}
	}
	dir := t.TempDir()
	linkProgram(t, dir)
	writeFile(t, filepath.Join(dir, "fleet.csv"), "id\n")
	_, script, _ := furrow(t.Context(), "completion", shell)
	writeFile(t, filepath.Join(dir, "completion"), script)
	start := map[string]string{
		// A key of its own writes the line as it is into a file.
		"bash": "bind 'set enable-bracketed-paste off'; show() { printf '%s' \"$READLINE_LINE\" >line; READLINE_LINE=; }; " +
			"bind -x '\"\\C-g\": show'; source completion",
		"zsh": "show() { print -rn -- $BUFFER >line; BUFFER=; zle redisplay; }; zle -N show; bindkey '^G' show; " +
			"autoload -U compinit && compinit -u -D; source completion",
		"fish": "function show; commandline >line; commandline ''; end; bind \\cg show; source completion",
	}[shell]
	args := map[string]string{"bash": "bash --norc --noprofile -i", "zsh": "zsh -f -i",
		"fish": "fish --no-config -i"}[shell]
	cmd := exec.CommandContext(t.Context(), "script", "-qc", "stty cols 200; "+args, "/dev/null")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "FURROW_STORAGE="+storage, "TERM=xterm", "HOME="+dir,
		"LC_ALL=C.UTF-8")
	keys, err := cmd.StdinPipe()
	must(t, err)
	screen := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = screen, screen
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	write := func(text string) {
		_, err := keys.Write([]byte(text))
		must(t, err)
	}
	line := filepath.Join(dir, "line")
	ready := func(name string) {
		t.Helper()
		await(t, screen, func() bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil })
	}
	write(start + "; touch ready\r")
	ready("ready")
	return func(typed string) string {
		t.Helper()
		write(typed + "\x07")
		ready("line")
		var got []byte
		await(t, screen, func() bool { got, err = os.ReadFile(line); must(t, err); return len(got) > 0 })
		must(t, os.Remove(line))
		return strings.TrimSuffix(string(regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAll(got, nil)), "\n")
	}
}
