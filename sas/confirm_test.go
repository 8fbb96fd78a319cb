package sas_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest"
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
		must(t, err)
		for _, name := range []string{names.Enrollments(), names.Policies()} {
			y.storage.MakeTable(t, name)
		}
		operator := &sas.Enrollments{Table: y.client.Table(names.Enrollments()), SealingKey: sas.NewSealingKey()}
		e, err := operator.Add(t.Context(), y.enrollment, nil, nil)
		must(t, err)
		policies := &sas.Policies{Client: y.client, Names: names}
		through := &cutOff{}
		enrollments := &sas.Enrollments{Table: y.connect(through).Table(names.Enrollments())}
		issuer, err := sas.NewIssuer(sas.IssuerConfig{Account: tables.Account{Name: y.storage.Name, Key: y.storage.Key,
			Table: y.storage.TableURL}, Enrollments: enrollments, Policies: policies, Registry: y.registry})
		must(t, err)
		known, err := enrollments.Find(t.Context(), e.ID)
		must(t, err)
		_, err = issuer.Issue(t.Context(), "pump-7", known)
		must(t, err)

		through.closed.Store(!readable)
		_, err = issuer.Issue(t.Context(), "pump-7", known)
		must(t, err) // an outage alone stops no device
		_, err = operator.Change(t.Context(), e.ID, func(e *schema.Enrollment) error { e.Disabled = true; return nil })
		must(t, err)
		must(t, policies.EndTokens(t.Context(), y.enrollment.Readings, [schema.Cohorts]bool{true, true, true, true}))
		for _, device := range []schema.DeviceID{"pump-7", "pump-8", "pump-9"} {
			_, err = issuer.Issue(t.Context(), device, known)
			if err == nil || readable && !errors.Is(err, sas.ErrDisabled) {
				t.Errorf("enrollments readable: %v: %s gets a token of a disabled enrollment: %v", readable, device, err)
			}
		}
		through.closed.Store(false)
		_, err = operator.Change(t.Context(), e.ID, func(e *schema.Enrollment) error { e.Disabled = false; return nil })
		must(t, err)
		must(t, policies.EndTokens(t.Context(), y.enrollment.Readings, [schema.Cohorts]bool{}))
		_, err = issuer.Issue(t.Context(), "pump-7", known)
		must(t, err)
	}
}
