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

// inEmptyDirectory runs a test where no configuration is, and none is named.
func inEmptyDirectory(t *testing.T) {
	t.Helper()
	t.Setenv("FURROW_CONFIG", "")
	t.Chdir(t.TempDir())
}

func writeConfig(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

const named = "pipelines: [{name: NAME, processors: [latest]}]\n"

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
	writeConfig(t, "furrow.yaml", "mine")
	code, _, errs = furrow(t.Context(), "config", "init")
	if code != exitFailed || !strings.Contains(errs, "furrow.yaml exists already") || text(t, "furrow.yaml") != "mine" {
		t.Errorf("where there is one: exit %d, %q, and it is %q", code, errs, text(t, "furrow.yaml"))
	}
	if code, _, errs := furrow(t.Context(), "config", "init", "other.yaml"); code != exitOK ||
		text(t, "other.yaml") != defaultConfig {
		t.Errorf("of another name: exit %d, %q", code, errs)
	}
}

func TestConfigIsTheOneThatIsNamedOrThereOrBuiltIn(t *testing.T) {
	inEmptyDirectory(t)
	startStorage(t, nil, "--data", "furrow-data")
	for _, step := range []struct {
		file, line, want string // what is written before, and the pipeline that is shown then
	}{
		{"", "config show", "# not stored yet: built in, as there is no ./furrow.yaml\npipelines:\n  - name: live"},
		{"furrow.yaml", "config show", "name: furrow"},
		{"env.yaml", "config show", "# not stored yet: env.yaml\npipelines:\n  - name: env"},
		{"flag.yaml", "config show --config flag.yaml", "# flag.yaml\npipelines:\n  - name: flag"},
		{"", "config show flag.yaml", "name: flag"},
		{"", "config show flag.yaml --original", strings.Replace(named, "NAME", "flag", 1)},
		{"argument.yaml", "config check argument.yaml", "argument.yaml: 1 pipeline: argument (latest; every 1m)\n"},
		{"", "config check", "env.yaml: 1 pipeline: env"},
	} {
		if step.file != "" {
			name := strings.TrimSuffix(step.file, ".yaml")
			writeConfig(t, step.file, strings.Replace(named, "NAME", name, 1))
			if name == "env" {
				t.Setenv("FURROW_CONFIG", step.file)
			}
		}
		if code, out, errs := furrow(t.Context(), strings.Fields(step.line)...); code != exitOK || !strings.Contains(out,
			step.want) {
			t.Errorf("%s with %s: exit %d, %q, %q; want %q", step.line, step.file, code, out, errs, step.want)
		}
	}
}

func TestConfigThatIsNamedAndNotThereIsAnError(t *testing.T) {
	inEmptyDirectory(t)
	for _, line := range []string{"config check none.yaml", "config show --config none.yaml"} {
		code, out, errs := furrow(t.Context(), strings.Fields(line)...)
		if code != exitFailed || out != "" || !strings.Contains(errs,
			"none.yaml: there is no such file; 'furrow config init none.yaml' makes one") {
			t.Errorf("%s: exit %d, %q, %q", line, code, out, errs)
		}
	}
	if code, _, errs := furrow(t.Context(), "config", "check", "a", "b"); code != exitUsage || !strings.Contains(errs,
		`"b" is another`) {
		t.Errorf("of two files: exit %d, %q", code, errs)
	}
}

func TestConfigCheckSaysAllThatIsWrong(t *testing.T) {
	inEmptyDirectory(t)
	writeConfig(t, "furrow.yaml", "pipelines:\n  - name: live\n    cadense: 1m\n    batch: 100\n    processors: [latst]\n")
	code, out, errs := furrow(t.Context(), "config", "check")
	want := `furrow.yaml:3:5: pipeline live: key "cadense" is not known (did you mean cadence?); want name, cadence, batch, settle, processors, sensors or quality
furrow.yaml:4:12: pipeline live: batch "100"; want a whole number of devices from 1 to 99
furrow.yaml:5:18: pipeline live: processor "latst" is not known (did you mean latest?); want latest, rollup or archive
`
	if code != exitFailed || out != want || errs != "furrow: furrow.yaml has 3 problems\n" {
		t.Errorf("exit %d, stderr %q, stdout\n%swant\n%s", code, errs, out, want)
	}
	code, out, errs = furrow(t.Context(), "config", "show", "furrow.yaml")
	if code != exitFailed || out != "" || !strings.Contains(errs, "has 3 problems:\n"+strings.TrimSpace(want)) {
		t.Errorf("show: exit %d, stdout %q, stderr %q", code, out, errs)
	}
}

func TestConfigShowIsAConfiguration(t *testing.T) {
	inEmptyDirectory(t)
	writeConfig(t, "furrow.yaml", defaultConfig)
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
		t.Error("neither README nor help shows what 'furrow config init' writes")
	}
	for _, block := range fences(t, "yaml") {
		if _, err := config.Parse("configuration.md", []byte(block)); err != nil {
			t.Error(err)
		}
	}
	commented := strings.NewReplacer("    # sensors:", "    sensors:", "    #   ", "      ", "    # quality:",
		"    quality:", "      # - rate:", "      - rate:", "    # position:", "    position:").Replace(defaultConfig)
	c, err := config.Parse("default.yaml", []byte(commented))
	if err != nil || len(c.Pipelines[0].Sensors) != 4 || len(c.Pipelines[0].Processors) != 3 ||
		c.Pipelines[0].Quality.Sensor == "" || c.Pipelines[0].Position.Lat == "" {
		t.Errorf("what the default has in comments is %+v, %v", c, err)
	}
}
