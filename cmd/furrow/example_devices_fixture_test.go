package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An exampleDevice is one of sas/device/examples, which runs as a process of its own.
type exampleDevice struct {
	name    string
	dir     string // its working directory
	every   int    // seconds between two readings
	command []string
	env     []string
	cmd     *exec.Cmd
	out     []*lockedBuffer // of each of its processes
}

// clockBehind is by how many seconds the clocks of the devices are wrong: about six years.
const clockBehind = "200000000"

// exampleDevices prepares a device in each language that this machine has. All of its readings are urgent, or none.
func exampleDevices(t *testing.T, urgent bool) []*exampleDevice {
	t.Helper()
	examples, err := filepath.Abs(filepath.Join(root, "sas/device/examples"))
	must(t, err)
	shims, err := filepath.Abs("testdata/devices")
	must(t, err)
	bin := t.TempDir()
	edited := withUnit(t, examples, urgent)
	var all []*exampleDevice
	add := func(name string, tools []string, command []string, env ...string) {
		for _, tool := range tools {
			if _, err := exec.LookPath(tool); err != nil {
				missingTool(t, "the example in "+name+" needs "+tool)
				return
			}
		}
		all = append(all, &exampleDevice{name: name, dir: t.TempDir(), every: 1, command: command,
			env: append(env, "CLOCK_BEHIND="+clockBehind)})
	}
	add("shell", []string{"sh", "curl", "openssl", "od", "sync"},
		[]string{"sh", edited("shell/device.sh")}, "PATH="+bin+":"+os.Getenv("PATH"))
	must(t, os.Symlink(filepath.Join(shims, "clock.sh"), filepath.Join(bin, "date")))
	add("node", []string{"node"}, []string{"node", "--require", filepath.Join(shims, "clock.cjs"),
		edited("node/device.mjs")})
	add("cpython", []string{"python3"}, []string{"python3", "-u", filepath.Join(shims, "clock.py"),
		edited("micropython/main.py")})
	if port := os.Getenv("FURROW_MICROPYTHON"); port == "" {
		missingTool(t, "FURROW_MICROPYTHON does not name MicroPython's port to WebAssembly")
	} else {
		add("micropython", []string{"node", "openssl"}, []string{"node", filepath.Join(shims, "micropython.mjs"), port,
			edited("micropython/main.py")})
	}
	program, preload := filepath.Join(bin, "device"), filepath.Join(bin, "clock.so")
	if built := compile(t, edited("c/device.c"), shims, program, preload); built {
		add("c", nil, []string{program}, "LD_PRELOAD="+preload)
	}
	return all
}

// withUnit returns a function that copies an example whose readings have a text that is not ASCII, too, and returns the
// path of the copy, whose readings are urgent or not.
func withUnit(t *testing.T, examples string, urgent bool) func(string) string {
	dir := t.TempDir()
	return func(file string) string {
		t.Helper()
		source := text(t, filepath.Join(examples, file))
		if urgent {
			source = strings.NewReplacer("> 60", "> 0", "-gt 60", "-gt 0").Replace(source)
		}
		for _, form := range []struct{ is, becomes string }{
			{`'"temperature":`, `'"unit":"°C","temperature":`},
			{`({ temperature:`, `({ unit: "°C", temperature:`},
			{`{"temperature":`, `{"unit": "°C", "temperature":`},
			{`"{\"temperature\":`, `"{\"unit\":\"°C\",\"temperature\":`},
		} {
			if strings.Contains(source, form.is) {
				copied := filepath.Join(dir, filepath.Base(file))
				writeFile(t, copied, strings.Replace(source, form.is, form.becomes, 1))
				return copied
			}
		}
		t.Fatalf("%s has no temperature", file)
		return ""
	}
}

// compile builds the example in C, if this machine has what that takes.
func compile(t *testing.T, source, shims, program, preload string) bool {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		missingTool(t, "the example in C needs cc")
		return false
	}
	headers := []string{"-include", "curl/curl.h", "-include", "openssl/ssl.h", "-fsyntax-only", "-xc", "/dev/null"}
	if exec.CommandContext(t.Context(), "cc", headers...).Run() != nil {
		missingTool(t, "the example in C needs the headers of libcurl and OpenSSL")
		return false
	}
	for _, args := range [][]string{
		{"-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", program, source,
			"-lcurl", "-lssl", "-lcrypto"},
		{"-shared", "-fPIC", "-o", preload, filepath.Join(shims, "clock.c")},
	} {
		if out, err := exec.CommandContext(t.Context(), "cc", args...).CombinedOutput(); err != nil {
			t.Fatalf("cc %q: %v\n%s", args, err, out)
		}
	}
	return true
}

