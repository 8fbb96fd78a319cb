package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

// A works is a fleet on storage of its own, asked by the program's commands.
type works struct {
	t   *testing.T
	dir string
}

func newWorks(t *testing.T) works {
	t.Helper()
	w := works{t, t.TempDir()}
	startStorage(t, nil, "--data", w.dir)
	return w
}

func (w works) run(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(w.t.Context(), append(append([]string{"furrow"}, args...), "--storage", w.dir), strings.NewReader(stdin),
		&out, &errs)
	return code, out.String(), errs.String()
}

// must runs a command that has to end well.
func (w works) must(args ...string) (stdout string) {
	w.t.Helper()
	code, out, errs := w.run("", args...)
	if code != exitOK {
		w.t.Fatalf("furrow %q: exit %d, %s", args, code, errs)
	}
	return out
}

// refused runs a command that has to fail, and to say so.
func (w works) refused(code int, says string, args ...string) {
	w.t.Helper()
	got, out, errs := w.run("", args...)
	if got != code || !strings.Contains(errs, says) {
		w.t.Errorf("furrow %q: exit %d, %s%s; want exit %d and %q", args, got, out, errs, code, says)
	}
}

// jsonOf is what a command prints, a line of JSON each.
func jsonOf[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v T
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, v)
	}
	return all
}

func TestEnrollmentLivesThroughItsCommands(t *testing.T) {
	w := newWorks(t)
	w.refused(exitFailed, "no enrollment yet", "device", "add", "pump-7")
	w.refused(exitUsage, "--tenant", "enrollment", "add", "line4")
	w.refused(exitUsage, "--life", "enrollment", "add", "line4", "--tenant=contoso", "--life=yesterday")
	w.refused(exitUsage, "--life: it must be at most 90d", "enrollment", "add", "line4", "--tenant=contoso", "--life=91d")
	w.refused(exitUsage, "holds records of the fleet", "enrollment", "add", "line4", "--tenant=contoso",
		"--readings=DEVICES")
	w.refused(exitUsage, "holds records of the fleet", "enrollment", "add", "line4", "--tenant=contoso",
		"--readings=partitionslive")
	w.refused(exitUsage, "holds records of the fleet", "enrollment", "add", "line4", "--tenant=contoso",
		"--readings=config")

	added := jsonOf[enrollmentLine](t, w.must("enrollment", "add", "line4", "--tenant=contoso", "--site=dock",
		"--label=line=4", "--backfill=1d12h", "--json"))[0]
	if added.Readings != "readings" || added.Life != 3600 || added.Backfill != 36*3600 || added.Admits != 37*3600 ||
		added.SendEvery != 60 || added.Batch != 100 || added.Shards != 1 {
		t.Errorf("it is %+v", added)
	}
	w.refused(exitFailed, "exists already", "enrollment", "add", "line4", "--tenant=contoso")
	w.refused(exitFailed, "needs its own table", "enrollment", "add", "boots", "--tenant=contoso", "--life=30d",
		"--readings=readings")
	if out := w.must("enrollment", "add", "boots", "--tenant=contoso", "--life=30d"); !strings.Contains(out,
		"readingsboots") || !strings.Contains(out, masterFile) ||
		!strings.Contains(out, "furrow device add") {
		t.Errorf("it prints %s", out)
	}
	if all := jsonOf[enrollmentLine](t, w.must("enrollment", "list", "--json")); len(all) != 2 ||
		all[0].Enrollment != "boots" || all[1].Labels["line"] != "4" {
		t.Errorf("the list is %+v", all)
	}
	w.refused(exitFailed, `did you mean "line4"?`, "enrollment", "disable", "lin4")
	w.refused(exitUsage, "boots, line4", "device", "add", "pump-7")
	if e := jsonOf[enrollmentLine](t, w.must("enrollment", "disable", "line4", "--json"))[0]; !e.Disabled {
		t.Error("it is not disabled")
	}
	if e := jsonOf[enrollmentLine](t, w.must("enrollment", "enable", "line4", "--json"))[0]; e.Disabled {
		t.Error("it is not enabled")
	}
	if e := jsonOf[enrollmentLine](t, w.must("enrollment", "set", "line4", "--import-only", "--life=10m",
		"--json"))[0]; !e.ImportOnly || e.Life != 600 || e.Admits != 37*3600 ||
		e.Site != "dock" {
		t.Errorf("it is set to %+v", e)
	}
}

