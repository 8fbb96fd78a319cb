package sas_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func (y *fixture) member(device schema.DeviceID) schema.Member {
	y.t.Helper()
	d := must.Have(y.registry.Get(y.t.Context(), device))(y.t)
	row := must.Have(y.registry.Fleet.Get(y.t.Context(), d.Month.String(), string(d.Member().Key())))(y.t)
	m := must.Have(schema.MemberOf(row))(y.t)
	if !m.Agrees(d.Member()) {
		y.t.Errorf("the fleet row is %+v, and the record %+v", m, d)
	}
	return m
}

func TestChangeOfADeviceReachesItsFleetRow(t *testing.T) {
	y := newFixture(t, nil)
	y.mustIssue("pump-7")
	before := y.member("pump-7")
	d, err := y.registry.Change(t.Context(), "pump-7", func(d *schema.Device) error {
		d.Site, d.Position, d.Labels = "Hall & Co", &schema.Position{Lat: 48, Lon: 11}, map[string]string{"model": "p7"}
		return nil
	})
	if err != nil || len(d.Tokens) != 1 || d.Position == nil {
		t.Fatalf("the record is %+v, %v", d, err)
	}
	m := y.member("pump-7")
	if m.Site != "Hall & Co" || m.Labels["model"] != "p7" || before.Site != "hall" {
		t.Errorf("the fleet row was %+v and is %+v", before, m)
	}
	now := tables.TicksOf(time.Now())
	if was := m.PlacementAt(now.Add(-time.Hour)); was.Site != "hall" || m.PlacementAt(now.Add(time.Hour)).Site != m.Site {
		t.Errorf("an hour ago it was at %+v", was)
	}
	_, err = y.registry.Change(t.Context(), "pump-7", func(d *schema.Device) error {
		d.Labels["model"] = "a\tb"
		return nil
	})
	if m := y.member("pump-7"); err == nil || m.Labels["model"] != "p7" {
		t.Errorf("an invalid label: %v, %+v", err, m)
	}
	if _, err := y.registry.Change(t.Context(), "nobody", nil); !errors.Is(err, tables.ErrNotFound) {
		t.Errorf("an unknown device: %v", err)
	}
}

// The process dies after each of its requests. A token request, a repeat, or an import then
// updates the fleet row.
func TestInterruptedChangeIsCompleted(t *testing.T) {
	for name, repair := range map[string]func(y *fixture, change func(*schema.Device) error) error{
		"by a token request": func(y *fixture, _ func(*schema.Device) error) error {
			_, err := y.issuer.Issue(y.t.Context(), "pump-7", y.enrollment)
			return err
		},
		"by a repeat": func(y *fixture, change func(*schema.Device) error) error {
			_, err := y.registry.Change(y.t.Context(), "pump-7", change)
			return err
		},
		"by an import": func(y *fixture, _ func(*schema.Device) error) error {
			_, _, err := y.registry.Import(y.t.Context(), y.enrollment, sas.Delivery{Device: "pump-7"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n := range 6 {
				y := newFixture(t, nil)
				must.Have(y.registry.Register(t.Context(), sas.FirstContact("pump-7", y.enrollment, time.Now())))(t)
				ctx, kill := context.WithCancel(t.Context())
				broken := &faults.Transport{Plan: faults.Script{n: faults.Cut}}
				dying := y.registryOf(y.connect(killer{broken, kill}))
				change := func(d *schema.Device) error { d.Site = "moved"; return nil }
				_, err := dying.Change(ctx, "pump-7", change)
				if kill(); err != nil && len(broken.Injected()) == 0 {
					t.Fatal(err)
				}
				must.Succeed(t, repair(y, change))
				y.member("pump-7") // agrees with the record
			}
		})
	}
}

func TestConcurrentChangesLoseNothing(t *testing.T) {
	y := newFixture(t, nil)
	y.mustIssue("pump-7")
	want := map[string]string{}
	var all sync.WaitGroup
	for i := range 5 {
		name := fmt.Sprint("label", i)
		want[name] = "x"
		all.Go(func() {
			_, err := y.registry.Change(t.Context(), "pump-7", func(d *schema.Device) error {
				if d.Labels == nil {
					d.Labels = map[string]string{}
				}
				d.Labels[name] = "x"
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if m := y.member("pump-7"); !maps.Equal(m.Labels, want) {
		t.Errorf("the labels are %v", m.Labels)
	}
}
