package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/effort"
	"furrow/tables/schema"
	"furrow/worker/query"
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

// newNamedFixture has devices, tenants and sensors to complete.
func newNamedFixture(t *testing.T) *fixture {
	f := newFixture(t)
	f.must("enrollment add plant1 --tenant contoso")
	f.must("enrollment add plant2 --tenant", "Größe & Co")
	f.must("device add pump-7 --enrollment plant1 --json")
	f.must("device add contoso:us-1:valve --enrollment plant1 --json")
	f.must("device add lone --enrollment plant2 --json")
	f.send("pump-7", time.Now().Add(-time.Minute))
	f.must("schedule --once")
	f.work()
	return f
}

// completions asks as the script of fish does, and returns the words.
func (f *fixture) completions(words ...string) (found []string) {
	f.t.Helper()
	code, out, errs := furrow(f.t.Context(), append([]string{completeCommand, "fish"}, words...)...)
	if code == exitFiles {
		return []string{"files"}
	}
	if code != exitOK || errs != "" {
		f.t.Errorf("%q: exit %d, %s", words, code, errs)
	}
	for line := range strings.Lines(out) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		found = append(found, word)
	}
	return found
}

func TestCompletionKnowsNamesOfTheFleet(t *testing.T) {
	f := newNamedFixture(t)
	t.Setenv("FURROW_STORAGE", f.storage)
	for line, want := range map[string]string{
		"devi":                                   "device",
		"device re":                              "revoke restore remove release",
		"device revoke --at":                     "--at-expiry",
		"query --las":                            "--last",
		"up --stop":                              "", // hidden
		"query pu":                               "pump-7",
		"query pump-7 ":                          "--help", // and the others
		"device revoke pump-7 p":                 "",
		"device revoke pump-7 con":               "contoso:us-1:valve",
		"device show -- pu":                      "pump-7",
		"device add pu":                          "",
		"query --tenant ":                        "Größe & Co|contoso",
		"query --tenant=con":                     "--tenant=contoso",
		"query pump-7 --sensors ":                "temperature",
		"query pump-7 --sensors a,t":             "a,temperature",
		"query --tenant contoso --sensors ":      "temperature",
		"query pump-7 --format ":                 "table csv jsonl",
		"query --limit ":                         "",
		"rewind --prefix con":                    "contoso:us-1:valve",
		"status --pipeline ":                     "archive live",
		"enrollment disable ":                    "plant1 plant2",
		"device add new --enrollment plant":      "plant1 plant2",
		"device list --status ":                  "active revoked removed erased removing",
		"device import ":                         "files",
		"up --config ":                           "files",
		"completion ":                            "bash zsh fish",
		"help jo":                                "jobs",
		"help device sh":                         "show",
		"help js":                                "json",
		"query --storage /nowhere pu":            "",
		"query pu --storage /nowhere":            "files",
		"no-such command":                        "",
		"query --names-prefix other pu":          "",
		"query --format csv --for":               "",
		"query --storage=" + f.storage + " pump": "pump-7",
	} {
		fields := strings.Split(line, " ")
		got := f.completions(fields...)
		if want == "--help" {
			if !slices.Contains(got, "--help") || !slices.Contains(got, "--format") {
				t.Errorf("%s: %q", line, got)
			}
			continue
		}
		wanted := strings.FieldsFunc(want, func(r rune) bool { return r == '|' || r == ' ' && !strings.Contains(want, "|") })
		if !slices.Equal(got, wanted) {
			t.Errorf("%s: %q; want %q", line, got, wanted)
		}
	}
}

func TestCompletionOfManyDevicesOffersTheirBeginnings(t *testing.T) {
	f := newFixture(t)
	f.createTables()
	for n := range 30 {
		for _, kind := range []string{"site:pump", "site:valve", "site:pu"} {
			f.add(newDevice(schemaID(kind, n), "acme", 2026, 11))
		}
	}
	for prefix, want := range map[string]string{"": "site:p site:v", "site:pu": "site:pu- site:pum",
		"site:v": "site:valve-0 site:valve-1 site:valve-2"} {
		got, err := query.Devices{Tables: f.client, Names: f.names}.IDs(t.Context(), prefix, 20)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v; want %s", prefix, got, err, want)
		}
	}
}

// TestTabRunsNoCommand presses Tab in real shells, also where a command would change something.
func TestTabRunsNoCommand(t *testing.T) {
	effort.OnlyLong(t, "TestCompletionKnowsNamesOfTheFleet asks without a shell")
	t.Parallel()
	if testing.Short() {
		t.Skip("each TAB starts a program, which takes seconds with the race detector")
	}
	f := newNamedFixture(t)
	before := f.must("device list --json")
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			press := newTerminal(t, shell, f.storage)
			for typed, want := range map[string]string{
				"furrow devi\t":                          "furrow device ",
				"furrow query pu\t":                      "furrow query pump-7 ",
				"furrow query contoso:us\t":              "furrow query contoso:us-1:valve ",
				"furrow query --tenant con\t":            "furrow query --tenant contoso ",
				"furrow query --tenant=con\t":            "furrow query --tenant=contoso",
				"furrow query pump-7 --sensors te\t":     "furrow query pump-7 --sensors temperature ",
				"furrow device revoke pump-7 -\x2d\t":    "furrow device revoke pump-7 --",
				"furrow device add -- \t":                "furrow device add -- ",
				"furrow device revoke -- pu\t":           "furrow device revoke -- pump-7 ",
				"furrow device import fle\t":             "furrow device import fleet.csv ",
				"furrow query --format js\t":             "furrow query --format jsonl ",
				"furrow query --tenant Gr\t":             `furrow query --tenant Größe\ \&\ Co `,
				"furrow device add two --enrollment p\t": "furrow device add two --enrollment plant",
			} {
				if got := press(typed); !strings.HasPrefix(got, want) {
					t.Errorf("%q gives %q; want %q", typed, got, want)
				}
			}
			if after := f.must("device list --json"); after != before {
				t.Errorf("completion changed the devices to\n%s", after)
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

func schemaID(kind string, n int) schema.DeviceID {
	return schema.DeviceID(fmt.Sprintf("%s-%02d", kind, n))
}
