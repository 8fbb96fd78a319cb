package main

import (
	"strings"
	"testing"
)

func TestDeviceSetChangesSitePositionAndLabels(t *testing.T) {
	f := &fleetFixture{dir: t.TempDir()}
	startStorage(t, nil, "--data", f.dir)
	f.furrow(t, "enrollment", "add", "plant1", "--tenant", "acme")
	f.furrow(t, "device", "add", "pump-7", "--site", "hall", "--lat", "48", "--lon", "11", "--label", "model=p7",
		"--label", "old=1", "--json")
	for _, c := range []struct{ flags, want string }{
		{"--site=Halle_1 --label=model=p8 --no-label=old", `"site":"Halle_1","lat":48,"lon":11,"labels":{"model":"p8"}`},
		{"--lat=-2 --lon=0.5", `"site":"Halle_1","lat":-2,"lon":0.5,"labels":{"model":"p8"}`},
		{"--site= --no-position --no-label=model --no-label=never", `"tenant":"acme","readings"`},
	} {
		args := append([]string{"device", "set", "pump-7", "--json"}, strings.Fields(c.flags)...)
		if out, _ := f.furrow(t, args...); !strings.Contains(out, c.want) || !strings.Contains(out, `"inFleet":true`) {
			t.Errorf("device set %s: %s, want %s", c.flags, out, c.want)
		}
		if out, _ := f.furrow(t, "device", "show", "pump-7", "--json"); !strings.Contains(out, c.want) {
			t.Errorf("device show after %s: %s, want %s", c.flags, out, c.want)
		}
	}
	for flags, want := range map[string]string{
		"pump-7":                           "nothing to change",
		"pump-7 --no-position --lat 1":     "a position needs both",
		"--no-position --lat=1 --lon=1 p7": "excludes",
		"pump-7 --label a=1 --no-label a":  "both name",
		"pump-7 --site \t":                 "--site",
		"--site hall":                      "name one device",
		"pump-8 --site hall":               `pump-8`,
	} {
		args := append([]string{"device", "set", "--storage", f.dir}, strings.Split(flags, " ")...)
		if code, _, errs := furrow(t.Context(), args...); code == exitOK || !strings.Contains(errs, want) {
			t.Errorf("device set %s: exit %d, %s; want %s", flags, code, errs, want)
		}
	}
}