// missingTool skips a part of the test. CI has everything.
func missingTool(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("FURROW_ALL_EXAMPLES") != "" {
		t.Error(what)
	}
	t.Run("missing", func(t *testing.T) { t.Skip(what) })
}

// configure writes the device's configuration, with lines that end as on Windows.
func (d *exampleDevice) configure(t *testing.T, endpoint, key, caFile string) {
	t.Helper()
	conf := fmt.Sprintf("endpoint=%s\ndevice=%s\nenrollment=plant1\nevery=%d\nkey=%s\n", endpoint, d.id(), d.every,
		strings.TrimSpace(key))
	if caFile != "" {
		conf += "ca=" + caFile + "\n"
	}
	writeFile(t, filepath.Join(d.dir, "device.conf"), strings.ReplaceAll(conf, "\n", "\r\n"))
}

func (d *exampleDevice) id() string { return "contoso:" + d.name }

func (d *exampleDevice) start(t *testing.T) {
	t.Helper()
	d.cmd = exec.Command(d.command[0], d.command[1:]...)
	out := &lockedBuffer{}
	d.out = append(d.out, out)
	d.cmd.Dir, d.cmd.Env, d.cmd.Stdout, d.cmd.Stderr = d.dir, append(os.Environ(), d.env...), out, out
	must(t, d.cmd.Start())
	cmd := d.cmd
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// kill ends the device like a power cut, but for what the disk has in its cache.
func (d *exampleDevice) kill(t *testing.T) {
	t.Helper()
	must(t, d.cmd.Process.Kill())
	_ = d.cmd.Wait()
}

// text returns what the device printed.
func (d *exampleDevice) text() (text string) {
	for _, out := range d.out {
		text += out.String()
	}
	return text
}

// said returns the second words of the whole lines that the device printed with this first word.
func (d *exampleDevice) said(word string) (all []string) {
	for _, out := range d.out {
		all = append(all, saidIn(out, word)...)
	}
	return all
}

// now returns what its present process said.
func (d *exampleDevice) now(word string) []string { return saidIn(d.out[len(d.out)-1], word) }

func saidIn(out *lockedBuffer, word string) (all []string) {
	text := out.String()
	for line := range strings.Lines(text[:strings.LastIndexByte(text, '\n')+1]) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == word {
			all = append(all, words[1])
		}
	}
	return all
}

// gone returns the row keys of the readings that the device said to be "stored", or "dropped". When it is killed
// between this and removing them from its disk, its next process says so again, which is not counted.
func (d *exampleDevice) gone(word string) (keys []string) {
	for _, out := range d.out {
		before := slices.Clone(keys)
		for _, key := range saidIn(out, word) {
			if !slices.Contains(before, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// waits is how many readings the device has kept and neither stored nor dropped.
func (d *exampleDevice) waits() int {
	return len(d.said("kept")) - len(d.gone("stored")) - len(d.gone("dropped"))
}

// A lateText is made only when it is printed.
type lateText func() string

func (l lateText) String() string { return l() }

// waiting returns the text of the file that has what is not stored, or the names of files in a folder.
func (d *exampleDevice) waiting(t *testing.T) (names string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(d.dir, "readings"))
	if errors.Is(err, fs.ErrNotExist) {
		return text(t, filepath.Join(d.dir, "readings.txt"))
	}
	must(t, err)
	for _, file := range files {
		names += file.Name() + "\n"
	}
	return names
}

// leave makes the device find readings that wait from before, as a boot that was killed left them: the power failed
// within a character of the next one.
func (d *exampleDevice) leave(t *testing.T, keys ...string) {
	t.Helper()
	if d.name == "shell" {
		for _, key := range keys {
			must(t, os.MkdirAll(filepath.Join(d.dir, "readings"), 0o700))
			writeFile(t, filepath.Join(d.dir, "readings", key), `"temperature":1`)
		}
		return
	}
	lines := ""
	for _, key := range keys {
		lines += key + " {\"temperature\":1}\n"
	}
	writeFile(t, filepath.Join(d.dir, "readings.txt"), lines+"0600000000000001000-cut {\"unit\":\"\xc2")
}
