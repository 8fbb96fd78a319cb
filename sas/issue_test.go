package sas_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestOnlyTheFirstTokenOfADeviceIsToldToOthers(t *testing.T) {
	y := newFixture(t, nil)
	first := 0
	y.issuer.OnFirst = func() { first++ }
	for range 7 { // more than a record keeps
		y.mustIssue("pump-7")
	}
	y.mustIssue("pump-8")
	if first != 2 {
		t.Errorf("two devices got %d first tokens", first)
	}
}

func TestRegisteredDeviceKeepsItsEnrollmentUnderANewPrefix(t *testing.T) {
	y := newFixture(t, nil)
	y.mustIssue("pump-7")
	y.enrollment.Prefix = "contoso:"
	y.mustIssue("pump-7")
	if _, err := y.issuer.Issue(t.Context(), "pump-8", y.enrollment); !errors.Is(err, sas.ErrPrefix) {
		t.Errorf("pump-8: %v", err)
	}
	if _, err := y.registry.Get(t.Context(), "pump-8"); !errors.Is(err, tables.ErrNotFound) {
		t.Errorf("a refused device is registered: %v", err)
	}
	y.mustIssue("contoso:pump-8")
	_, _, err := y.registry.Import(t.Context(), y.enrollment, sas.Delivery{Device: "pump-9"})
	if _, refused := errors.AsType[*sas.RefusedError](err); !refused {
		t.Errorf("an import of pump-9: %v", err)
	}
}

func TestTokenAdmitsWhatTheAnswerSays(t *testing.T) {
	y := newFixture(t, nil)
	before := time.Now()
	a := y.mustIssue("pump-7")
	if a.PartitionKey != "pump-7" || a.Device != "pump-7" || a.RowKeyFormat != sas.RowKeyFormat || a.SendEvery != 30 ||
		a.Batch != sas.DefaultBatch {
		t.Errorf("the answer is %+v", a)
	}
	if off := a.ServerTime.Sub(before); off < 0 || off > time.Minute {
		t.Errorf("the server's time is off by %v", off)
	}
	if life := a.Expires.Sub(before).Round(time.Minute); life != time.Hour || !a.RenewAfter.After(before) ||
		!a.RenewAfter.Before(a.Expires) {
		t.Errorf("it lives for %v, to be renewed after %v", life, a.RenewAfter)
	}
	now := tables.TicksOf(before)
	for row, want := range map[string]int{now.String(): 204, now.String() + "-1": 204, a.EarliestRowKey.String(): 204,
		a.LatestRowKey.String(): 204} {
		if got := insert(t, a, "pump-7", row); got != want {
			t.Errorf("row %s: %d, want %d", row, got, want)
		}
	}
	if y.storage.Kind == azuretest.Azurite {
		return // it checks the signature over the ranges, and does not enforce them
	}
	for name, at := range map[string][2]string{
		"another partition":         {"pump-8", now.String()},
		"a longer partition":        {"pump-70", now.String()},
		"a prefix of the partition": {"pump-", now.String()},
		"no partition":              {"", now.String()},
		"a row before the window":   {"pump-7", (a.EarliestRowKey - 1).String()},
		"a row after the window":    {"pump-7", (a.LatestRowKey + 1).String()},
		"a row without ticks":       {"pump-7", "zzz"},
	} {
		if got := insert(t, a, at[0], at[1]); got != http.StatusForbidden {
			t.Errorf("%s: %d, want 403", name, got)
		}
	}
}

// TestNoTokenAdmitsRowsBelowTheWatermark of retention, where nobody would fold them: the allowance of the enrollment
// has grown since.
func TestNoTokenAdmitsRowsBelowTheWatermark(t *testing.T) {
	y := newFixture(t, nil)
	y.mustIssue("pump-7")
	y.mustIssue("pump-8")
	member := must.Have(y.registry.Get(t.Context(), "pump-7"))(t).Member()
	watermark := tables.TicksOf(time.Now().Add(-12 * 24 * time.Hour))
	row := tables.Entity{PartitionKey: member.Month.String(), RowKey: string(member.Key())}
	row.Set(schema.MemberWatermark, tables.Int64(int64(watermark)))
	must.Have(y.registry.Fleet.Do(t.Context(), tables.Merge(row, tables.AnyETag)))(t)
	for _, backfill := range []time.Duration{24 * time.Hour, 20 * 24 * time.Hour} {
		y.enrollment.Backfill = backfill
		for device, bound := range map[schema.DeviceID]tables.Ticks{"pump-7": watermark, "pump-8": 0} {
			want := max(bound, tables.TicksOf(time.Now().Add(-backfill)))
			got := y.mustIssue(device).EarliestRowKey
			if off := time.Duration(got-want) * 100; off.Abs() > time.Minute {
				t.Errorf("%s of an allowance of %v: the earliest row key is %v, want %v", device, backfill, got.Time(), want.Time())
			}
			row := must.Have(y.registry.Fleet.Get(t.Context(), member.Month.String(), "contoso!"+string(device)))(t)
			m := must.Have(schema.MemberOf(row))(t)
			if known := m.Admits >= backfill; known != (backfill > 9*24*time.Hour) {
				t.Errorf("%s of an allowance of %v: retention knows of %v", device, backfill, m.Admits)
			}
		}
	}
}

