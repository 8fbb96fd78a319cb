package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestFlagsMayFollowArguments(t *testing.T) {
	commands := []*cli.Command{
		{Name: "plain", Flags: []cli.Flag{&cli.BoolFlag{Name: "json"}}},
		{Name: "group", Subcommands: []*cli.Command{{Name: "ask", ArgsUsage: "WHAT", Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json"}, &cli.StringFlag{Name: "last"}, &cli.IntFlag{Name: "limit", Aliases: []string{"n"}},
		}}}},
	}
	for line, want := range map[string]string{
		"f":                                   "f",
		"f plain a --json":                    "f plain a --json", // takes no arguments, and says so itself
		"f group ask":                         "f group ask --",
		"f group ask a --last 24h b --json c": "f group ask --last 24h --json -- a b c",
		"f group ask a --last -2h":            "f group ask --last -2h -- a",
		"f group ask a --last=24h -n 3":       "f group ask --last=24h -n 3 -- a",
		"f group ask --json -- --last":        "f group ask --json -- --last",
		"f group ask a --lasst 3":             "f group ask --lasst -- a 3",
		"f group ask a --last":                "f group ask --last -- a",
		"f group ask a --help":                "f group ask --help --",
		"f group --help":                      "f group --help",
		"f group ask - --json":                "f group ask --json -- -",
	} {
		if got := flagsFirst(commands, strings.Fields(line)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s becomes %q, want %s", line, got, want)
		}
	}
}

// TestRepeatedStorageIsRefused by commands that take one, and never the last one taken silently.
func TestRepeatedStorageIsRefused(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"worker --drain", "schedule", "sas", "device list", "up", "device show pump-7"} {
		for _, both := range [][]string{{"--storage", "a", "--storage", "b"}, {"--storage=a", "-storage", "b"}} {
			refused(t, exitUsage, "--storage is repeated; this command takes one", command, both...)
		}
	}
}

// TestPortAloneSuggestsAnAddress: people give a port where an address is wanted.
func TestPortAloneSuggestsAnAddress(t *testing.T) {
	for _, flags := range []string{"--listen 24080", "--metrics 24080"} {
		refused(t, exitUsage, "did you mean 127.0.0.1:24080", "up --storage "+t.TempDir()+" --storage-port 0 "+flags)
	}
}

// TestEmptyWordsAreRefused because a script whose variable is not set would otherwise get what the default gives.
func TestEmptyWordsAreRefused(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"archive download --tenant contoso": "the DIR is empty: furrow archive download DIR",
		"backup":                            "the DIR is empty",
		"config check":                      "the FILE is empty",
		"config init":                       "the FILE is empty",
		"copy furrow-data":                  "the TO is empty",
		"device remove pump-7":              "the ID is empty",
		"restore":                           "the DIR is empty",
		"query pump-7 --from":               "--from is empty",
		"archive verify --from":             "--from is empty",
		"rejects --to":                      "--to is empty",
	} {
		refused(t, exitUsage, says, line, "")
	}
}

// TestNoFlagIsRequiredByTheLibrary, which would print the whole help to standard output and exit with 1.
func TestNoFlagIsRequiredByTheLibrary(t *testing.T) {
	t.Parallel()
	var look func(path string, all []*cli.Command)
	look = func(path string, all []*cli.Command) {
		for _, c := range all {
			for _, flag := range c.Flags {
				if required, ok := flag.(cli.RequiredFlag); ok && required.IsRequired() {
					t.Errorf("%s %s: --%s", path, c.Name, flag.Names()[0])
				}
			}
			look(path+" "+c.Name, c.Subcommands)
		}
	}
	look("furrow", newApp(nil, nil, nil).Commands)
	refused(t, exitUsage, "--tenant is required", "archive copy")
	refused(t, exitUsage, "--devices is required", "estimate --sensors 6")
}

// TestContainerNamesAreChecked before storage refuses them with a status alone.
func TestContainerNamesAreChecked(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "x", "X Y", "two--hyphens", "-first", "last-", strings.Repeat("a-", 32) + "a"} {
		refused(t, exitUsage, "a name has 3 to 63", "archive copy --tenant contoso --container", name)
	}
	for _, name := range []string{"abc", "for-contoso", strings.Repeat("a", 63)} {
		refused(t, anyFailure, "no storage serves it", "archive copy --tenant contoso --storage /no/where",
			"--container", name)
	}
}
