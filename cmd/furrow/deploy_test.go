package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/urfave/cli/v2"
)

// deployed writes the files of a kind of deployment, and returns their directory.
func deployed(t *testing.T, kind, flags string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deploy")
	line := append([]string{"deploy", "init", kind, dir}, strings.Fields(flags)...)
	if code, _, errs := furrow(t.Context(), line...); code != exitOK {
		t.Fatalf("furrow %s: exit %d, %s", strings.Join(line, " "), code, errs)
	}
	return dir
}

func fileIn(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	must(t, err)
	return string(text)
}

// validCommandLine checks that furrow has the command and its flags.
func validCommandLine(t *testing.T, words []string) {
	t.Helper()
	if len(words) == 0 {
		t.Fatal("no command line")
	}
	var command *cli.Command
	allCommands(func(name string, c *cli.Command) {
		if name == words[0] {
			command = c
		}
	})
	if command == nil {
		t.Errorf("furrow has no command %q, as in %q", words[0], words)
		return
	}
	for _, word := range words[1:] {
		if name, ok := strings.CutPrefix(word, "--"); ok && flagOf(command, name) == nil {
			t.Errorf("furrow %s has no --%s, as in %q", words[0], name, words)
		}
	}
}

func TestDeployedServicesRunCommandsThatExist(t *testing.T) {
	inEmptyDirectory(t)
	dir := deployed(t, "systemd", "")
	units, err := filepath.Glob(filepath.Join(dir, "*.service"))
	if err != nil || len(units) != 5 {
		t.Fatalf("%d units, %v; want one for everything and four for roles", len(units), err)
	}
	for _, unit := range units {
		exec := regexp.MustCompile(`(?m)^ExecStart=\S+/furrow (.*)$`).FindStringSubmatch(fileIn(t, dir, filepath.Base(unit)))
		if exec == nil {
			t.Fatalf("%s runs nothing", unit)
		}
		validCommandLine(t, strings.Fields(exec[1]))
	}
	var compose struct {
		Services map[string]struct {
			Command     any               `yaml:"command"`
			Healthcheck map[string]any    `yaml:"healthcheck"`
			Environment map[string]string `yaml:"environment"`
		} `yaml:"services"`
	}
	must(t, yaml.Unmarshal([]byte(fileIn(t, deployed(t, "compose", ""), "compose.yaml")), &compose))
	for role, s := range compose.Services {
		words, ok := s.Command.([]any)
		if !ok {
			continue // of Azurite
		}
		validCommandLine(t, texts(words))
		test, ok := s.Healthcheck["test"].([]any)
		if !ok || s.Environment["FURROW_STORAGE"] == "" {
			t.Fatalf("%s has no health check, or no storage", role)
		}
		validCommandLine(t, texts(test)[2:])
	}
	if len(compose.Services) != 5 {
		t.Errorf("%d services; want Azurite and four roles", len(compose.Services))
	}
}

func texts(words []any) (all []string) {
	for _, w := range words {
		text, _ := w.(string)
		all = append(all, text)
	}
	return all
}

// A manifest has what the test reads of an object of Kubernetes.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Triggers []struct{ Metadata map[string]string }
		Template struct {
			Spec struct{ Containers []struct{ Args []string } }
		}
	}
}

func TestDeployedWorkersAreScaledByAllTheirQueues(t *testing.T) {
	inEmptyDirectory(t)
	writeFile(t, "site.yaml", "pipelines:\n  - {name: fast, cadence: 1m, processors: [latest]}\n")
	dir := deployed(t, "kubernetes", "--config site.yaml --names-prefix acme --account contosofleet")
	roles := map[string]bool{}
	var queues []string
	for _, name := range []string{"furrow.yaml", "keda.yaml"} {
		for _, text := range strings.Split(fileIn(t, dir, name), "\n---\n") {
			var m manifest
			must(t, yaml.Unmarshal([]byte(text), &m))
			for _, c := range m.Spec.Template.Spec.Containers {
				validCommandLine(t, c.Args)
				roles[m.Metadata.Name] = true
			}
			for _, trigger := range m.Spec.Triggers {
				queues = append(queues, trigger.Metadata["accountName"]+" "+trigger.Metadata["queueName"]+" "+
					trigger.Metadata["queueLength"])
			}
		}
	}
	if got := strings.Join(queues, ", "); got != "contosofleet acmejobs-fast 32, contosofleet acmejobs-fast-catchup 16" {
		t.Errorf("the queues are %s", got)
	}
	if len(roles) != 4 {
		t.Errorf("roles %v; want four", roles)
	}
}

