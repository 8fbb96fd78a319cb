package sas_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A fixture is storage with an enrollment and an issuer for it.
type fixture struct {
	t          testing.TB
	storage    azuretest.Account
	client     *tables.Client
	registry   sas.Registry
	enrollment schema.Enrollment
	primary    sas.Key
	policy     string
	wait       time.Duration
	issuer     *sas.Issuer
	renew      func() bool // what a second look at enrollments does; nil: it finds what was known
}

// Find and Keys return the enrollment, which is not stored.
func (y *fixture) Find(_ context.Context, id schema.EnrollmentID) (schema.Enrollment, error) {
	if id != y.enrollment.ID {
		return schema.Enrollment{}, sas.ErrNoEnrollment
	}
	return y.enrollment, nil
}

func (y *fixture) Keys(schema.Enrollment) ([]sas.Key, error) { return []sas.Key{y.primary}, nil }

func (y *fixture) CheckSealingKey(context.Context) error { return nil }

func (y *fixture) CheckPrefix(_ context.Context, e schema.Enrollment, device schema.DeviceID) error {
	if !strings.HasPrefix(string(device), e.Prefix) {
		return sas.ErrPrefix
	}
	return nil
}

func (y *fixture) Confirm(ctx context.Context, id schema.EnrollmentID, _ string, _ int64) (schema.Enrollment, error) {
	return y.Find(ctx, id)
}

func (y *fixture) Renew(context.Context) bool { return y.renew != nil && y.renew() }

// Current returns the same policy for all cohorts.
func (y *fixture) Current(context.Context, string, schema.DeviceID) (sas.CurrentPolicy, error) {
	return sas.CurrentPolicy{ID: y.policy, Wait: y.wait}, nil
}

func newFixture(t *testing.T, transport policy.Transporter) *fixture {
	t.Helper()
	names := must.Have(schema.ParseNames(azuretest.Name("sas")[:12]))(t)
	y := &fixture{t: t, storage: azuretest.FromEnv(t), primary: sas.NewKey(), policy: "summer"}
	account := tables.Account{Name: y.storage.Name, Key: y.storage.Key, Table: y.storage.TableURL}
	y.client = y.connect(transport)
	y.registry = sas.NewRegistry(y.client, names)
	for _, name := range []string{names.Devices(), names.Fleet()} {
		y.storage.MakeTable(t, name)
	}
	y.storage.MakeTable(t, names.Readings())
	err := y.client.Table(names.Readings()).SetPolicies(t.Context(),
		[]tables.StoredPolicy{{ID: y.policy, Start: time.Now().Add(-time.Hour)}})
	must.Succeed(t, err)
	y.enrollment = schema.Enrollment{ID: "plant1", Tenant: "contoso", Readings: names.Readings(), Life: time.Hour,
		Backfill: 24 * time.Hour, Site: "hall", SendEvery: 30 * time.Second}
	y.issuer, err = sas.NewIssuer(sas.IssuerConfig{Account: account, Enrollments: y, Policies: y, Registry: y.registry})
	must.Succeed(t, err)
	return y
}

func (y *fixture) connect(transport policy.Transporter) *tables.Client {
	y.t.Helper()
	account := tables.Account{Name: y.storage.Name, Key: y.storage.Key, Table: y.storage.TableURL}
	c, err := tables.Connect(tables.Config{Account: account, Transport: transport,
		Retry: policy.RetryOptions{RetryDelay: time.Millisecond, MaxRetryDelay: time.Millisecond}})
	must.Succeed(y.t, err)
	return c
}

func (y *fixture) mustIssue(device schema.DeviceID) sas.Answer {
	y.t.Helper()
	a := must.Have(y.issuer.Issue(y.t.Context(), device, y.enrollment))(y.t)
	return a
}

// update changes the record of a device.
func (y *fixture) update(device schema.DeviceID, change func(*schema.Device)) {
	y.t.Helper()
	must.Have(y.registry.Update(y.t.Context(), device, func(d *schema.Device) error { change(d); return nil }))(y.t)
}

// insert adds a row with a token, as a device does, and returns the status.
func insert(t *testing.T, a sas.Answer, partition, row string) int {
	t.Helper()
	body := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q,"temperature":21.5}`, partition, row)
	req := must.Have(http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL+"?"+a.SAS, strings.NewReader(body)))(t)
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json;odata=nometadata"},
		"Prefer": {"return-no-content"}, "X-Ms-Version": {"2019-02-02"}}
	resp := must.Have(http.DefaultClient.Do(req))(t)
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// registryOf returns the fixture's registry as another client reaches it.
func (y *fixture) registryOf(c *tables.Client) sas.Registry {
	return sas.Registry{Devices: c.Table(y.registry.Devices.Name), Fleet: c.Table(y.registry.Fleet.Name),
		Places: sas.Places{Table: c.Table(y.registry.Places.Name)}}
}

// A killer ends its caller's context at the first fault.
type killer struct {
	*faults.Transport
	kill context.CancelFunc
}

func (k killer) Do(r *http.Request) (*http.Response, error) {
	resp, err := k.Transport.Do(r)
	if len(k.Injected()) > 0 {
		k.kill()
	}
	return resp, err
}

// before is a transport that calls a function before each request.
type before func()

func (b before) Do(req *http.Request) (*http.Response, error) {
	b()
	return http.DefaultClient.Do(req)
}

// A recorder is a transport that records the methods of its requests.
type recorder []string

func (r *recorder) Do(req *http.Request) (*http.Response, error) {
	*r = append(*r, req.Method)
	return http.DefaultClient.Do(req)
}
