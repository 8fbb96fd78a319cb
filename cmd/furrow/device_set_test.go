package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestDeviceSetChangesSitePositionAndLabels(t *testing.T) {
	f := newFixture(t)
	f.must("enrollment add plant1 --tenant acme")
	f.must("device add pump-7 --site hall --lat 48 --lon 11 --label model=p7 --label old=1 --model rig --json")
	f.must("device add pump-7 --model pump --json")
	for _, c := range []struct{ flags, want string }{
		{"--site=Halle_1 --label=model=p8 --no-label=old", `"site":"Halle_1","enrollment":"plant1","status":"active","lat":48,"lon":11,"labels":{"model":"p8"}`},
		{"--model=rig", `"labels":{"model":"p8"},"model":"rig"`},
		{"--model=", `"labels":{"model":"p8"},"readings"`},
		{"--lat=-2 --lon=0.5", `"site":"Halle_1","enrollment":"plant1","status":"active","lat":-2,"lon":0.5,"labels":{"model":"p8"}`},
		{"--site= --no-position --no-label=model --no-label=never", `"status":"active","readings"`},
	} {
		out := f.must("device set pump-7 --json " + c.flags)
		if !strings.Contains(out, c.want) || !strings.Contains(out, `"inFleet":true`) {
			t.Errorf("device set %s: %s, want %s", c.flags, out, c.want)
		}
		if out := f.must("device show pump-7 --json"); !strings.Contains(out, c.want) {
			t.Errorf("device show after %s: %s, want %s", c.flags, out, c.want)
		}
	}
	for flags, want := range map[string]string{
		"pump-7":                           "nothing to change",
		"pump-7 --no-position --lat 1":     "a position needs both",
		"--no-position --lat=1 --lon=1 p7": "excludes",
		"pump-7 --label a=1 --no-label a":  "both name",
		"pump-7 --model Rig":               "want 1 to 40 lowercase letters",
		"--site hall":                      "name the DEVICE",
		"pump-8 --site hall":               `pump-8`,
	} {
		f.refused(anyFailure, want, "device set "+flags)
	}
	f.refused(exitUsage, "--site", "device set pump-7 --site", "\t")
}

func TestDevicesAreNotAddedUnderThePrefixOfAnotherEnrollment(t *testing.T) {
	f := newFixture(t)
	f.must("enrollment add any --tenant acme")
	f.must("device add pump:7 --enrollment any")
	f.must("enrollment add pumps --tenant acme --prefix pump:")
	f.refused(exitFailed, "the prefix of enrollment pumps: add it with --enrollment pumps",
		"device add pump:8 --enrollment any")
	f.must("device add pump:7 --enrollment any --site hall") // it was there before
	f.must("device add pump:8 --enrollment pumps")
	file := filepath.Join(t.TempDir(), "devices.csv")
	writeFile(t, file, "id\npump:9\nfan-1\n")
	code, out, errs := f.run("device import " + file + " --enrollment any")
	if code != exitFailed || !strings.Contains(out, "1 devices are added") ||
		!strings.Contains(errs, "prefix of enrollment pumps") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
}

func TestUnknownTenantPrintsNoHeader(t *testing.T) {
	t.Parallel()
	f := newFoldedFixture(t)
	f.refused(exitFailed, "nobody", "device list --tenant nobody")
	if out := f.must("device list --site nowhere"); !strings.HasPrefix(out, "device,") {
		t.Errorf("without devices it prints %q", out)
	}
}
