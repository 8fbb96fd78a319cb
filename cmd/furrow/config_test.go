package main

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furrow/cmd/internal/config"
)

// inEmptyDirectory runs a test in a directory without a configuration file.
func inEmptyDirectory(t *testing.T) {
	t.Helper()
	t.Setenv("FURROW_CONFIG", "")
	t.Chdir(t.TempDir())
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

// named is a configuration with a pipeline of that name.
func named(name string) string { return "pipelines: [{name: " + name + ", processors: [latest]}]\n" }

func TestConfigInitWritesTheDefaultAndReplacesNothing(t *testing.T) {
	inEmptyDirectory(t)
	code, out, errs := furrow(t.Context(), "config", "init")
	if code != exitOK || !strings.HasPrefix(out, "furrow.yaml is written") {
		t.Fatalf("exit %d, stdout %q, stderr %q", code, out, errs)
	}
	got, err := config.Load("furrow.yaml")
	if err != nil || !reflect.DeepEqual(got, config.Default()) {
		t.Errorf("it is %+v, %v; want %+v", got, err, config.Default())
	}
	writeFile(t, "furrow.yaml", "mine")
	refused(t, exitFailed, "furrow.yaml exists already", "config init")
	if got := text(t, "furrow.yaml"); got != "mine" {
		t.Errorf("the existing file is %q", got)
	}
	if code, _, errs := furrow(t.Context(), "config", "init", "other.yaml"); code != exitOK ||
		text(t, "other.yaml") != defaultConfig {
		t.Errorf("with another name: exit %d, %q", code, errs)
	}
}

func TestConfigComesFromArgumentFlagVariableDirectoryOrDefault(t *testing.T) {
	inEmptyDirectory(t)
	startStorage(t, "--data", "furrow-data")
	for _, step := range []struct {
		file, line, want string // file to write first, and the pipeline that is shown then
	}{
		{"", "config show", "# not stored yet: built in, as there is no ./furrow.yaml\npipelines:\n  - name: live"},
		{"furrow.yaml", "config show", "name: furrow"},
		{"env.yaml", "config show", "# not stored yet: env.yaml\npipelines:\n  - name: env"},
		{"flag.yaml", "config show --config flag.yaml", "# flag.yaml\npipelines:\n  - name: flag"},
		{"", "config show flag.yaml", "name: flag"},
		{"", "config show flag.yaml --original", named("flag")},
		{"argument.yaml", "config check argument.yaml", "argument.yaml: 1 pipeline: argument (latest; every 1m)\n"},
		{"", "config check", "env.yaml: 1 pipeline: env"},
	} {
		if name := strings.TrimSuffix(step.file, ".yaml"); name != "" {
			writeFile(t, step.file, named(name))
			if name == "env" {
				t.Setenv("FURROW_CONFIG", step.file)
			}
		}
		code, out, errs := furrow(t.Context(), strings.Fields(step.line)...)
		if code != exitOK || !strings.Contains(out, step.want) {
			t.Errorf("%s with %s: exit %d, %q, %q; want %q", step.line, step.file, code, out, errs, step.want)
		}
	}
	for _, line := range []string{"config check none.yaml", "config show --config none.yaml"} {
		refused(t, exitFailed, "none.yaml: there is no such file; 'furrow config init none.yaml' creates one", line)
	}
	refused(t, exitUsage, `"b" is one argument too many`, "config check a b")
}

func TestConfigCheckListsAllProblems(t *testing.T) {
	inEmptyDirectory(t)
	writeFile(t, "furrow.yaml", "pipelines:\n  - name: live\n    cadense: 1m\n    batch: 100\n    processors: [latst]\n")
	code, out, errs := furrow(t.Context(), "config", "check")
	want := `furrow.yaml:3:5: pipeline live: unknown key "cadense" (did you mean cadence?); want name, cadence, batch, settle or processors
furrow.yaml:4:12: pipeline live: batch "100"; want a whole number of devices from 1 to 99
furrow.yaml:5:18: pipeline live: unknown processor "latst" (did you mean latest?); want latest, rollup, rate, rules or archive
`
	if code != exitFailed || out != want || errs != "furrow: furrow.yaml has 3 problems\n" {
		t.Errorf("exit %d, stderr %q, stdout\n%swant\n%s", code, errs, out, want)
	}
	refused(t, exitFailed, "has 3 problems:\n"+strings.TrimSpace(want), "config show furrow.yaml")
}

func TestConfigShowIsAConfiguration(t *testing.T) {
	inEmptyDirectory(t)
	writeFile(t, "furrow.yaml", defaultConfig)
	for _, flags := range [][]string{nil, {"--json"}} {
		code, out, errs := furrow(t.Context(), append([]string{"config", "show", "furrow.yaml"}, flags...)...)
		if code != exitOK || errs != "" || flags != nil && !json.Valid([]byte(out)) {
			t.Errorf("show %q: exit %d, %q\n%s", flags, code, errs, out)
		}
		got, err := config.Parse("shown", []byte(out))
		if err != nil || !reflect.DeepEqual(got, config.Default()) {
			t.Errorf("show %q gives %+v, %v", flags, got, err)
		}
	}
}

func TestHelpShowsTheDefaultConfiguration(t *testing.T) {
	if !slices.Contains(fences(t, "yaml"), defaultConfig) {
		t.Error("no block of README or of a page of reference/ is what 'furrow config init' writes: examples/default.yaml, " +
			"which reference/configuration.md repeats to the letter")
	}
	for _, block := range fences(t, "yaml") {
		_, err := config.Parse("configuration.md", []byte(block))
		must(t, err)
	}
	commented := strings.NewReplacer("# sensors:", "sensors:", "#   ", "  ", "# quality:", "quality:", "# - rate:",
		"- rate:", "# position:", "position:", "# heartbeat:", "heartbeat:", "# models:", "models:",
		"# retention:", "retention:",
		"# - rules", "- rules", "# rules:", "rules:", "# notify:", "notify:",
		"# reports:", "reports:").Replace(defaultConfig)
	c, err := config.Parse("default.yaml", []byte(commented))
	must(t, err)
	others := c.Models[len(c.Models)-1]
	if len(others.Sensors) != 7 || len(c.Pipelines[0].Processors) != 4 || len(c.Rules) != 2 || len(c.Notify) != 1 ||
		c.Reports == nil ||
		others.Quality.Sensor == "" || others.Position.Lat == "" || others.Heartbeat == "" || len(c.Models) != 2 {
		t.Errorf("the commented part of the default is %+v", c)
	}
}