func TestKeysComeBackAndRotate(t *testing.T) {
	w := newWorks(t)
	made := sas.NewKey().Base64()
	file := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(file, []byte(made+"\n"), 0o600))
	if code, _, errs := w.run("", "enrollment", "add", "line4", "--tenant=contoso", "--primary-key",
		made); code != exitUsage || strings.Contains(errs, made) {
		t.Errorf("with a key for a file: exit %d, %s", code, errs)
	}
	w.must("enrollment", "add", "line4", "--tenant=contoso", "--primary-key", file)
	w.refused(exitUsage, "--show-key", "enrollment", "key", "line4")
	key := func(args ...string) string {
		return jsonOf[keyLine](t, w.must(append([]string{"enrollment", "key", "line4", "--show-key", "--json"},
			args...)...))[0].Key
	}
	if key() != made {
		t.Errorf("the key that was given comes back as another")
	}
	primary, err := sas.ParseKey(made)
	must(t, err)
	if got := strings.TrimSpace(w.must("device", "key", "pump-7")); got != primary.Of("pump-7").Base64() {
		t.Errorf("the device's key is %s", got)
	}
	w.refused(exitUsage, "--yes", "enrollment", "rotate", "line4")
	w.must("enrollment", "rotate", "line4", "--yes")
	if key() == made || key("--secondary") != made {
		t.Error("the primary key is not the secondary after a rotation")
	}
	s, err := tables.ParseAccount(text(t, filepath.Join(w.dir, "connection")))
	must(t, err)
	c, err := tables.Connect(tables.Config{Account: s})
	must(t, err)
	row, err := c.Table("enrollments").Get(t.Context(), "line4", schema.EnrollmentRow)
	must(t, err)
	for _, p := range row.Properties {
		if bytes.Contains(p.Value.Binary(), primary) || strings.Contains(p.Value.Text(), made) {
			t.Errorf("%s has the key in the clear", p.Name)
		}
	}
}

func TestMasterKeyIsMadeOnceAndNeverReplaced(t *testing.T) {
	w := newWorks(t)
	file := filepath.Join(w.dir, masterFile)
	w.must("enrollment", "add", "line4", "--tenant=contoso")
	info, err := os.Stat(file)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
	was := text(t, file)
	must(t, makeMaster(file))
	if text(t, file) != was {
		t.Error("it was replaced")
	}
	if left, err := filepath.Glob(file + ".*"); err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
	must(t, os.Chmod(file, 0o640))
	w.refused(exitFailed, "chmod 600", "device", "key", "pump-7")
	must(t, os.Remove(file))
	// it never makes a second one
	w.refused(exitFailed, "restore it from a backup", "enrollment", "add", "line5", "--tenant=contoso")
	w.refused(exitFailed, "restore it from a backup", "device", "key", "pump-7")
	t.Setenv(masterVariable, sas.NewSealingKey().Base64())
	w.refused(exitFailed, "it was sealed with another master key", "device", "key", "pump-7")
	t.Setenv(masterVariable, strings.TrimSpace(was))
	w.must("device", "key", "pump-7")
	t.Setenv(masterVariable, was[:10])
	if code, _, errs := w.run("", "device", "key", "pump-7"); code != exitFailed || strings.Contains(errs, was[:10]) ||
		!strings.Contains(errs, masterVariable) {
		t.Errorf("with half a key: exit %d, %s", code, errs)
	}
}

func TestAccountNeedsItsMasterKeyGiven(t *testing.T) {
	w := newWorks(t)
	connection := strings.TrimSpace(text(t, filepath.Join(w.dir, "connection")))
	code, _, errs := furrow(t.Context(), "enrollment", "add", "line4", "--tenant=contoso", "--storage", connection)
	if code != exitFailed || !strings.Contains(errs, "openssl rand -base64 32") {
		t.Errorf("without: exit %d, %s", code, errs)
	}
	file := filepath.Join(t.TempDir(), "master")
	must(t, os.WriteFile(file, []byte(sas.NewSealingKey().Base64()), 0o600))
	if code, _, errs := furrow(t.Context(), "enrollment", "add", "line4", "--tenant=contoso", "--storage", connection,
		"--master-key-file", file); code != exitOK {
		t.Errorf("with: exit %d, %s", code, errs)
	}
}

