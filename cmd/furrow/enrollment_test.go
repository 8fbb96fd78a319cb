package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furrow/cmd/internal/setup"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

func TestEnrollmentIsAddedListedSwitchedAndChanged(t *testing.T) {
	f := newFixture(t)
	f.refused(exitFailed, "no enrollment yet", "device add pump-7")
	for flags, want := range map[string]string{
		"":                                    "--tenant",
		"--tenant=contoso --life=yesterday":   "--life",
		"--tenant=contoso --life=91d":         "--life: it must be at most 90d",
		"--tenant=contoso --readings=DEVICES": "holds records of the fleet",
		"--tenant=contoso --readings=partitionslive":  "holds records of the fleet",
		"--tenant=contoso --readings=config":          "holds records of the fleet",
		"--tenant=contoso --primary-key=/no/such/key": "give a file",
	} {
		f.refused(exitUsage, want, "enrollment add line4 "+flags)
	}
	added := jsonOf[enrollmentLine](t, f.must("enrollment add line4 --tenant=contoso --site=dock --label=line=4 "+
		"--backfill=1d12h --json"))[0]
	if added.Readings != "readings" || added.Life != 3600 || added.Backfill != 36*3600 || added.Admits != 37*3600 ||
		added.SendEvery != 60 || added.Batch != 100 || added.Shards != 1 {
		t.Errorf("it is %+v", added)
	}
	f.refused(exitFailed, "exists already", "enrollment add line4 --tenant=contoso")
	f.refused(exitFailed, "needs its own table", "enrollment add boots --tenant=contoso --life=30d --readings=readings")
	out := f.must("enrollment add boots --tenant=contoso --life=30d")
	for _, want := range []string{"readingsboots", setup.MasterFile, "furrow device add"} {
		if !strings.Contains(out, want) {
			t.Errorf("enrollment add prints %s; want %s", out, want)
		}
	}
	if all := jsonOf[enrollmentLine](t, f.must("enrollment list --json")); len(all) != 2 ||
		all[0].Enrollment != "boots" || all[1].Labels["line"] != "4" {
		t.Errorf("the list is %+v", all)
	}
	f.refused(exitFailed, `did you mean "line4"?`, "enrollment disable lin4")
	f.refused(exitUsage, "boots, line4", "device add pump-7")
	for line, disabled := range map[string]bool{"disable": true, "enable": false} {
		if e := jsonOf[enrollmentLine](t, f.must("enrollment "+line+" line4 --json"))[0]; e.Disabled != disabled {
			t.Errorf("after %s it is %+v", line, e)
		}
	}
	e := jsonOf[enrollmentLine](t, f.must("enrollment set line4 --import-only --life=10m --json"))[0]
	if !e.ImportOnly || e.Life != 600 || e.Admits != 37*3600 || e.Site != "dock" {
		t.Errorf("it is set to %+v", e)
	}
}

func TestEnrollmentBoundsItsDevicesAndTokens(t *testing.T) {
	f := newFixture(t)
	f.refused(exitUsage, "not allowed", "enrollment add line4 --tenant=contoso --prefix=a/b")
	f.refused(exitUsage, "tokens a minute", "enrollment add line4 --tenant=contoso --rate=-1")
	added := jsonOf[enrollmentLine](t, f.must("enrollment add line4 --tenant=contoso --prefix=contoso: --rate=60 "+
		"--json"))[0]
	if added.Prefix != "contoso:" || added.Rate != 60 {
		t.Errorf("it is %+v", added)
	}
	f.says(",contoso:,", "enrollment list")
	f.says(",60,", "enrollment list")
	f.refused(exitFailed, "two tenants", "enrollment add line5 --tenant=fabrikam --prefix=con")
	f.refused(exitFailed, "the IDs of enrollment line4 begin with contoso:", "device add pump-7 --json")
	f.must("device add contoso:7 --json")
	e := jsonOf[enrollmentLine](t, f.must("enrollment set line4 --max-devices=3 --json"))[0]
	if e.MaxDevices != 3 {
		t.Errorf("it is %+v", e)
	}
	f.says(",3,0,", "enrollment list")
	e = jsonOf[enrollmentLine](t, f.must("enrollment set line4 --rate=0 --prefix= --max-devices=0 --json"))[0]
	if e.Prefix != "" || e.Rate != 0 || e.MaxDevices != 0 {
		t.Errorf("it is %+v", e)
	}
	f.must("device add pump-7 --json")
}

