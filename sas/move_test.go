package sas_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// memberships returns those of a device by tenant.
func (y *fixture) memberships(id schema.DeviceID) map[schema.Tenant]schema.Member {
	y.t.Helper()
	all := map[schema.Tenant]schema.Member{}
	for e, err := range y.registry.Fleet.Entities(y.t.Context(), tables.Query{}) {
		must.Succeed(y.t, err)
		if m := must.Have(schema.MemberOf(e))(y.t); m.Device == id {
			all[m.Tenant] = m
		}
	}
	return all
}

// TestMoveIsRefused at a time in the future, before the last move, below what retention has deleted for either tenant,
// and of a device that is not in the fleet. A move to the tenant that has the device already changes nothing, and a
// revoked device moves.
func TestMoveIsRefused(t *testing.T) {
	y := newFixture(t, nil)
	policies, issuer := y.fleetOf("moves")
	must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
	home := must.Have(y.registry.Get(t.Context(), "pump-7"))(t).Tenant
	now := tables.TicksOf(time.Now())
	ago := func(d time.Duration) tables.Ticks { return now.Add(-d) }
	refused := func(mv sas.Move) {
		t.Helper()
		before := y.memberships("pump-7")
		if moved, err := y.registry.Move(t.Context(), mv); err == nil || len(y.memberships("pump-7")) != len(before) {
			t.Errorf("the move to %s at %s: %+v, %v", mv.To, mv.At, moved, err)
		}
	}
	refused(sas.Move{Device: "pump-8", To: "fabrikam"})
	refused(sas.Move{Device: "pump-7", To: "fabrikam", At: now.Add(time.Hour)})
	if m, err := y.registry.Move(t.Context(), sas.Move{Device: "pump-7", To: home}); err != nil || m.From != home {
		t.Errorf("a move to its own tenant: %+v, %v", m, err)
	}
	mv := sas.Move{Device: "pump-7", To: "fabrikam", At: ago(5 * time.Hour)}
	for range 2 { // the second time there is nothing to do
		if m, err := y.registry.Move(t.Context(), mv); err != nil || m.Device.Tenant != "fabrikam" || m.At != mv.At {
			t.Errorf("the move: %+v, %v", m, err)
		}
	}
	refused(sas.Move{Device: "pump-7", To: "contoso", At: ago(5 * time.Hour)})
	refused(sas.Move{Device: "pump-7", To: "fabrikam", At: ago(6 * time.Hour)})
	stored := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
	must.Succeed(t, policies.Revoke(t.Context(), stored, true))
	must.Have(y.registry.Move(t.Context(), sas.Move{Device: "pump-7", To: home, At: ago(3 * time.Hour)}))(t)
	all := y.memberships("pump-7")
	for at, want := range map[tables.Ticks]schema.Tenant{0: home, ago(5*time.Hour) - 1: home,
		ago(5 * time.Hour): "fabrikam", ago(3*time.Hour) - 1: "fabrikam", ago(3 * time.Hour): home, now: home} {
		for tenant, m := range all {
			if m.Has(at) != (tenant == want) {
				t.Errorf("at %s the device belongs to %s: %v, want %s", at, tenant, m.Has(at), want)
			}
		}
	}
	deleted := func(m schema.Member, before tables.Ticks) {
		e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
		e.Set(schema.MemberWatermark, tables.Int64(int64(before)))
		must.Have(y.registry.Fleet.Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
	}
	deleted(all[home], ago(time.Hour))
	refused(sas.Move{Device: "pump-7", To: "fabrikam", At: ago(2 * time.Hour)})
	deleted(all["fabrikam"], ago(10*time.Minute)) // nothing would fold what it has since its return
	refused(sas.Move{Device: "pump-7", To: "fabrikam", At: ago(30 * time.Minute)})
	d := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
	must.Succeed(t, policies.Remove(t.Context(), d))
	refused(sas.Move{Device: "pump-7", To: "fabrikam"})
}

// TestKilledMoveIsCompleted by the next token request, by repeating it or by an import, wherever it was killed: before,
// the device belongs to one tenant at any time.
func TestKilledMoveIsCompleted(t *testing.T) {
	effort.Alone(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for n := 0; ; n++ {
		y := newFixture(t, nil)
		policies, issuer := y.fleetOf("killed")
		must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
		ctx, kill := context.WithCancel(t.Context())
		sent := n%2 == 0
		gate := &faults.Gate{At: n / 2, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			if sent {
				if answer, err := send(); err == nil {
					_ = answer.Body.Close()
				}
			}
			kill()
			return nil, context.Canceled
		}}
		mv := sas.Move{Device: "pump-7", To: "fabrikam", At: tables.TicksOf(time.Now().Add(-time.Hour))}
		account := must.Have(tables.ParseAccount(y.storage.ConnectionString()))(t)
		client := must.Have(tables.Connect(tables.Config{Account: account, Transport: gate}))(t)
		killed := sas.NewRegistry(client, policies.Names)
		_, err := killed.Move(ctx, mv)
		moved := len(y.memberships("pump-7")) == 2
		if random.IntN(2) == 0 {
			must.Have(y.registry.Move(t.Context(), mv))(t)
			moved = true
		}
		if random.IntN(2) == 0 {
			must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
		} else {
			d := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
			must.Have(y.registry.NoteImport(t.Context(), d, schema.Import{From: mv.At - 1, To: mv.At + 1}, false))(t)
			for tenant, m := range y.memberships("pump-7") {
				if len(m.Imports) != 1 {
					t.Errorf("killed at operation %d: the import is not noted for %s", n, tenant)
				}
			}
		}
		d, all := must.Have(y.registry.Get(t.Context(), "pump-7"))(t), y.memberships("pump-7")
		if (d.Tenant == "fabrikam") != moved || moved && (len(all) != 2 || !all["fabrikam"].Has(mv.At) ||
			all[d.Former[0]].Has(mv.At) || !all[d.Former[0]].Has(mv.At-1)) {
			t.Fatalf("killed at operation %d: it is %+v with %+v", n, d, all)
		}
		kill()
		if err == nil {
			return
		}
	}
}

// TestImportsAreRefusedWhereRowsMayBeGoneAlone: retention of a tenant goes on with what it had of a device that has
// moved, and says nothing of the readings that are another's.
func TestImportsAreRefusedWhereRowsMayBeGoneAlone(t *testing.T) {
	y := newFixture(t, nil)
	_, issuer := y.fleetOf("past")
	must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
	home := must.Have(y.registry.Get(t.Context(), "pump-7"))(t).Tenant
	now := tables.TicksOf(time.Now())
	ago := func(days int) tables.Ticks { return now.Add(-time.Duration(days) * 24 * time.Hour) }
	for i, to := range []schema.Tenant{"fabrikam", home, "fabrikam"} {
		at := ago([]int{50, 40, 20}[i])
		must.Have(y.registry.Move(t.Context(), sas.Move{Device: "pump-7", To: to, At: at}))(t)
	}
	m := y.memberships("pump-7")[home]
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	e.Set(schema.MemberWatermark, tables.Int64(int64(ago(10))))
	must.Have(y.registry.Fleet.Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
	device := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
	for _, c := range []struct {
		from, to int // days ago
		refused  bool
	}{{15, 11, false}, {20, 0, false}, {49, 41, false}, {55, 51, true}, {45, 35, true}, {30, 0, true}} {
		note, err := y.registry.NoteImport(t.Context(), device, schema.Import{From: ago(c.from), To: ago(c.to)}, false)
		if (err != nil) != c.refused {
			t.Errorf("from %d to %d days ago: %v", c.from, c.to, err)
		}
		if err == nil {
			must.Have(y.registry.NoteImport(t.Context(), device, note, true))(t)
		}
	}
}

// TestPlacementsSurviveMovesAndRemoval: where a device was, and when it belonged to whom, is known after it has moved,
// was removed, and has registered again.
func TestPlacementsSurviveMovesAndRemoval(t *testing.T) {
	effort.Alone(t)
	y := newFixture(t, nil)
	policies, issuer := y.fleetOf("places")
	must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
	home := must.Have(y.registry.Get(t.Context(), "pump-7"))(t).Tenant
	place := func(site schema.Site) {
		t.Helper()
		must.Have(y.registry.Change(t.Context(), "pump-7", func(d *schema.Device) error {
			d.Site = site
			return nil
		}))(t)
	}
	place("hall-1")
	time.Sleep(1100 * time.Millisecond) // storage's time has whole seconds
	place("hall-2")
	was := y.memberships("pump-7")[home].Placements
	at := tables.TicksOf(time.Now().Add(-time.Minute))
	must.Have(y.registry.Move(t.Context(), sas.Move{Device: "pump-7", To: "fabrikam", At: at}))(t)
	for range 2 {
		d := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
		must.Succeed(t, policies.Remove(t.Context(), d))
		if all := y.memberships("pump-7"); len(all) > 0 {
			t.Errorf("a removed device has %+v", all)
		}
		must.Succeed(t, y.registry.Left(t.Context(), "pump-7", schema.Removed))
		gone := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
		if m := gone.Member(); m.Has(at-1) || !m.Has(at) {
			t.Errorf("the record of the removed device shows the tenant %+v", m)
		}
		must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
	}
	all := y.memberships("pump-7")
	now := all["fabrikam"]
	if len(all) != 2 || !now.Has(at) || now.Has(at-1) || all[home].Has(at) || !all[home].Has(at-1) {
		t.Errorf("it has %+v", all)
	}
	if len(was) == 0 || now.PlacementAt(was[0].To-1).Site != was[0].Site || now.PlacementAt(at).Site != was[0].Site {
		t.Errorf("the placements %+v are %+v", was, now.Placements)
	}
	if _, err := y.registry.Get(t.Context(), "pump-9"); !errors.Is(err, tables.ErrNotFound) {
		t.Error(err)
	}
}
