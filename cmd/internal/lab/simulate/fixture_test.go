package simulate

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"furrow/sas"
	"furrow/sas/endpoint"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/commands"
	"furrow/tables/schema"
)

// A fixture is storage and an endpoint, with an enrollment for each tenant.
type fixture struct {
	t        *testing.T
	client   *tables.Client
	registry sas.Registry
	policies *sas.Policies
	url      string
	key      sas.Key // of all enrollments
	backfill time.Duration
}

func newFixture(t *testing.T, tenants ...schema.Tenant) *fixture {
	t.Helper()
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	y := &fixture{t: t, key: sas.NewKey(), backfill: 48 * time.Hour}
	y.client = must.Have(tables.Connect(tables.Config{Account: account}))(t)
	var names schema.Names
	for _, name := range names.Tables() {
		must.Succeed(t, y.client.Table(name).Create(t.Context()))
	}
	log := slog.New(slog.DiscardHandler)
	y.policies = &sas.Policies{Client: y.client, Names: names, Log: log}
	must.Succeed(t, y.policies.Ensure(t.Context(), names.Readings()))
	y.registry = sas.NewRegistry(y.client, names)
	n := &sas.Enrollments{Table: y.client.Table(names.Enrollments()), SealingKey: sas.NewSealingKey()}
	for _, tenant := range tenants {
		must.Have(n.Add(t.Context(), y.enrollment(Member{Tenant: tenant}), y.key, nil))(t)
	}
	issuer := must.Have(sas.NewIssuer(sas.IssuerConfig{Account: account, Enrollments: n, Policies: y.policies,
		Registry: y.registry, Commands: commands.Of(y.client, names)}))(t)
	handler := must.Have(endpoint.New(endpoint.Config{Issuer: issuer, Log: log}))(t)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	y.url = server.URL
	return y
}

func (y *fixture) enrollment(m Member) schema.Enrollment {
	return schema.Enrollment{ID: schema.EnrollmentID("sim" + string(m.Tenant)), Tenant: m.Tenant, Readings: "readings",
		Life: time.Hour, Backfill: y.backfill, SendEvery: time.Minute, Batch: 100, Commands: true}
}

func (y *fixture) credential(m Member) (schema.EnrollmentID, string) {
	return y.enrollment(m).ID, y.key.Of(string(m.ID)).Base64()
}

func (y *fixture) config(members []Member) Config {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	y.t.Cleanup(transport.CloseIdleConnections)
	return Config{Endpoint: y.url, Transport: transport, Members: members, Credential: y.credential,
		Log: slog.New(slog.DiscardHandler)}
}

// rows returns all readings in the table.
func (y *fixture) rows() (all []tables.Entity) {
	y.t.Helper()
	for e, err := range y.client.Table("readings").Entities(y.t.Context(), tables.Query{}) {
		must.Succeed(y.t, err)
		all = append(all, e)
	}
	return all
}
