package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"furrow/cmd/internal/setup"
	"furrow/sas"
	"furrow/tables"
)

// A runbook runs the commands of the page about operations in a shell, in an empty folder.
type runbook struct {
	t   *testing.T
	dir string
	env []string
}

func newRunbook(t *testing.T) *runbook {
	t.Helper()
	needTools(t)
	dir := t.TempDir()
	for _, name := range []string{"bin", "mnt"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	linkProgram(t, filepath.Join(dir, "bin"))
	return &runbook{t: t, dir: dir, env: append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))}
}

// runbooks returns the sections of the page whose commands tests run, and how many each has.
func runbooks() map[string]int {
	return map[string]int{"Backups": 2, "Restore": 5, "Checking a directory": 2, "Upgrade, and going back": 5,
		"Replacing keys": 9, "Moving to Azure, or to another account": 5, "A stolen key": 6, "A full disk": 3}
}

// runbookCommands returns the lines of all shell blocks in a section of the page.
func runbookCommands(t *testing.T, section string) (lines []string) {
	t.Helper()
	_, rest, _ := strings.Cut(text(t, "reference/operations.md"), "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)```\n").FindAllStringSubmatch(rest, -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	if len(lines) != runbooks()[section] {
		t.Fatalf("section %s has other commands than its test knows: %q", section, lines)
	}
	return lines
}

func (r *runbook) shell(line string) *exec.Cmd {
	c := exec.CommandContext(r.t.Context(), "sh", "-eu", "-c",
		strings.ReplaceAll(line, "/mnt/", filepath.Join(r.dir, "mnt")+"/"))
	c.Dir, c.Env = r.dir, r.env
	return c
}

// do runs lines that must succeed.
func (r *runbook) do(lines ...string) string {
	r.t.Helper()
	line := strings.Join(lines, "\n")
	out, err := r.shell(line).CombinedOutput()
	r.t.Logf("$ %s\n%s", line, out)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(out)
}

// says runs a line whose output must contain want.
func (r *runbook) says(want, line string) {
	r.t.Helper()
	if out := r.do(line); !strings.Contains(out, want) {
		r.t.Errorf("%s does not say %q", line, want)
	}
}

// A serving is a command that runs until it is stopped.
type serving struct {
	*exec.Cmd
	said *lockedBuffer
}

// start runs a line until the test ends, on free ports. It returns once that has said something.
func (r *runbook) start(line, something string) serving {
	r.t.Helper()
	ports := map[string]string{"up": " --listen 127.0.0.1:0 --storage-port 0 --no-dashboard",
		"storage": " --listen 127.0.0.1:0", "sas": " --listen 127.0.0.1:0"}
	s := serving{r.shell("exec " + line + ports[strings.Fields(line)[1]]), &lockedBuffer{}}
	s.Stdout, s.Stderr = s.said, s.said
	must(r.t, s.Start())
	r.t.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
	await(r.t, s.said, func() bool { return strings.Contains(s.said.String(), something) })
	return s
}

// up starts furrow up.
func (r *runbook) up(line string) serving {
	r.t.Helper()
	return r.start(line, "Stop it with Ctrl-C")
}

func (s serving) stop(t *testing.T) {
	t.Helper()
	must(t, s.Process.Signal(os.Interrupt))
	if err := s.Wait(); err != nil {
		t.Errorf("it ends with %v, and has said:\n%s", err, s.said)
	}
}

// enroll adds an enrollment and returns its key.
func (r *runbook) enroll() sas.Key {
	r.t.Helper()
	r.do("furrow enrollment add plant1 --tenant contoso")
	key, err := sas.ParseKey(jsonOf[keyLine](r.t, r.do("furrow enrollment key plant1 --show-key --json"))[0].Key)
	must(r.t, err)
	return key
}

// boot requests a token from the endpoint of a directory as a device does.
func (r *runbook) boot(data, device string, key sas.Key) (a sas.Answer, status int) {
	r.t.Helper()
	endpoint, err := setup.Endpoint(filepath.Join(r.dir, data))
	must(r.t, err)
	return r.bootAt(endpoint, device, key)
}

func (r *runbook) bootAt(endpoint, device string, key sas.Key) (a sas.Answer, status int) {
	r.t.Helper()
	proof := key.Of(device).Prove("plant1/registrations/"+device, time.Now().Add(time.Hour))
	status = post(r.t, endpoint+"/v1/devices/"+device+"/token", nil, http.Header{"Authorization": {proof}}, &a)
	return a, status
}

// write sends a reading with a token, to where the directory is served now. An empty directory leaves the URL.
func (r *runbook) write(data string, a sas.Answer) (status int) {
	r.t.Helper()
	url := a.URL
	if data != "" {
		account, err := tables.ParseAccount(text(r.t, filepath.Join(r.dir, data, "connection")))
		must(r.t, err)
		url = account.Table + a.URL[strings.LastIndex(a.URL, "/"):]
	}
	return (&fixture{t: r.t}).write(a, url)
}

// mustBoot is boot and write, which must succeed.
func (r *runbook) mustBoot(data, device string, key sas.Key) (a sas.Answer) {
	r.t.Helper()
	a, status := r.boot(data, device, key)
	if status != http.StatusOK {
		r.t.Fatalf("%s gets no token: %d", device, status)
	}
	if status := r.write(data, a); status != http.StatusNoContent {
		r.t.Errorf("%s cannot write: %d", device, status)
	}
	return a
}
