package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/effort"
)

// TestExampleDevicesStoreEveryReadingOnce runs the examples in other languages through an outage of endpoint and
// storage, kills of the device and a revocation, with clocks that are years behind.
func TestExampleDevicesStoreEveryReadingOnce(t *testing.T) {
	effort.OnlyLong(t, "they are programs in other languages")
	t.Parallel()
	devices := exampleDevices(t, false)
	dir := t.TempDir()
	u := startUpProcess(t, dir, "--tls", "self-signed")
	f := fixtureIn(t, dir)
	f.must("enrollment add plant1 --tenant contoso --send-every 1s --batch 10")
	ids := []string{}
	for _, d := range devices {
		d.configure(t, u.said.Endpoint, f.must("device key", d.id()), u.said.TLS.CAFile)
		d.start(t)
		ids = append(ids, d.id())
	}
	all := func(what string, is func(*exampleDevice) bool) {
		t.Helper()
		for _, d := range devices {
			await(t, lateText(func() string { return d.name + " " + what + ":\n" + d.text() }),
				func() bool { return is(d) })
		}
	}
	began := time.Now()
	step := func(what string) { t.Logf("%5.1f s  %s", time.Since(began).Seconds(), what) }

	all("stores a reading", func(d *exampleDevice) bool { return len(d.gone("stored")) > 0 })
	step("an outage")
	u.kill(t)
	all("keeps readings", func(d *exampleDevice) bool { return d.waits() >= 2 && len(d.said("failed")) > 0 })
	step("restarts of the devices")
	for _, d := range devices {
		d.kill(t)
		d.start(t)
	}
	all("keeps more", func(d *exampleDevice) bool { return d.waits() >= 3 })
	step("the end of the outage")
	u.start(t)
	all("sends everything", func(d *exampleDevice) bool { return d.waits() == 0 })
	step("restarts of the devices")
	for _, d := range devices {
		d.kill(t)
		d.start(t)
	}
	all("stores again", func(d *exampleDevice) bool { return d.waits() == 0 && len(d.said("token")) >= 3 })

	step("a revocation")
	refusals := map[string]int{}
	for _, d := range devices {
		refusals[d.name] = len(d.said("failed"))
	}
	f.must("device revoke --yes", ids...)
	all("is refused", func(d *exampleDevice) bool { return len(d.said("failed")) > refusals[d.name]+1 && d.waits() >= 2 })
	for _, d := range devices {
		if !strings.Contains(d.text(), "403 revoked") {
			t.Errorf("%s does not say why:\n%s", d.name, d.text())
		}
	}
	step("a restore")
	f.must("device restore", ids...)
	for _, d := range devices {
		refusals[d.name] = len(d.gone("stored"))
	}
	all("sends everything after it was restored", func(d *exampleDevice) bool {
		return len(d.gone("stored")) > refusals[d.name] && d.waits() == 0
	})
	step("the end")
	f = fixtureIn(t, dir) // at its new address
	for _, d := range devices {
		d.kill(t)
		rows := d.check(t, f)
		t.Logf("%s: %d kept, %d rows, %d failures", d.name, len(d.said("kept")), rows, len(d.said("failed")))
	}
}

// check compares what the device printed with what its partition has, and returns the number of its rows. It was
// killed, perhaps after it had stored a reading and before it could say so.
func (d *exampleDevice) check(t *testing.T, f *fixture) (rows int) {
	t.Helper()
	stored := map[string]string{} // row keys by what distinguishes readings
	query := tables.Query{Range: tables.Partition(d.id())}
	for row, err := range f.client.Table(f.names.Readings()).Entities(t.Context(), query) {
		must(t, err)
		_, name, _ := strings.Cut(row.RowKey, "-")
		if before, twice := stored[name]; twice {
			t.Errorf("%s: reading %s is stored as %s and as %s", d.name, name, before, row.RowKey)
		}
		stored[name] = row.RowKey
	}
	for _, key := range d.gone("stored") {
		if !slices.Contains(slices.Collect(maps.Values(stored)), key) {
			t.Errorf("%s: it was told that %s is stored, and it is not there", d.name, key)
		}
	}
	waits := d.waiting(t)
	for _, name := range d.said("kept") {
		if stored[name] == "" && !strings.Contains(waits, name) {
			t.Errorf("%s: reading %s is lost", d.name, name)
		}
	}
	return len(stored)
}