func TestGivenKeysAreSealedAndRotate(t *testing.T) {
	f := newFixture(t)
	made := sas.NewKey().Base64()
	file := filepath.Join(t.TempDir(), "key")
	writeFile(t, file, made+"\n")
	errs := f.refused(exitUsage, "never the key itself", "enrollment add line4 --tenant=contoso --primary-key", made)
	if strings.Contains(errs, made) {
		t.Errorf("the key is in %s", errs)
	}
	f.must("enrollment add line4 --tenant=contoso --primary-key", file)
	f.refused(exitUsage, "--show-key", "enrollment key line4")
	key := func(args ...string) string {
		return jsonOf[keyLine](t, f.must("enrollment key line4 --show-key --json", args...))[0].Key
	}
	if key() != made {
		t.Error("the given key comes back as another")
	}
	primary, err := sas.ParseKey(made)
	must(t, err)
	if got := strings.TrimSpace(f.must("device key pump-7")); got != primary.Of("pump-7").Base64() {
		t.Errorf("the device's key is %s", got)
	}
	f.refused(exitUsage, "--yes", "enrollment rotate line4")
	f.must("enrollment rotate line4 --yes")
	if key() == made || key("--secondary") != made {
		t.Error("the primary key is not the secondary after a rotation")
	}
	row, err := f.client.Table(f.names.Enrollments()).Get(t.Context(), "line4", schema.EnrollmentRow)
	must(t, err)
	for _, p := range row.Properties {
		if bytes.Contains(p.Value.Binary(), primary) || strings.Contains(p.Value.Text(), made) {
			t.Errorf("%s has the key in the clear", p.Name)
		}
	}
}

func TestMasterKeyIsCreatedOnceAndNeverReplaced(t *testing.T) {
	f := newFixture(t)
	file := filepath.Join(f.storage, setup.MasterFile)
	f.must("enrollment add line4 --tenant=contoso")
	info, err := os.Stat(file)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
	was := text(t, file)
	must(t, setup.CreateMaster(file))
	if text(t, file) != was {
		t.Error("it was replaced")
	}
	if left, err := filepath.Glob(file + ".*"); err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
	must(t, os.Chmod(file, 0o640))
	f.refused(exitFailed, "chmod 600", "device key pump-7")
	must(t, os.Remove(file))
	f.refused(exitFailed, "restore it from a backup", "enrollment add line5 --tenant=contoso")
	f.refused(exitFailed, "restore it from a backup", "device key pump-7")
	t.Setenv(setup.MasterVariable, sas.NewSealingKey().Base64())
	f.refused(exitFailed, "it was sealed with another master key", "device key pump-7")
	t.Setenv(setup.MasterVariable, strings.TrimSpace(was))
	f.must("device key pump-7")
	t.Setenv(setup.MasterVariable, was[:10])
	if errs := f.refused(exitFailed, setup.MasterVariable, "device key pump-7"); strings.Contains(errs, was[:10]) {
		t.Errorf("half a key is shown: %s", errs)
	}
}

// TestMasterKeyIsReplacedWithTheFormerOneBesideIt gives both keys in a variable; the runbook has them in a file.
func TestMasterKeyIsReplacedWithTheFormerOneBesideIt(t *testing.T) {
	f := newFixture(t)
	former, next := sas.NewSealingKey().Base64(), sas.NewSealingKey().Base64()
	t.Setenv(setup.MasterVariable, former)
	f.must("enrollment add line4 --tenant=contoso")
	f.must("enrollment add line5 --tenant=contoso")
	want := f.must("enrollment key line4 --show-key")
	t.Setenv(setup.MasterVariable, next)
	f.refused(exitFailed, "Name it after the word former in "+setup.MasterVariable, "enrollment reseal")
	f.refused(exitUsage, "takes no argument", "enrollment reseal line4")
	t.Setenv(setup.MasterVariable, next+" former "+former)
	if got := jsonOf[resealedLine](t, f.must("enrollment reseal --json"))[0].Resealed; got != 2 {
		t.Errorf("it seals the keys of %d enrollments", got)
	}
	t.Setenv(setup.MasterVariable, next)
	if got := f.must("enrollment key line4 --show-key"); got != want {
		t.Error("the enrollment has another key")
	}
	t.Setenv(setup.MasterVariable, former)
	f.refused(exitFailed, "sealed with another master key", "enrollment key line4 --show-key")
}

func TestAccountNeedsItsMasterKeyGiven(t *testing.T) {
	f := newFixture(t)
	f.storage = strings.TrimSpace(text(t, filepath.Join(f.storage, "connection")))
	f.refused(exitFailed, "openssl rand -base64 32", "enrollment add line4 --tenant=contoso")
	file := filepath.Join(t.TempDir(), "master")
	writeFile(t, file, sas.NewSealingKey().Base64())
	f.must("enrollment add line4 --tenant=contoso --master-key-file", file)
}