func TestExpiredTokenAdmitsNothing(t *testing.T) {
	y := newFixture(t, nil)
	y.enrollment.Life = -time.Second
	a := y.mustIssue("pump-7")
	want := http.StatusForbidden
	if y.storage.Kind == azuretest.Azurite {
		want = http.StatusNoContent // there a token with a policy lives as long as the policy
	}
	if got := insert(t, a, "pump-7", tables.TicksOf(time.Now()).String()); got != want {
		t.Errorf("a token that expired a second ago: status %d", got)
	}
}

func TestDeviceIsKnownBeforeItHasAToken(t *testing.T) {
	y := newFixture(t, nil)
	a := y.mustIssue("pump-7")
	d := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
	if d.Tenant != "contoso" || d.Site != "hall" || d.Enrollment != "plant1" || d.Status != schema.Active ||
		d.Readings != y.enrollment.Readings {
		t.Errorf("the record is %+v", d)
	}
	if len(d.Tokens) != 1 || d.Tokens[0].Policy != "summer" || d.Tokens[0].From != a.EarliestRowKey ||
		d.Tokens[0].To != a.LatestRowKey || d.Tokens[0].Fingerprint != sas.Fingerprint(a.SAS) {
		t.Errorf("its tokens are %+v", d.Tokens)
	}
	e := must.Have(y.registry.Fleet.Get(t.Context(), d.Month.String(), string(d.Member().Key())))(t)
	if m, err := schema.MemberOf(e); err != nil || m.Tenant != "contoso" || m.Readings != y.enrollment.Readings {
		t.Errorf("the fleet has %+v, %v", m, err)
	}
	for range 9 {
		y.mustIssue("pump-7")
	}
	if d, err := y.registry.Get(t.Context(), "pump-7"); err != nil || len(d.Tokens) != 5 {
		t.Errorf("%d tokens are kept: %v", len(d.Tokens), err)
	}
}

func TestIneligibleDeviceGetsNoToken(t *testing.T) {
	y := newFixture(t, nil)
	y.mustIssue("revoked")
	y.update("revoked", func(d *schema.Device) { d.Status = schema.Revoked })
	y.mustIssue("other")
	y.update("other", func(d *schema.Device) { d.Enrollment = "plant2" })
	importOnly := y.enrollment
	importOnly.ImportOnly = true
	for _, c := range []struct {
		device schema.DeviceID
		e      schema.Enrollment
		want   error
	}{
		{"revoked", y.enrollment, sas.ErrRevoked},
		{"other", y.enrollment, sas.ErrOtherEnrollment},
		{"unknown", importOnly, sas.ErrNotRegistered},
	} {
		if _, err := y.issuer.Issue(t.Context(), c.device, c.e); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.device, err, c.want)
		}
	}
	if _, err := y.registry.Get(t.Context(), "unknown"); !errors.Is(err, tables.ErrNotFound) {
		t.Errorf("a refused device is registered: %v", err)
	}
	y.wait = 20 * time.Second
	_, err := y.issuer.Issue(t.Context(), "pump-7", y.enrollment)
	if wait, ok := errors.AsType[*sas.NotReadyError](err); !ok || wait.After != 20*time.Second {
		t.Errorf("a policy that is not in force yet: %v", err)
	}
}

