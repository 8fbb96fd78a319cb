package sas_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// An instantStorage answers every write at once, so that only the work of the endpoint's process
// is measured.
type instantStorage struct{}

func (instantStorage) Do(r *http.Request) (*http.Response, error) {
	status := http.StatusNoContent
	if r.Method == http.MethodGet {
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Etag": {`W/"1"`},
		"X-Ms-Error-Code": {"ResourceNotFound"}}, Body: http.NoBody, Request: r}, nil
}

// BenchmarkToken measures an endpoint's work for a token, from the proof to the record.
func BenchmarkToken(b *testing.B) {
	account := tables.Account{Name: "acct", Key: sas.NewKey().Base64(), Table: "https://acct.table.core.windows.net"}
	client := must.Have(tables.Connect(tables.Config{Account: account, Transport: instantStorage{}}))(b)
	y := &fixture{t: b, primary: sas.NewKey(), policy: "2XRGBM5UB6VBDSAVRJGWKXYSFU",
		enrollment: schema.Enrollment{ID: "plant1", Tenant: "contoso", Readings: "readings", Life: time.Hour,
			Backfill: 24 * time.Hour}}
	y.issuer = must.Have(sas.NewIssuer(sas.IssuerConfig{Account: account, Enrollments: y, Policies: y,
		Registry: sas.NewRegistry(client, schema.Names{})}))(b)
	b.Run("authenticate", func(b *testing.B) {
		b.ReportAllocs()
		proof := y.primary.Of("contoso:pump-7").Prove("plant1/registrations/contoso:pump-7", time.Now().Add(time.Hour))
		for b.Loop() {
			_, err := y.issuer.Authenticate(b.Context(), "contoso:pump-7", proof)
			must.Succeed(b, err)
		}
	})
	b.Run("renew", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			y.mustIssue("contoso:pump-7")
		}
	})
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			y.mustIssue(schema.DeviceID(fmt.Sprintf("contoso:new-%09d", n)))
		}
	})
}
