package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// asFurrow, when set, makes the test binary the program: benches start it anew.
const asFurrow = "FURROW_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asFurrow) != "" && !slices.Contains(os.Args, "-test.fuzzworker") {
		main()
	}
	if err := os.Setenv(asFurrow, "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// furrow runs the program to its end; a server that was not meant to start is stopped.
func furrow(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"furrow"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestWrongCommandLinesExitWith2AndSayWhatIsNear(t *testing.T) {
	for line, want := range map[string]string{
		"storge":                                      `unknown command "storge" of furrow; did you mean "storage"?`,
		"help storge":                                 `did you mean "storage"?`,
		"xyzzy":                                       `unknown command "xyzzy" of furrow` + "\n",
		"--verison":                                   `unknown flag --verison of furrow; did you mean "--version"?`,
		"storage --lisen x":                           `unknown flag --lisen of furrow storage; did you mean "--listen"?`,
		"storage --data":                              "--data needs a value",
		"storage extra":                               `"extra" is one`,
		"storage --listen nowhere":                    `--listen: address "nowhere": want host:port`,
		"storage --listen 127.0.0.1:99999":            "--listen",
		"storage --tls yes":                           `--tls is "yes"; it takes off, self-signed, or CERT,KEY`,
		"storage --account-key short":                 "--account-key (or FURROW_ACCOUNT_KEY) is not the base64",
		"bench stoarge":                               `unknown command "stoarge" of furrow bench; did you mean "storage"?`,
		"bench storage --clients many":                `invalid value "many" for --clients`,
		"bench storage --clients 0":                   "--clients is 0",
		"bench storage --size 1":                      "--size is 1",
		"bench storage --for 1ms":                     "--for: it must be at least 100ms",
		"bench storage --rounds 0":                    "--rounds is 0",
		"bench storage --rows 150":                    `--rows: "150" is not a multiple of 100`,
		"bench storage --rows 100,100":                "--rows: 100 is given twice",
		"bench storage --only inset":                  `there is no row "inset"; did you mean "insert"?`,
		"bench storage --target local --target local": `two targets are called "local"`,
		"bench storage --target env:FURROW_NONE":      "FURROW_NONE holds no connection string",
		"bench storage --target rubbish":              "--target",
		"bench storage --ca /nowhere.pem":             "/nowhere.pem",
	} {
		code, out, errs := furrow(t.Context(), append(strings.Fields(line), dataFor(t, line)...)...)
		if code != exitUsage || !strings.Contains(errs, want) || out != "" {
			t.Errorf("furrow %s: exit %d, stdout %q, stderr %q; want exit 2 and %q", line, code, out, errs, want)
		}
		if !strings.Contains(errs, "--help' for what it takes.") {
			t.Errorf("furrow %s does not say where help is: %q", line, errs)
		}
	}
}

// dataFor keeps a storage command that would start by mistake out of this directory.
func dataFor(t *testing.T, line string) []string {
	if strings.HasPrefix(line, "storage --listen") || strings.HasPrefix(line, "storage --tls") {
		return []string{"--data", t.TempDir()}
	}
	return nil
}

func TestHelpNamesEveryCommandAndExitsWith0(t *testing.T) {
	for line, want := range map[string][]string{
		"":                   {"storage", "bench", "version"},
		"--help":             {"storage", "bench", "version"},
		"help":               {"storage", "bench", "version"},
		"storage --help":     {"--data", "--listen", "--tls", "--account-key", "FURROW_ACCOUNT_KEY", "--show-key", "--json"},
		"help storage":       {"--data"},
		"bench":              {"storage"},
		"help bench storage": {"--target", "--for", "--clients", "insert", "empty-range", "blob"},
		"version --help":     {"version"},
	} {
		code, out, errs := furrow(t.Context(), strings.Fields(line)...)
		if code != exitOK || errs != "" {
			t.Errorf("furrow %s: exit %d, stderr %q", line, code, errs)
		}
		for _, word := range want {
			if !strings.Contains(out, word) {
				t.Errorf("furrow %s does not mention %q:\n%s", line, word, out)
			}
		}
		if strings.Contains(out, "stop-with-input") {
			t.Errorf("furrow %s shows a hidden flag", line)
		}
	}
}

func TestHelpDoesNotShowTheKeyOfTheEnvironment(t *testing.T) {
	const key = "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldA=="
	t.Setenv("FURROW_ACCOUNT_KEY", key)
	if _, out, errs := furrow(t.Context(), "storage", "--help"); strings.Contains(out+errs, key) {
		t.Errorf("the key is in the help text:\n%s", out)
	}
}