func TestProofMustNameTheDeviceAndItsEnrollment(t *testing.T) {
	y := newFixture(t, nil)
	in := time.Now().Add(time.Hour)
	own := y.primary.Of("pump-7")
	for name, c := range map[string]struct {
		header string
		want   error
	}{
		"its own proof":            {own.Prove("plant1/registrations/pump-7", in), nil},
		"another device's":         {y.primary.Of("pump-8").Prove("plant1/registrations/pump-8", in), sas.ErrProofResource},
		"another device's key":     {y.primary.Of("pump-8").Prove("plant1/registrations/pump-7", in), sas.ErrProofWrong},
		"the enrollment's key":     {y.primary.Prove("plant1/registrations/pump-7", in), sas.ErrProofWrong},
		"an unknown enrollment":    {own.Prove("plant2/registrations/pump-7", in), sas.ErrNoEnrollment},
		"a resource in between":    {own.Prove("plant1/registrations/x/registrations/pump-7", in), sas.ErrNoEnrollment},
		"another resource":         {own.Prove("plant1/pump-7", in), sas.ErrProofResource},
		"an expired proof":         {own.Prove("plant1/registrations/pump-7", in.Add(-2*time.Hour)), sas.ErrProofExpired},
		"no SharedAccessSignature": {"Bearer x", sas.ErrProof},
	} {
		e, err := y.issuer.Authenticate(t.Context(), "pump-7", c.header)
		if !errors.Is(err, c.want) || (err == nil) != (e.ID == "plant1") {
			t.Errorf("%s: %v, %v; want %v", name, e.ID, err, c.want)
		}
	}
	y.enrollment.Disabled = true
	proof := own.Prove("plant1/registrations/pump-7", in)
	if e, err := y.issuer.Authenticate(t.Context(), "pump-7", proof); !errors.Is(err, sas.ErrDisabled) || e.ID == "" {
		t.Errorf("a disabled enrollment: %v", err)
	}
}

// The issuer dies at each request of a device's first contact, with each fault of storage.
func TestInterruptedIssuanceIsCompletedByTheNextBoot(t *testing.T) {
	y := newFixture(t, nil)
	for _, fault := range []faults.Fault{faults.AnswerLost, faults.Twice, faults.TimedOutDone, faults.ServerBusy,
		faults.Cut} {
		for n := range 6 {
			device := schema.DeviceID(fmt.Sprintf("%s-%d", strings.ReplaceAll(string(fault), " ", "-"), n))
			ctx, kill := context.WithCancel(t.Context())
			broken := &faults.Transport{Plan: faults.Script{n: fault}}
			client := y.connect(killer{broken, kill})
			config := y.issuer.IssuerConfig
			config.Registry = y.registryOf(client)
			first := must.Have(sas.NewIssuer(config))(t)
			_, err := first.Issue(ctx, device, y.enrollment)
			if kill(); err != nil && len(broken.Injected()) == 0 {
				t.Errorf("%s: %v, and nothing has failed", device, err)
			}
			a := y.mustIssue(device)
			if got := insert(t, a, string(device), tables.TicksOf(time.Now()).String()); got != 204 {
				t.Errorf("%s: its row gets status %d", device, got)
			}
			d := must.Have(y.registry.Get(t.Context(), device))(t)
			if _, err := y.registry.Fleet.Get(t.Context(), d.Month.String(), string(d.Member().Key())); err != nil {
				t.Errorf("%s: %v", device, err)
			}
		}
	}
}

func TestTwoIssuersOfOneDeviceBothSucceed(t *testing.T) {
	y := newFixture(t, nil)
	other := must.Have(sas.NewIssuer(y.issuer.IssuerConfig))(t)
	var issuing sync.WaitGroup
	for _, i := range []*sas.Issuer{y.issuer, other, y.issuer, other} {
		issuing.Go(func() {
			for range 3 {
				if _, err := i.Issue(t.Context(), "pump-7", y.enrollment); err != nil {
					t.Error(err)
				}
			}
		})
	}
	issuing.Wait()
}

// This makes thousands of renewals per second possible.
func TestRenewalCostsOneWrite(t *testing.T) {
	var requests recorder
	y := newFixture(t, &requests)
	y.mustIssue("pump-7")
	y.mustIssue("pump-7") // it is noted until when the device may write
	requests = nil
	y.mustIssue("pump-7")
	if !slices.Equal(requests, []string{"PUT"}) {
		t.Errorf("a renewal costs %v", requests)
	}
}

// TestProofOfAnotherEnrollmentCostsNoRenewalMore: whoever has the key of another enrollment asks for the device.
func TestProofOfAnotherEnrollmentCostsNoRenewalMore(t *testing.T) {
	var requests recorder
	y := newFixture(t, &requests)
	y.mustIssue("pump-7")
	y.mustIssue("pump-7") // it is noted until when the device may write
	other := y.enrollment
	other.ID = "plant2"
	if _, err := y.issuer.Issue(t.Context(), "pump-7", other); !errors.Is(err, sas.ErrOtherEnrollment) {
		t.Errorf("another enrollment: %v", err)
	}
	requests = nil
	y.mustIssue("pump-7")
	if !slices.Equal(requests, []string{"PUT"}) {
		t.Errorf("a renewal costs %v", requests)
	}
}

// Thousands of devices may boot at once. The record is inserted with the first token, not replaced.
func TestFirstTokenCostsOneReadAndThreeInserts(t *testing.T) {
	var requests recorder
	y := newFixture(t, &requests)
	y.mustIssue("pump-7") // creates the table of places
	requests = nil
	y.mustIssue("pump-8")
	if !slices.Equal(requests, []string{"GET", "POST", "POST", "POST"}) {
		t.Errorf("a first token costs %v", requests)
	}
}

