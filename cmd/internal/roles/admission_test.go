package roles

import (
	"log/slog"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestAuditsLookAsFarBackAsTheTokensOfTheEnrollmentAdmit(t *testing.T) {
	t.Parallel()
	storage := azuretest.Local(t)
	client := must.Have(tables.Connect(tables.Config{Account: tables.Account{Name: storage.Name, Key: storage.Key,
		Table: storage.TableURL}}))(t)
	enrollments := &sas.Enrollments{Table: client.Table(schema.Names{}.Enrollments()), SealingKey: sas.NewSealingKey()}
	a := &admission{enrollments: &sas.Enrollments{Table: enrollments.Table}, log: slog.New(slog.DiscardHandler)}
	if err := a.read(t.Context()); err != nil || a.ageFor("short") != 0 {
		t.Errorf("without enrollments: %v, %v", a.ageFor("short"), err)
	}
	must.Succeed(t, enrollments.Table.Create(t.Context()))
	const days = 24 * time.Hour
	for id, backfill := range map[schema.EnrollmentID]time.Duration{"short": 7 * days, "long": 30 * days} {
		e := schema.Enrollment{ID: id, Tenant: "contoso", Readings: "readings", Life: time.Hour, Backfill: backfill}
		must.Have(enrollments.Add(t.Context(), e, nil, nil))(t)
	}
	must.Succeed(t, a.read(t.Context()))
	for id, backfill := range map[schema.EnrollmentID]time.Duration{"short": 7 * days, "long": 30 * days,
		"unknown": 30 * days} {
		if got, want := a.ageFor(id), backfill+time.Hour+sas.ClockSkew; got != want {
			t.Errorf("enrollment %s: %v, want %v", id, got, want)
		}
	}
}
