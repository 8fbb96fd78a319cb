package verify_test

import (
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/verify"
)

// A numbered row is a reading of the first device, the nth minute after those of the fixture.
func (f *fixture) numbered(n int, suffix string, properties ...tables.Property) {
	at := schema.RowKey{Ticks: f.at(rowsOfDevice + n), Suffix: suffix}
	f.put(f.Readings, tables.Entity{PartitionKey: string(f.member().Device), RowKey: at.String(), Properties: properties})
}

// TestMissingNumbersAreNamed: by device, day and number, whether they are in row keys or in a property. They are the
// fault of no pipeline, so they are explained.
func TestMissingNumbersAreNamed(t *testing.T) {
	sequence := &verify.Model{Sequence: "meta_n"}
	for name, is := range map[string]struct {
		row   func(f *fixture, n int)
		model *verify.Model
		why   string
	}{
		"in row keys": {func(f *fixture, n int) {
			f.numbered(n, schema.Number{Boot: "aaaaaaaa", N: uint64(n)}.String())
		}, &verify.Model{}, "no row has the numbers 4 to 5 of boot aaaaaaaa, and 1 more are missing"},
		"in an object": {func(f *fixture, n int) {
			f.numbered(n, "", tables.Property{Name: "meta", Value: tables.String(`{"n":` + string(rune('0'+n)) + `}`)})
		}, sequence, "no row has the numbers 4 to 5, and 1 more are missing"},
		"in none": {func(f *fixture, n int) { f.numbered(n, "") }, sequence, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, fold.Sensors{}, plain)
			f.config.Model = func(schema.Member) *verify.Model { return is.model }
			for _, n := range []int{1, 2, 3, 6, 8, 9} {
				is.row(f, n)
			}
			all, sum := f.found()
			var missing []verify.Difference
			for _, d := range all {
				if d.Output == "made" {
					missing = append(missing, d)
				}
			}
			if is.why == "" {
				if len(missing) > 0 || sum.Made != 0 {
					t.Errorf("without numbers, %d are made:\n%s", sum.Made, text(missing))
				}
				return
			}
			if len(missing) != 1 || sum.Made != 9 || sum.Missing != 3 || len(unexplained(all)) > 0 {
				t.Fatalf("of %d made, %d are missing:\n%s", sum.Made, sum.Missing, text(all))
			}
			d := missing[0]
			if d.Reason != verify.Missing || d.Rows != 3 || d.Device != f.member().Device || !strings.Contains(d.Want, is.why) ||
				tables.TicksOf(d.At) != f.at(rowsOfDevice+6) {
				t.Errorf("it says\n%v", d)
			}
		})
	}
}

// TestYoungNumbersMayStillCome: a row with a missing number can be on its way while its settle time lasts.
func TestYoungNumbersMayStillCome(t *testing.T) {
	f := newFixture(t, fold.Sensors{}, plain)
	f.config.Pipelines[0].Settle = f.ahead + 24*time.Hour
	f.numbered(1, schema.Number{Boot: "aaaaaaaa", N: 1}.String())
	f.numbered(2, schema.Number{Boot: "aaaaaaaa", N: 3}.String())
	if all, sum := f.found(); sum.Missing != 1 || !strings.Contains(text(all), " made ") ||
		strings.Contains(text(all), string(verify.Missing)+";") {
		t.Errorf("%d are missing:\n%s", sum.Missing, text(all))
	}
}

// TestNumbersOfOtherTenantsAreNotMissing: those that the device gave its readings while it belonged to another tenant.
func TestNumbersOfOtherTenantsAreNotMissing(t *testing.T) {
	f := newFixture(t, fold.Sensors{}, plain)
	for n := 1; n < 10; n++ {
		f.numbered(n, schema.Number{Boot: "aaaaaaaa", N: uint64(n)}.String())
	}
	m := f.member()
	row := must.Have(f.client().Table(f.Names.Fleet()).Get(t.Context(), m.Month.String(), string(m.Key())))(t)
	m = must.Have(schema.MemberOf(row))(t)
	m.Spans = schema.Spans{{To: f.at(rowsOfDevice + 3)}, {From: f.at(rowsOfDevice + 8)}}
	f.put(f.Names.Fleet(), must.Have(m.Entity())(t))
	if _, sum := f.found(); sum.Made != 4 || sum.Missing != 0 {
		t.Errorf("%d of %d are missing", sum.Missing, sum.Made)
	}
}

// TestDeviceWhoseMoveWasInterruptedIsVerifiedForBothTenants: the record still names the former one.
func TestDeviceWhoseMoveWasInterruptedIsVerifiedForBothTenants(t *testing.T) {
	f := newFixture(t, fold.Sensors{}, plain)
	must.Succeed(t, f.client().Table(f.Names.Devices()).Create(t.Context()))
	f.config.Device = f.member().Device
	record := schema.Device{ID: f.config.Device, Readings: f.Readings, Month: jobstest.Month, Status: schema.Active,
		Tenant: f.member().Tenant}
	f.put(f.Names.Devices(), must.Have(record.Entity())(t))
	r := sas.Registry{Devices: f.client().Table(f.Names.Devices()), Fleet: f.client().Table(f.Names.Fleet())}
	must.Have(r.Move(t.Context(), sas.Move{Device: f.config.Device, To: "other"}))(t)
	f.edit(f.Names.Devices(), string(f.config.Device), schema.DeviceRow, func(e *tables.Entity) {
		e.Set("Tenant", tables.String(string(record.Tenant)))
	})
	for tenant, want := range map[schema.Tenant]int64{"": 2, record.Tenant: 1, "other": 1} {
		f.config.Tenant = tenant
		if _, sum := f.found(); sum.Devices != want {
			t.Errorf("%d memberships are verified for tenant %q, want %d", sum.Devices, tenant, want)
		}
	}
}