// Another process registers and revokes the device before any of the requests of its first contact.
func TestDeviceRevokedDuringItsFirstContactGetsNoToken(t *testing.T) {
	for at := range 3 { // the last is the insertion of the record
		y := newFixture(t, nil)
		must.Succeed(t, y.client.Table(y.registry.Places.Name).Create(t.Context()))
		other := y.registry
		n := 0
		y.registry = y.registryOf(y.connect(before(func() {
			if n++; n == at+1 {
				d := sas.FirstContact("pump-7", y.enrollment, time.Now())
				must.Have(other.Register(t.Context(), d))(t)
				must.Have(other.Update(t.Context(), d.ID, func(d *schema.Device) error {
					d.Status = schema.Revoked
					return nil
				}))(t)
			}
		})))
		config := y.issuer.IssuerConfig
		config.Registry = y.registry
		i := must.Have(sas.NewIssuer(config))(t)
		if _, err := i.Issue(t.Context(), "pump-7", y.enrollment); !errors.Is(err, sas.ErrRevoked) {
			t.Errorf("revoked before request %d: %v", at+1, err)
		}
		if d := must.Have(other.Get(t.Context(), "pump-7"))(t); len(d.Tokens) > 0 || d.Status != schema.Revoked {
			t.Errorf("revoked before request %d: the record is %+v", at+1, d)
		}
	}
}

func TestIssuerRefusesInsecureURLs(t *testing.T) {
	config := sas.IssuerConfig{Account: tables.Account{Name: "a", Key: "AAAA", Table: "https://a.table.core.windows.net"}}
	for _, url := range []string{"", "https://tables.example", "http://127.0.0.1:10002/a", "http://[::1]:10002/a",
		"http://localhost:1/a"} {
		config.URL = url
		if _, err := sas.NewIssuer(config); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, url := range []string{"http://10.0.0.7:10002/a", "http://tables.example", "ftp://127.0.0.1/"} {
		config.URL = url
		if _, err := sas.NewIssuer(config); !errors.Is(err, sas.ErrInsecureURL) {
			t.Errorf("%q: %v", url, err)
		}
	}
	config.URL, config.Account.Key = "", ""
	if _, err := sas.NewIssuer(config); err == nil || !strings.Contains(err.Error(), "key") {
		t.Errorf("without a key: %v", err)
	}
}

func TestTokenForPlainHTTPIsRestrictedToLoopback(t *testing.T) {
	y := newFixture(t, nil)
	a := y.mustIssue("pump-7")
	if strings.HasPrefix(a.URL, "http://127.0.0.1") && !strings.Contains(a.SAS, "sip=127.0.0.1") {
		t.Errorf("the token for %s does not restrict the client's address", a.URL)
	}
	config := y.issuer.IssuerConfig
	config.URL = "https://tables.example/"
	i := must.Have(sas.NewIssuer(config))(t)
	a, err := i.Issue(t.Context(), "pump-7", y.enrollment)
	if err != nil || a.URL != "https://tables.example/"+y.enrollment.Readings || !strings.Contains(a.SAS, "spr=https&") ||
		strings.Contains(a.SAS, "sip=") {
		t.Errorf("%s, %v", a.URL, err)
	}
}

// TestChangedEnrollmentAdmitsDevicesAtOnce has an issuer that knows enrollments of before a change.
func TestChangedEnrollmentAdmitsDevicesAtOnce(t *testing.T) {
	for what, c := range map[string]struct {
		before func(*fixture)
		err    error
	}{
		"is new":           {func(y *fixture) { y.enrollment.ID = "other" }, sas.ErrNoEnrollment},
		"has another key":  {func(y *fixture) { y.primary = sas.NewKey() }, sas.ErrProofWrong},
		"is enabled again": {func(y *fixture) { y.enrollment.Disabled = true }, sas.ErrDisabled},
	} {
		y := newFixture(t, nil)
		e, key := y.enrollment, y.primary
		proof := key.Of("pump-7").Prove(string(e.ID)+"/registrations/pump-7", time.Now().Add(time.Hour))
		c.before(y)
		if _, err := y.issuer.Authenticate(t.Context(), "pump-7", proof); !errors.Is(err, c.err) {
			t.Errorf("before an enrollment %s: %v, want %v", what, err, c.err)
		}
		y.renew = func() bool { y.enrollment, y.primary = e, key; return true }
		if _, err := y.issuer.Authenticate(t.Context(), "pump-7", proof); err != nil {
			t.Errorf("an enrollment %s, and its device is refused: %v", what, err)
		}
	}
}
