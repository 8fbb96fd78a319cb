package sas_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A cutOff is a transport that fails while it is closed.
type cutOff struct{ closed atomic.Bool }

func (c *cutOff) Do(req *http.Request) (*http.Response, error) {
	if c.closed.Load() {
		return nil, errors.New("cut off")
	}
	return http.DefaultTransport.RoundTrip(req)
}

// An endpoint may use enrollments that it read a while ago, and for longer if it cannot read them. That must not give
// tokens to devices of an enrollment that was disabled before its tokens were ended.
func TestEndpointWithOldEnrollmentsHeedsARevocation(t *testing.T) {
	for _, readable := range []bool{true, false} {
		y := newFixture(t, nil)
		names, err := schema.ParseNames(azuretest.Name("c")[:12]) // an account may have others
		must.Succeed(t, err)
		for _, name := range []string{names.Enrollments(), names.Policies()} {
			y.storage.MakeTable(t, name)
		}
		operator := &sas.Enrollments{Table: y.client.Table(names.Enrollments()), SealingKey: sas.NewSealingKey()}
		e := must.Have(operator.Add(t.Context(), y.enrollment, nil, nil))(t)
		policies := &sas.Policies{Client: y.client, Names: names}
		through := &cutOff{}
		enrollments := &sas.Enrollments{Table: y.connect(through).Table(names.Enrollments())}
		issuer, err := sas.NewIssuer(sas.IssuerConfig{Account: tables.Account{Name: y.storage.Name, Key: y.storage.Key,
			Table: y.storage.TableURL}, Enrollments: enrollments, Policies: policies, Registry: y.registry})
		must.Succeed(t, err)
		known := must.Have(enrollments.Find(t.Context(), e.ID))(t)
		must.Have(issuer.Issue(t.Context(), "pump-7", known))(t)

		through.closed.Store(!readable)
		_, err = issuer.Issue(t.Context(), "pump-7", known)
		must.Succeed(t, err) // an outage alone stops no device
		must.Have(operator.Change(t.Context(), e.ID, func(e *schema.Enrollment) error { e.Disabled = true; return nil }))(t)
		must.Succeed(t, policies.EndTokens(t.Context(), y.enrollment.Readings, [schema.Cohorts]bool{true, true, true, true}))
		for _, device := range []schema.DeviceID{"pump-7", "pump-8", "pump-9"} {
			_, err = issuer.Issue(t.Context(), device, known)
			if err == nil || readable && !errors.Is(err, sas.ErrDisabled) {
				t.Errorf("enrollments readable: %v: %s gets a token of a disabled enrollment: %v", readable, device, err)
			}
		}
		through.closed.Store(false)
		must.Have(operator.Change(t.Context(), e.ID, func(e *schema.Enrollment) error { e.Disabled = false; return nil }))(t)
		must.Succeed(t, policies.EndTokens(t.Context(), y.enrollment.Readings, [schema.Cohorts]bool{}))
		must.Have(issuer.Issue(t.Context(), "pump-7", known))(t)
	}
}
