package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"furrow/sas"
)

func TestRunbookRestoresABackup(t *testing.T) {
	t.Parallel()
	r := newRunbook(t)
	backup := runbookCommands(t, "Backups")
	up := r.up(backup[0])
	key := r.enroll()
	before := r.mustBoot("furrow-data", "pump-7", key)
	r.do(backup[1])
	r.do("furrow device add pump-8")
	must(t, up.Process.Kill()) // the disk is lost
	_ = up.Wait()

	restore := runbookCommands(t, "Restore")
	r.do(restore[:2]...)
	r.up(restore[2])
	r.do(restore[3:]...)
	r.says("temperature,21.5", "furrow query pump-7 --raw")
	if out := r.do("furrow device list"); strings.Contains(out, "pump-8") {
		t.Errorf("a device that was added after the backup is there:\n%s", out)
	}
	if got := r.write("furrow-data", before); got != http.StatusForbidden {
		t.Errorf("a token from before the backup is answered with %d", got)
	}
	r.mustBoot("furrow-data", "pump-9", key)
	check := runbookCommands(t, "Checking a directory")
	r.says("No problems", check[0])
	r.says("readings", check[1])
}

// No release with other formats exists yet: the test writes what a later one would leave.
func TestRunbookGoesBackAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	r := newRunbook(t)
	steps := runbookCommands(t, "Upgrade, and going back")
	up := r.up("furrow up")
	key := r.enroll()
	r.mustBoot("furrow-data", "pump-7", key)
	r.do(steps[0])
	up.stop(t)
	writeFile(t, filepath.Join(r.dir, "furrow.yaml"), everySecond)
	up = r.up("furrow up")
	r.do(steps[1])
	up.stop(t)

	writeFile(t, filepath.Join(r.dir, "furrow-data", "format"), "2\n")
	out, err := r.shell("furrow up --listen 127.0.0.1:0 --storage-port 0 --no-dashboard").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "it has format 2, and this program reads formats up to 1") {
		t.Errorf("on the directory of a later release: %v, %s", err, out)
	}
	r.do(steps[2:4]...)
	r.up(steps[4])
	r.says("temperature,21.5", "furrow query pump-7 --raw")
	r.mustBoot("furrow-data", "pump-8", key)
}

func TestRunbookReplacesTheKeysOfADirectory(t *testing.T) {
	t.Parallel()
	r := newRunbook(t)
	steps := runbookCommands(t, "Replacing keys")
	up := r.up("furrow up")
	key := r.enroll()
	former := text(t, filepath.Join(r.dir, "furrow-data", "master.key"))
	before := r.mustBoot("furrow-data", "pump-1", key)
	up.stop(t)
	r.do(steps[0])
	up = r.up(steps[1])
	if got := r.write("furrow-data", before); got != http.StatusForbidden {
		t.Errorf("a token of the former account key is answered with %d", got)
	}
	r.mustBoot("furrow-data", "pump-2", key)

	r.do(steps[2:5]...)
	r.mustBoot("furrow-data", "pump-3", key) // with both
	r.says("keys of 1 enrollment.", steps[5])
	r.mustBoot("furrow-data", "pump-4", key) // the endpoint was not restarted
	r.do(steps[6:]...)
	r.mustBoot("furrow-data", "pump-5", key)
	now := text(t, filepath.Join(r.dir, "furrow-data", "master.key"))
	if strings.Contains(now, strings.TrimSpace(former)) || len(strings.Fields(now)) != 1 {
		t.Errorf("the file has %d words", len(strings.Fields(now)))
	}
	r.says("keys of 0 enrollments.", steps[5])
	up.stop(t)
	r.up("furrow up")
	r.mustBoot("furrow-data", "pump-6", key)
	writeFile(t, filepath.Join(r.dir, "former"), former)
	out, err := r.shell("furrow enrollment key plant1 --show-key --master-key-file former").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "sealed with another master key") {
		t.Errorf("the former key: %v, %s", err, out)
	}
}

