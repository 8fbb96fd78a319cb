package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"furrow/tables/azuretest/effort"
)

// asFurrow, when set, makes the test binary the program: benchmarks and tests start it as a process.
const asFurrow = "FURROW_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	cli.HelpPrinter = printHelp
	if text := os.Getenv(asAttackers); text != "" {
		attackers(text)
	}
	if os.Getenv(asFurrow) != "" && !slices.Contains(os.Args, "-test.fuzzworker") {
		main()
	}
	if err := os.Setenv(asFurrow, "1"); err != nil {
		panic(err)
	}
	cli.HelpFlag, cli.VersionFlag = ownFlag{cli.HelpFlag.(*cli.BoolFlag)}, ownFlag{cli.VersionFlag.(*cli.BoolFlag)}
	os.Exit(effort.RunAtOnce(m, 8)) // most tests wait more than they compute
}

// An ownFlag is one of the flags that all command lines share. Parsing one writes to it, and tests that run side by
// side parse several.
type ownFlag struct{ *cli.BoolFlag }

func (f ownFlag) Apply(set *flag.FlagSet) error {
	own := *f.BoolFlag
	return own.Apply(set)
}

// linkProgram makes dir/furrow the program, for shells. A link cannot be busy: a file that this process writes and then
// runs can, while another test starts a process, which has it open for a moment.
func linkProgram(t *testing.T, dir string) {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	must(t, os.Symlink(program, filepath.Join(dir, "furrow")))
}

// furrow runs the program to its end; a server that started by mistake is stopped.
func furrow(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"furrow"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestInvalidCommandLinesExitWith2AndSuggestSimilarNames(t *testing.T) {
	t.Chdir(t.TempDir()) // for servers that start by mistake
	for line, want := range map[string]string{
		"storge":                           `unknown command "storge" of furrow; did you mean "storage"?`,
		"help storge":                      `did you mean "storage"?`,
		"xyzzy":                            `unknown command "xyzzy" of furrow` + "\n",
		"--verison":                        `unknown flag --verison of furrow; did you mean "--version"?`,
		"storage --lisen x":                `unknown flag --lisen of furrow storage; did you mean "--listen"?`,
		"storage --data":                   "--data needs a value",
		"storage extra":                    `"extra" is one`,
		"storage --listen nowhere":         `--listen: address "nowhere": want host:port`,
		"storage --listen 127.0.0.1:99999": "--listen",
		"storage --tls yes":                `--tls is "yes"; it takes off, self-signed, acme:HOST, or CERT,KEY`,
		"storage --account-key short":      "--account-key (or FURROW_ACCOUNT_KEY) is not the base64",
		"completion csh":                   "bash, zsh or fish",
	} {
		if errs := refused(t, exitUsage, want, line); !strings.Contains(errs, "--help' for what it takes.") {
			t.Errorf("furrow %s does not say where help is: %q", line, errs)
		}
	}
}

func TestHelpShowsNoHiddenFlagAndNoKeyOfTheEnvironment(t *testing.T) {
	const key = "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldA=="
	t.Setenv("FURROW_ACCOUNT_KEY", key)
	t.Setenv("FURROW_STORAGE", "AccountName=a;AccountKey="+key)
	lines := []string{"", "--help", "help", "device"}
	allCommands(func(name string, _ *cli.Command) { lines = append(lines, name+" --help", "help "+name) })
	for _, line := range lines {
		code, out, errs := furrow(t.Context(), strings.Fields(line)...)
		if code != exitOK || errs != "" || out == "" || strings.Contains(out, key) ||
			strings.Contains(out, "stop-with-input") {
			t.Errorf("furrow %s: exit %d, %s\n%s", line, code, errs, out)
		}
		for screen := range strings.Lines(out) {
			if utf8.RuneCountInString(screen) > screenWidth+1 {
				t.Errorf("furrow %s: wider than %d columns: %s", line, screenWidth, screen)
			}
		}
	}
}

// TestFirstScreenHasEveryCommandInAGroup, and each once.
func TestFirstScreenHasEveryCommandInAGroup(t *testing.T) {
	_, out, _ := furrow(t.Context(), "--help")
	_, commands, _ := strings.Cut(out, "COMMANDS:\n")
	for _, c := range newApp(nil, nil, nil).Commands {
		if n := strings.Count(commands, "\n     "+c.Name+" "); n != 1 {
			t.Errorf("%s is there %d times: %s", c.Name, n, commands)
		}
	}
	for _, g := range commandGroups() {
		if !strings.Contains("\n"+commands, "\n   "+g.title+"\n     ") {
			t.Errorf("no group %q: %s", g.title, commands)
		}
	}
}

func TestTextFitsANarrowTerminal(t *testing.T) {
	text := wrappedTo(44, strings.Repeat("as wide as the terminal is ", 9), 10)
	for i, line := range strings.Split(text, "\n") {
		if i == 0 {
			line = strings.Repeat(" ", 10) + line
		}
		if len(line) > 44 || len(line) < 30 && i < 5 {
			t.Errorf("%q has %d columns", line, len(line))
		}
	}
}

func TestHelpKeepsEveryWord(t *testing.T) {
	long := strings.Repeat("a hundred columns are enough for everybody, ", 4)
	help := "NAME:\n   f\n\nDESCRIPTION:\n   " + long + "\n   and more\n\n   Examples:\n     f  --x\n\nOPTIONS:\n" +
		"   --x X [ --x X ]  " + long + "\n   --help, -h       show help\n"
	got := fitted(help, false)
	words := strings.Fields(strings.Replace(help, " [ --x X ]", "", 1)) // that the library adds to flags that repeat
	if !slices.Equal(strings.Fields(got), words) {
		t.Errorf("not every word is kept in\n%s", got)
	}
	for _, line := range []string{"\n     f  --x\n", "\n   --help, -h  show help\n"} {
		if !strings.Contains(got, line) {
			t.Errorf("no line %q in\n%s", line, got)
		}
	}
}
