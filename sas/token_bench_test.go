package sas_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

// A prompt has storage that answers every write at once, so that what is
// measured is the work of the endpoint's process.
type prompt struct {
	enrollment schema.Enrollment
	key        sas.Key
}

func (p prompt) Find(context.Context, schema.EnrollmentID) (schema.Enrollment, error) {
	return p.enrollment, nil
}

func (p prompt) Keys(schema.Enrollment) ([]sas.Key, error) { return []sas.Key{p.key}, nil }

func (p prompt) Current(context.Context, string, schema.DeviceID) (string, time.Duration, error) {
	return "2XRGBM5UB6VBDSAVRJGWKXYSFU", 0, nil
}

func (p prompt) Do(r *http.Request) (*http.Response, error) {
	status := http.StatusNoContent
	if r.Method == http.MethodGet {
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Etag": {`W/"1"`},
		"X-Ms-Error-Code": {"ResourceNotFound"}}, Body: http.NoBody, Request: r}, nil
}

func newPrompt(b *testing.B) (prompt, *sas.Issuer) {
	b.Helper()
	p := prompt{key: sas.NewKey(), enrollment: schema.Enrollment{ID: "plant1", Tenant: "contoso", Readings: "readings",
		Life: time.Hour, Backfill: 24 * time.Hour}}
	account := tables.Account{Name: "acct", Key: sas.NewKey().Base64(), Table: "https://acct.table.core.windows.net"}
	client, err := tables.Connect(tables.Config{Account: account, Transport: p})
	if err != nil {
		b.Fatal(err)
	}
	issuer, err := sas.NewIssuer(sas.IssuerConfig{Account: account, Enrollments: p, Policies: p,
		Registry: sas.NewRegistry(client, schema.Names{})})
	if err != nil {
		b.Fatal(err)
	}
	return p, issuer
}

// BenchmarkToken is what an endpoint does for a token, from the proof to the record.
func BenchmarkToken(b *testing.B) {
	p, issuer := newPrompt(b)
	issue := func(b *testing.B, device schema.DeviceID) {
		if _, err := issuer.Issue(b.Context(), device, p.enrollment); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("authenticate", func(b *testing.B) {
		b.ReportAllocs()
		proof := p.key.Of("contoso:pump-7").Prove("plant1/registrations/contoso:pump-7", time.Now().Add(time.Hour))
		for b.Loop() {
			if _, err := issuer.Authenticate(b.Context(), "contoso:pump-7", proof); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sign", func(b *testing.B) {
		b.ReportAllocs()
		g := sas.Grant{Table: "readings", Permissions: "a", Expiry: time.Now().Add(time.Hour),
			Policy:         "2XRGBM5UB6VBDSAVRJGWKXYSFU",
			StartPartition: "contoso:pump-7", StartRow: "0639300000000000000", EndPartition: "contoso:pump-7",
			EndRow: "0639400000000000000"}
		for b.Loop() {
			if _, err := g.Sign("acct", p.key); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("renew", func(b *testing.B) {
		b.ReportAllocs()
		issue(b, "contoso:pump-7") // which is known then
		for b.Loop() {
			issue(b, "contoso:pump-7")
		}
	})
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			issue(b, schema.DeviceID(fmt.Sprintf("contoso:new-%09d", n)))
		}
	})
}