// TestLinesOfDeviceAddSendAFirstReading pastes them into a shell.
func TestLinesOfDeviceAddSendAFirstReading(t *testing.T) {
	for _, tool := range []string{"sh", "openssl", "curl", "sed", "date"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	w := newWorks(t)
	w.must("enrollment", "add", "line4", "--tenant=contoso")
	e := startEndpoint(t, "--storage", w.dir)
	for _, id := range []string{"pump-7", "contoso:us-1:Giles_7.x"} {
		lines := w.must("device", "add", id, "--url", e.Endpoint+"/")
		for again := range 2 { // typed or piped, the shell goes on after them
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			sh := exec.CommandContext(ctx, "sh", "-u", "-s")
			sh.Stdin = strings.NewReader(lines + "echo and on\n")
			out, err := sh.CombinedOutput()
			cancel()
			if err != nil || !strings.Contains(string(out), "storage responds 204") || !strings.HasSuffix(string(out),
				"and on\n") {
				t.Fatalf("%s, %d: %v\n%s", id, again, err, out)
			}
			time.Sleep(time.Second) // a key of the same second would be there already
		}
		if out := w.must("query", id, "--raw", "--last=1h", "--format=csv"); strings.Count(out, "temperature,21.5") != 2 {
			t.Errorf("of two readings there is\n%s", out)
		}
		show := jsonOf[deviceLine](t, w.must("device", "show", id, "--json"))[0]
		if len(show.Tokens) == 0 || show.InFleet == nil || !*show.InFleet {
			t.Errorf("it is shown as %+v", show)
		}
	}
	lines := strings.Replace(w.must("device", "add", "pump-7", "--url", e.Endpoint), "key='", "key='00", 1)
	sh := exec.CommandContext(t.Context(), "sh", "-s")
	sh.Stdin = strings.NewReader(lines)
	if out, _ := sh.CombinedOutput(); !strings.Contains(string(out), "no token: {") || !strings.Contains(string(out),
		"proof-wrong") {
		t.Errorf("with a wrong key it says %s", out)
	}
}

func TestDevicesAreImportedListedAndShown(t *testing.T) {
	w := newWorks(t)
	w.must("enrollment", "add", "line4", "--tenant=contoso")
	var file bytes.Buffer
	z := gzip.NewWriter(&file)
	fmt.Fprintln(z, "id,site,label.model,deployed,colour")
	for i := range 250 {
		fmt.Fprintf(z, "contoso:d%03d,site-%d,m%d,2026-%02d-01,red\n", i, i%5, i%2, 1+i%3)
	}
	fmt.Fprintln(z, "wrong id,,,,")
	must(t, z.Close())
	path, errorsPath := filepath.Join(t.TempDir(), "devices.csv.gz"), filepath.Join(t.TempDir(), "errors.jsonl")
	must(t, os.WriteFile(path, file.Bytes(), 0o600))
	code, out, errs := w.run("", "device", "import", path, "--errors", errorsPath)
	if code != exitFailed || !strings.Contains(out, "250 devices are added") || !strings.Contains(errs,
		"line 252: device id") || !strings.Contains(errs, `["colour"]`) {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if notes := text(t, errorsPath); strings.Count(notes, "\n") != 1 || !strings.Contains(notes, `"line":252`) {
		t.Errorf("the file of errors is %s", notes)
	}
	code, out, _ = w.run(`{"id":"contoso:d000","site":"moved"}`, "device", "import", "-", "--format=jsonl", "--json")
	if sum := jsonOf[importLine](t, out); code != exitOK || sum[0].Changed != 1 || sum[0].Lines != 1 ||
		sum[0].Enrollment != "line4" {
		t.Errorf("exit %d, %s", code, out)
	}
	list := func(args ...string) []deviceLine {
		return jsonOf[deviceLine](t, w.must(append([]string{"device", "list", "--json"}, args...)...))
	}
	for _, c := range []struct {
		args string
		want int
	}{
		{"--prefix=contoso:d00", 10}, {"--site=moved", 1}, {"--month=2026-02", 83}, {"--label=model=m1",
			125}, {"--label=model=m1 --month=2026-02 --prefix=contoso:d0 --limit=3", 3},
		{"--status=revoked", 0}, {"--tenant=fabrikam", 0}, {"--enrollment=line4 --limit=7", 7}, {"--after=contoso:d247",
			2}, {"--prefix=contoso:d24 --after=contoso:d245 --limit=3", 3},
	} {
		if got := list(strings.Fields(c.args)...); len(got) != c.want {
			t.Errorf("%s: %d devices, want %d", c.args, len(got), c.want)
		}
	}
	if d := list("--prefix=contoso:d000")[0]; d.Site != "moved" || d.Month != "2026-01" || d.Labels["model"] != "m0" ||
		d.Tenant != "contoso" || d.Status != schema.Active {
		t.Errorf("it is %+v", d)
	}
	w.refused(exitUsage, "did you mean", "device", "list", "--status=revokd")
	w.refused(exitFailed, "similar IDs", "device", "show", "contoso:d9")
	w.refused(exitFailed, "no such file", "device", "import", "/nowhere.csv")
}

func TestListReadsNoMoreThanItsLimitNeeds(t *testing.T) {
	y := newHerd(t, 120)
	for line, most := range map[string]int{"--limit=5": 1, "--prefix=d00 --limit=5": 1, "--prefix=d01": 1, "": 1} {
		y.asked()
		code, out, errs := y.furrow(t, append([]string{"device", "list", "--json"}, strings.Fields(line)...)...)
		asked := y.asked()
		if code != exitOK || len(asked) > most {
			t.Errorf("%s: exit %d, %d requests, %s", line, code, len(asked), errs)
		}
		if strings.Contains(line, "limit") && (strings.Count(out, "\n") != 5 || asked[0].URL.Query().Get("$top") != "5") {
			t.Errorf("%s asks %s, and prints %s", line, asked[0].URL, out)
		}
	}
}

func TestRevokingSaysWhoElseNeedsAToken(t *testing.T) {
	w := newWorks(t)
	w.must("enrollment", "add", "line4", "--tenant=contoso")
	w.must("enrollment", "add", "boots", "--tenant=contoso", "--life=30d")
	mates := map[string]int{}
	for _, e := range []string{"line4", "boots"} {
		for i := range 12 {
			id := fmt.Sprint(e, "-", i)
			w.must("device", "add", id, "--enrollment", e, "--json")
			w.must("token", id, "--json")
			if i > 0 && sas.Cohort(schema.DeviceID(id)) == sas.Cohort(schema.DeviceID(e+"-0")) {
				mates[e]++
			}
		}
	}
	w.refused(exitFailed, "no device", "device", "revoke", "line4-0", "line4-x")
	if d := jsonOf[deviceLine](t, w.must("device", "show", "line4-0", "--json"))[0]; d.Status != schema.Active {
		t.Error("with an id that is wrong, another was revoked")
	}
	out := w.must("device", "revoke", "line4-0", "--json")
	if !strings.Contains(out, `{"device":"line4-0","status":"revoked","readings":"readings"}`) || !strings.Contains(out,
		fmt.Sprintf(`{"needNewToken":%d}`, mates["line4"])) {
		t.Errorf("%d need a token, and it says %s", mates["line4"], out)
	}
	if d := jsonOf[deviceLine](t, w.must("device", "show", "line4-0", "--json"))[0]; !d.Tokens[0].Ended {
		t.Error("the token of a revoked device is not shown as ended")
	}
	if out := w.must("device", "show", "line4-0"); !strings.Contains(out, "; ended by a revocation") {
		t.Errorf("it shows %s", out)
	}
	for i := range 12 {
		if i > 0 {
			w.must("token", fmt.Sprint("line4-", i), "--json")
		}
	}
	if out := w.must("device", "revoke", "line4-0", "--json"); !strings.Contains(out, `{"needNewToken":0}`) {
		t.Errorf("revoking again costs others a token: %s", out)
	}
	w.refused(exitFailed, "revoked", "token", "line4-0")
	w.must("device", "restore", "line4-0")
	w.must("token", "line4-0")

	w.refused(exitUsage, fmt.Sprintf("locks out %d other devices", mates["boots"]), "device", "revoke", "boots-0")
	w.must("token", "boots-0") // nothing was done
	w.must("device", "revoke", "boots-0", "--at-expiry")
	w.must("device", "restore", "boots-0")
	if out := w.must("device", "revoke", "boots-0", "boots-1", "--yes"); !strings.Contains(out, "boots-1 is revoked") {
		t.Errorf("it says %s", out)
	}
	if all := jsonOf[deviceLine](t, w.must("device", "list", "--status=revoked", "--json")); len(all) != 2 {
		t.Errorf("revoked are %+v", all)
	}
}