func TestDevicesAreImportedListedAndShown(t *testing.T) {
	f := newFixture(t)
	f.must("enrollment add line4 --tenant=contoso")
	var file bytes.Buffer
	z := gzip.NewWriter(&file)
	fmt.Fprintln(z, "id,site,label.model,deployed,colour")
	for i := range 250 {
		fmt.Fprintf(z, "contoso:d%03d,site-%d,m%d,2026-%02d-01,red\n", i, i%5, i%2, 1+i%3)
	}
	fmt.Fprintln(z, "wrong id,,,,")
	must(t, z.Close())
	path, errorsPath := filepath.Join(t.TempDir(), "devices.csv.gz"), filepath.Join(t.TempDir(), "errors.jsonl")
	writeFile(t, path, file.String())
	code, out, errs := f.run("device import", path, "--errors", errorsPath)
	if code != exitFailed || !strings.Contains(out, "250 devices are added") ||
		!strings.Contains(errs, "line 252: device id") || !strings.Contains(errs, `["colour"]`) {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if notes := text(t, errorsPath); strings.Count(notes, "\n") != 1 || !strings.Contains(notes, `"line":252`) {
		t.Errorf("the file of errors is %s", notes)
	}
	code, out, _ = f.runWith(`{"id":"contoso:d000","site":"moved"}`, "device import - --format=jsonl --json")
	if sum := jsonOf[importLine](t, out); code != exitOK || sum[0].Changed != 1 || sum[0].Lines != 1 ||
		sum[0].Enrollment != "line4" {
		t.Errorf("exit %d, %s", code, out)
	}
	for flags, want := range map[string]int{
		"--prefix=contoso:d00": 10, "--site=moved": 1, "--month=2026-02": 83, "--label=model=m1": 125,
		"--label=model=m1 --month=2026-02 --prefix=contoso:d0 --limit=3": 3, "--status=revoked": 0,
		"--enrollment=line4 --limit=7": 7, "--after=contoso:d247": 2,
		"--prefix=contoso:d24 --after=contoso:d245 --limit=3": 3,
	} {
		if got := jsonOf[answers.Record](t, f.must("device list --json "+flags)); len(got) != want {
			t.Errorf("%s: %d devices, want %d", flags, len(got), want)
		}
	}
	if code, _, errs := f.runWith("", "device list --tenant=fabrikam"); code != exitFailed ||
		!strings.Contains(errs, `no device belongs to tenant "fabrikam"`) {
		t.Errorf("a tenant without devices: exit %d, %s", code, errs)
	}
	d := jsonOf[answers.Record](t, f.must("device list --json --prefix=contoso:d000"))[0]
	if d.Site != "moved" || d.Month != "2026-01" || d.Labels["model"] != "m0" || d.Tenant != "contoso" ||
		d.Status != string(schema.Active) {
		t.Errorf("it is %+v", d)
	}
	f.refused(exitUsage, "did you mean", "device list --status=revokd")
	f.refused(exitFailed, "similar IDs", "device show contoso:d9")
	f.refused(exitFailed, "no such file", "device import /nowhere.csv")
}

func TestListReadsOnlyWhatItsLimitNeeds(t *testing.T) {
	t.Parallel()
	f := newHerd(t, 120)
	for _, flags := range []string{"--limit=5", "--prefix=d00 --limit=5", "--prefix=d01", ""} {
		f.asked()
		out := f.must("device list --json " + flags)
		asked := f.asked()
		if len(asked) > 1 {
			t.Errorf("%s: %d requests", flags, len(asked))
		}
		if strings.Contains(flags, "limit") && (strings.Count(out, "\n") != 5 || asked[0].URL.Query().Get("$top") != "5") {
			t.Errorf("%s asks %s, and prints %s", flags, asked[0].URL, out)
		}
	}
}

func TestRevokingCountsWhoElseNeedsAToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must("enrollment add line4 --tenant=contoso")
	f.must("enrollment add boots --tenant=contoso --life=30d")
	mates := map[string]int{}
	for _, e := range []string{"line4", "boots"} {
		for i := range 12 {
			id := fmt.Sprint(e, "-", i)
			f.must("device add --json", id, "--enrollment", e)
			f.must("token --json", id)
			if i > 0 && sas.Cohort(schema.DeviceID(id)) == sas.Cohort(schema.DeviceID(e+"-0")) {
				mates[e]++
			}
		}
	}
	f.refused(exitFailed, "no device", "device revoke line4-0 line4-x")
	if d := jsonOf[answers.Record](t, f.must("device show line4-0 --json"))[0]; d.Status != string(schema.Active) {
		t.Error("an invalid ID revoked another device")
	}
	out := f.must("device revoke line4-0 --json")
	if !strings.Contains(out, `{"device":"line4-0","status":"revoked","readings":"readings"}`) ||
		!strings.Contains(out, fmt.Sprintf(`{"needNewToken":%d}`, mates["line4"])) {
		t.Errorf("%d need a token, and it prints %s", mates["line4"], out)
	}
	if d := jsonOf[answers.Record](t, f.must("device show line4-0 --json"))[0]; !d.Tokens[0].Ended {
		t.Error("the token of a revoked device is not shown as ended")
	}
	f.says("; ended by a revocation", "device show line4-0")
	for i := range 11 {
		f.must("token --json", fmt.Sprint("line4-", i+1))
	}
	f.says(`{"needNewToken":0}`, "device revoke line4-0 --json") // again
	f.refused(exitFailed, "revoked", "token line4-0")
	f.must("device restore line4-0")
	f.must("token line4-0")

	f.refused(exitUsage, fmt.Sprintf("locks out %d other devices", mates["boots"]), "device revoke boots-0")
	f.must("token boots-0") // nothing was done
	f.must("device revoke boots-0 --at-expiry")
	f.must("device restore boots-0")
	if out := f.must("device revoke boots-0 boots-1 --yes"); !strings.Contains(out, "boots-1 is revoked") {
		t.Errorf("it prints %s", out)
	}
	if all := jsonOf[answers.Record](t, f.must("device list --status=revoked --json")); len(all) != 2 {
		t.Errorf("revoked are %+v", all)
	}
}