// TestRunbookMovesToAnAccount moves to Azurite if FURROW_AZURITE names it, and otherwise to another directory that is
// served.
func TestRunbookMovesToAnAccount(t *testing.T) {
	t.Parallel()
	r := newRunbook(t)
	destination := ""
	if program := os.Getenv("FURROW_AZURITE"); program != "" && !testing.Short() {
		key := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
		destination = runAzurite(t, program, "acme:"+key) + ";AccountKey=" + key
	} else {
		r.start("furrow storage --data elsewhere", "Stop it with Ctrl-C")
		destination = text(t, filepath.Join(r.dir, "elsewhere", "connection"))
	}
	r.env = append(r.env, "AZURE_STORAGE_CONNECTION_STRING="+strings.TrimSpace(destination))
	steps := runbookCommands(t, "Moving to Azure, or to another account")
	up := r.up("furrow up")
	key := r.enroll()
	r.mustBoot("furrow-data", "pump-7", key)
	r.do(steps[0])
	token := r.mustBoot("furrow-data", "pump-8", key)
	up.stop(t)

	r.start(steps[1], "Stop it with Ctrl-C")
	r.start(steps[2], "Stop it with Ctrl-C")
	if got := r.write("furrow-data", token); got != http.StatusNoContent {
		t.Errorf("before the end, the source answers with %d", got)
	}
	if out, err := r.shell("furrow status --storage env:AZURE_STORAGE_CONNECTION_STRING").CombinedOutput(); err == nil {
		t.Errorf("before the end, programs work on the destination:\n%s", out)
	}
	r.start(steps[3], "Both are equal")
	there := r.up(steps[4])
	endpoint := all(there.said.String(), `(http://\S+:\d+)`)
	moved, status := r.bootAt(endpoint[0], "pump-9", key)
	if status != http.StatusOK {
		t.Fatalf("a device that moved gets %d", status)
	}
	if status := r.write("", moved); status != http.StatusNoContent {
		t.Errorf("a device that moved cannot write: %d", status)
	}
	for device, rows := range map[string]int{"pump-7": 1, "pump-8": 2, "pump-9": 1} {
		out := r.do("furrow query " + device + " --raw --storage env:AZURE_STORAGE_CONNECTION_STRING")
		if got := strings.Count(out, "temperature,21.5"); got != rows {
			t.Errorf("the destination has %d rows of %s, not %d", got, device, rows)
		}
	}
}

func TestRunbookEndsAStolenKey(t *testing.T) {
	t.Parallel()
	r := newRunbook(t)
	steps := runbookCommands(t, "A stolen key")
	up := r.up("furrow up")
	stolen := r.enroll()
	var tokens []sas.Answer
	for i := range 8 {
		tokens = append(tokens, r.mustBoot("furrow-data", fmt.Sprintf("pump-%d", i), stolen))
	}
	r.do(steps[0])
	if got := r.write("furrow-data", tokens[7]); got != http.StatusForbidden {
		t.Errorf("the token of a revoked device is answered with %d", got)
	}
	if _, status := r.boot("furrow-data", "pump-7", stolen); status == http.StatusOK {
		t.Error("a revoked device gets a token")
	}
	r.do(steps[1])
	for _, token := range tokens {
		if got := r.write("furrow-data", token); got != http.StatusForbidden {
			t.Errorf("after all tokens have ended, one is answered with %d", got)
		}
	}
	disable := r.start(steps[2], "until every endpoint knows") // that takes 10 s, and then it does what comes next
	must(t, disable.Process.Signal(os.Interrupt))
	_ = disable.Wait()
	r.do("furrow enrollment revoke plant1 --yes")
	if out, err := r.shell("furrow token pump-3").CombinedOutput(); err == nil {
		t.Errorf("a device of a disabled enrollment gets a token:\n%s", out)
	}
	r.do(steps[3:]...)
	for _, rank := range []string{"", " --secondary"} {
		out := r.do("furrow enrollment key plant1 --show-key --json" + rank)
		if jsonOf[keyLine](t, out)[0].Key == stolen.Base64() {
			t.Errorf("the stolen key is still valid%s", rank)
		}
	}
	r.says("enrollment rotate", "furrow activity")
	up.stop(t) // a running endpoint may use what it read up to 10 s ago
	r.up("furrow up")
	if _, status := r.boot("furrow-data", "pump-1", stolen); status == http.StatusOK {
		t.Error("the stolen key still gets tokens")
	}
}

// TestRunbookMakesRoomOnAFullDisk needs root, for a small disk. TestFullDiskEndsByItself says more, and takes longer.
func TestRunbookMakesRoomOnAFullDisk(t *testing.T) {
	t.Parallel()
	r := newRunbook(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=110m", "tmpfs", r.dir).CombinedOutput(); err != nil {
		t.Skipf("a small disk cannot be mounted: %v, %s", err, out)
	}
	t.Cleanup(func() { must(t, exec.Command("umount", r.dir).Run()) })
	elsewhere := t.TempDir()
	r.env = append(r.env, "PATH="+elsewhere+":"+os.Getenv("PATH"))
	linkProgram(t, elsewhere)
	steps := runbookCommands(t, "A full disk")
	up := r.up("furrow up")
	key := r.enroll()
	r.mustBoot("furrow-data", "pump-8", key)
	token := r.mustBoot("furrow-data", "pump-7", key)
	r.do("furrow backup backups")
	must(t, os.WriteFile(filepath.Join(r.dir, "backups", "older"), make([]byte, 70<<20), 0o600))
	await(t, "the disk to be full", func() bool { return r.write("furrow-data", token) == http.StatusInsufficientStorage })
	r.says("tmpfs", steps[0])
	r.says("100 % of a limit: the free space", "furrow status")
	r.says("temperature,21.5", "furrow query pump-7 --raw")
	r.do(strings.Replace(steps[1], "/mnt/backups/", filepath.Join(elsewhere, "backups"), 1))
	await(t, "room", func() bool { return r.write("furrow-data", token) == http.StatusNoContent })
	r.do("furrow device revoke pump-8 --yes")
	r.do(steps[2])
	up.stop(t)
}
