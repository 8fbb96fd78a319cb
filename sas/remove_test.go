package sas_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// fleetOf returns the policies of the fixture's fleet, with the tables that they need.
func (y *fixture) fleetOf(prefix string) (*sas.Policies, *sas.Issuer) {
	y.t.Helper()
	names := must.Have(schema.ParseNames(azuretest.Name(prefix)[:16]))(y.t) // an account may have others
	for _, table := range []string{names.Devices(), names.Fleet(), names.Policies(), names.Readings()} {
		y.storage.MakeTable(y.t, table)
	}
	y.registry, y.enrollment.Readings = sas.NewRegistry(y.client, names), names.Readings()
	policies := &sas.Policies{Client: y.client, Names: names}
	config := y.issuer.IssuerConfig
	config.Registry, config.Policies = y.registry, policies
	issuer := must.Have(sas.NewIssuer(config))(y.t)
	return policies, issuer
}

func TestRemovedDeviceRegistersAgainAsNew(t *testing.T) {
	y := newFixture(t, nil)
	policies, issuer := y.fleetOf("again")
	y.enrollment.MaxDevices = 1
	first := must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
	if _, err := issuer.Issue(t.Context(), "pump-8", y.enrollment); !errors.Is(err, sas.ErrFull) {
		t.Errorf("a second device: %v", err)
	}
	for _, to := range []schema.Status{schema.Removed, schema.Erased} {
		before := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
		must.Succeed(t, policies.Remove(t.Context(), before))
		must.Succeed(t, policies.Remove(t.Context(), before)) // again
		if status := insert(t, first, "pump-7", first.LatestRowKey.String()); status != 403 {
			t.Errorf("its token still works: %d", status)
		}
		if _, err := issuer.Issue(t.Context(), "pump-7", y.enrollment); !errors.Is(err, sas.ErrRevoked) {
			t.Errorf("a device that is being removed: %v", err)
		}
		if _, err := y.registry.Fleet.Get(t.Context(), before.Month.String(), string(before.Member().Key())); !errors.Is(err,
			tables.ErrNotFound) {
			t.Errorf("its fleet row: %v", err)
		}
		y.mustHavePlaces("removed", 0)
		must.Succeed(t, y.registry.Left(t.Context(), "pump-7", to))
		first = must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
		after := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
		if after.Status != schema.Active || len(after.Tokens) != 1 || after.Change < before.Change {
			t.Errorf("after %s it is %+v", to, after)
		}
		y.member("pump-7")
		y.mustHavePlaces("registered again", 1)
	}
}

// TestRemovedDeviceRegistersInAnotherEnrollmentAtOnce, also at an issuer that knows its former record.
func TestRemovedDeviceRegistersInAnotherEnrollmentAtOnce(t *testing.T) {
	y := newFixture(t, nil)
	policies, issuer := y.fleetOf("other")
	must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
	must.Succeed(t, policies.Remove(t.Context(), must.Have(y.registry.Get(t.Context(), "pump-7"))(t)))
	must.Succeed(t, y.registry.Left(t.Context(), "pump-7", schema.Erased))
	y.enrollment.ID = "plant2"
	must.Have(y.registry.Register(t.Context(), sas.FirstContact("pump-7", y.enrollment, time.Now())))(t)
	if _, err := issuer.Issue(t.Context(), "pump-7", y.enrollment); err != nil {
		t.Errorf("with its new key it gets %v", err)
	}
}

// TestADeviceThatComesBackKeepsItsWatermarks, which retention has raised after its removal had read them: pipelines
// would make days again whose rows are gone.
func TestADeviceThatComesBackKeepsItsWatermarks(t *testing.T) {
	for _, moved := range []bool{false, true} {
		y := newFixture(t, nil)
		policies, issuer := y.fleetOf("raised")
		must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
		if moved {
			must.Have(y.registry.Move(t.Context(), sas.Move{Device: "pump-7", To: "northwind"}))(t)
		}
		raise := func(to tables.Ticks) {
			for _, m := range y.memberships("pump-7") {
				e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
				e.Set(schema.MemberWatermark, tables.Int64(int64(to)))
				must.Have(y.registry.Fleet.Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
			}
		}
		today := tables.TicksOf(time.Now()).Floor(tables.Day)
		raise(today - 10*tables.Day)
		raised := false
		client := y.connect(transport(func(r *http.Request) (*http.Response, error) {
			if !raised && deletesFrom(t, r, y.registry.Fleet.Name) {
				raised = true
				raise(today - 9*tables.Day)
			}
			return http.DefaultClient.Do(r)
		}))
		before := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
		must.Succeed(t, (&sas.Policies{Client: client, Names: policies.Names}).Remove(t.Context(), before))
		if left := y.memberships("pump-7"); !raised || len(left) > 0 {
			t.Errorf("memberships are left: %v", left)
		}
		must.Succeed(t, y.registry.Left(t.Context(), "pump-7", schema.Removed))
		must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
		for tenant, m := range y.memberships("pump-7") {
			if m.Watermark != today-9*tables.Day {
				t.Errorf("moved %v: it comes back to %s with watermark %v, want %v", moved, tenant, m.Watermark.Time(),
					(today - 9*tables.Day).Time())
			}
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) Do(r *http.Request) (*http.Response, error) { return t(r) }

// deletesFrom reports whether a request deletes rows of a table, alone or in a transaction.
func deletesFrom(t *testing.T, r *http.Request, table string) bool {
	t.Helper()
	if r.Method == http.MethodDelete || r.Body == nil {
		return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, table)
	}
	body := must.Have(io.ReadAll(r.Body))(t)
	r.Body = io.NopCloser(bytes.NewReader(body))
	text := string(body)
	return strings.Contains(text, "DELETE ") && strings.Contains(text, table)
}

// Data that is kept is in the place of its tenant, and would be folded again for another.
func TestRemovedDeviceCannotTakeItsDataElsewhere(t *testing.T) {
	y := newFixture(t, nil)
	policies, issuer := y.fleetOf("elsewhere")
	must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
	d := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
	must.Succeed(t, policies.Remove(t.Context(), d))
	must.Succeed(t, y.registry.Left(t.Context(), "pump-7", schema.Removed))
	other := y.enrollment
	other.Tenant = "fabrikam"
	if _, err := issuer.Issue(t.Context(), "pump-7", other); !errors.Is(err, sas.ErrElsewhere) {
		t.Errorf("as a device of another tenant: %v", err)
	}
	delivery := sas.Delivery{Device: "pump-7", Tenant: "fabrikam"} // a file goes on with its next line
	_, _, imported := y.registry.Import(t.Context(), y.enrollment, delivery)
	_, would := y.registry.WouldImport(t.Context(), y.enrollment, delivery)
	for _, err := range []error{imported, would} {
		if _, refused := errors.AsType[*sas.RefusedError](err); !refused {
			t.Errorf("imported for another tenant: %v", err)
		}
	}
	d.Status = schema.Removed
	must.Succeed(t, policies.Remove(t.Context(), d))
	must.Succeed(t, y.registry.Left(t.Context(), "pump-7", schema.Erased))
	must.Have(issuer.Issue(t.Context(), "pump-7", other))(t)
	if d, err := y.registry.Get(t.Context(), "pump-7"); err != nil || d.Tenant != "fabrikam" {
		t.Errorf("it is %+v, %v", d, err)
	}
}