func TestRevokingAllTokensReplacesEveryPolicy(t *testing.T) {
	f := newFixture(t)
	f.must("enrollment add line4 --tenant=contoso")
	f.must("enrollment add boots --tenant=fabrikam --life=30d")
	for i, e := range []string{"line4", "line4", "boots"} {
		f.must(fmt.Sprintf("device add d%d --enrollment %s --json", i, e))
		f.must(fmt.Sprintf("token d%d --json", i))
	}
	policies := func() (all []schema.Policies) {
		for page, err := range f.client.Table(f.names.Policies()).Rows(t.Context(), tables.Query{}) {
			must(t, err)
			for _, row := range page.Rows {
				p, err := schema.PoliciesOf(row)
				must(t, err)
				all = append(all, p)
			}
		}
		return all
	}
	before := policies()
	f.refused(exitUsage, "--all", "token revoke")
	f.refused(exitUsage, "tokens of 3 devices", "token revoke --all")
	r := jsonOf[allRevokedLine](t, f.must("token revoke --all --yes --json"))[0]
	if r.Tables != 2 || r.NeedNewToken != 3 {
		t.Errorf("%+v", r)
	}
	for i, after := range policies() {
		for _, p := range before[i].All() {
			if !after.Ended(schema.Token{Policy: p.ID}) {
				t.Errorf("table %s still has the policy %s", after.Readings, p.ID)
			}
		}
	}
	for i := range 3 {
		if d := jsonOf[answers.Record](t, f.must(fmt.Sprintf("device show d%d --json", i)))[0]; !d.Tokens[0].Ended {
			t.Errorf("the token of d%d has not ended", i)
		}
	}
	f.must("token d0 --json") // devices keep their keys
	f.says("1 device must", "token revoke --all --yes")
}

func TestRevokingAnEnrollmentEndsAllItsTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, e := range []string{"line4", "line5"} {
		f.must("enrollment add " + e + " --tenant=contoso")
		for i := range 8 {
			f.must(fmt.Sprintf("device add %s-%d --enrollment %s --json", e, i, e))
			f.must(fmt.Sprintf("token %s-%d --json", e, i))
		}
	}
	ended := func(e string) (n int) {
		for i := range 8 {
			tokens := jsonOf[answers.Record](t, f.must(fmt.Sprintf("device show %s-%d --json", e, i)))[0].Tokens
			if tokens[len(tokens)-1].Ended {
				n++
			}
		}
		return n
	}
	f.refused(exitUsage, "8 devices of enrollment line4, and of 8 devices of other", "enrollment revoke line4")
	if n := ended("line4"); n != 0 {
		t.Errorf("refused, but %d tokens ended", n)
	}
	r := jsonOf[revokedLine](t, f.must("enrollment revoke line4 --yes --json"))[0]
	if r.Devices != 8 || ended("line4") != 8 || ended("line5") != r.NeedNewToken {
		t.Errorf("%+v; %d and %d tokens ended", r, ended("line4"), ended("line5"))
	}
	for i := range 8 {
		f.must(fmt.Sprintf("token line5-%d --json", i))
	}
	r = jsonOf[revokedLine](t, f.must("enrollment revoke line4 --json"))[0]
	if r.Devices != 0 || r.NeedNewToken != 0 || ended("line5") != 0 {
		t.Errorf("revoked again: %+v, and %d tokens of line5 ended", r, ended("line5"))
	}
	f.must("token line4-0") // it is not disabled
	f.refused(exitUsage, "--yes", "enrollment disable line4 --revoke")
	f.must("enrollment disable line4 --revoke --yes")
	f.refused(exitFailed, "disabled", "token line4-0")
	if n := ended("line4"); n != 8 {
		t.Errorf("disabled and revoked: %d tokens ended", n)
	}
}