// TestDeployedServicesMayDoLittle has systemd's own analysis judge the units, where it is on this machine.
func TestDeployedServicesMayDoLittle(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not on this machine")
	}
	inEmptyDirectory(t)
	units, err := filepath.Glob(filepath.Join(deployed(t, "systemd", ""), "*.service"))
	must(t, err)
	for _, unit := range units {
		out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", unit).CombinedOutput()
		level := regexp.MustCompile(`exposure level for \S+ ([0-9.]+)`).FindStringSubmatch(string(out))
		if err != nil || level == nil {
			t.Fatalf("%s: %v: %s", unit, err, out)
		}
		if exposure, err := strconv.ParseFloat(level[1], 64); err != nil || exposure >= 2 {
			t.Errorf("%s: exposure %s; want less than 2", filepath.Base(unit), level[1])
		}
	}
}

func TestDeployReplacesNoFile(t *testing.T) {
	inEmptyDirectory(t)
	writeFile(t, "keda.yaml", "mine\n")
	refused(t, exitFailed, "keda.yaml exists already", "deploy init kubernetes .")
	if _, err := os.Stat("furrow.yaml"); err == nil || fileIn(t, ".", "keda.yaml") != "mine\n" {
		t.Error("a refused command wrote files")
	}
	refused(t, exitUsage, `did you mean "compose"`, "deploy init composed .")
	refused(t, exitUsage, "name the DIR: furrow deploy init systemd|compose|kubernetes|azure|monitoring DIR",
		"deploy init systemd")
	refused(t, exitUsage, "--names-prefix", "deploy init systemd . --names-prefix A!")
}

func TestHealthFailsUnlessTheAnswerIsOK(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	s := httptest.NewServer(mux)
	defer s.Close()
	if code, out, errs := furrow(t.Context(), "health", s.URL+"/healthz"); code != exitOK || out != "healthy\n" {
		t.Errorf("healthy: exit %d, %s%s", code, out, errs)
	}
	refused(t, exitFailed, "503 Service Unavailable", "health "+s.URL+"/readyz")
	refused(t, exitUsage, "takes one URL", "health 127.0.0.1:10091")
	s.Close()
	refused(t, exitFailed, "connection refused", "health "+s.URL+"/healthz")
}

// TestDeployRefusesWhatAzureAndKubernetesRefuse names the flag and what it takes.
func TestDeployRefusesWhatAzureAndKubernetesRefuse(t *testing.T) {
	inEmptyDirectory(t)
	for flags, want := range map[string]string{
		"--account Contoso": "lower-case letters", "--account no": "3 to 24", "--account contoso-fleet": "letters and digits",
		"--account aaaaaaaaaaaaaaaaaaaaaaaaa": "3 to 24", "--image Furrow:1": "no name of an image",
		"--image contoso.azurecr.io/furrow": "furrow:1", "--image furrow:latest": "furrow:1",
		"--image https://contoso.azurecr.io/furrow:1": "no name of an image", "--image localhost:5000/furrow": "a tag",
		"--image furrow:": "no name of an image", "--names-prefix UPPER": "prefix",
	} {
		line := append([]string{"deploy", "init", "kubernetes", "deploy"}, strings.Fields(flags)...)
		code, _, errs := furrow(t.Context(), line...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %s", flags, code, errs)
		}
	}
	for _, image := range []string{"furrow:1", "localhost:5000/a/furrow:v1.2.3",
		"contoso.azurecr.io/team/furrow:2026-11-28", "furrow@sha256:" + strings.Repeat("0a", 32),
		"furrow:1@sha256:" + strings.Repeat("0a", 32)} {
		deployed(t, "kubernetes", "--account contosofleet --image "+image)
	}
}
