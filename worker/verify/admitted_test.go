package verify_test

import (
	"testing"
	"time"

	"furrow/jobs/coverage"
	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestSealedDayWaitsForItsAuditIfTokensAdmitItsRows: a row has come of a day that was sealed three weeks later. It is
// explained if tokens admit older rows than they did then, and so old a row. What differs is what differs when the next
// audit has had the day made again.
func TestSealedDayWaitsForItsAuditIfTokensAdmitItsRows(t *testing.T) {
	const day, grace = 24 * time.Hour, sas.ClockSkew + time.Hour
	for _, x := range []struct {
		name        string
		were, admit time.Duration
		explained   bool
	}{
		{"more than when it was sealed", 10*day + grace, 22 * day, true},
		{"by a minute more", 22*day + grace - time.Minute, 22 * day, true},
		{"as much as when it was sealed", 22*day + grace, 22 * day, false},
		{"less than when it was sealed", 30*day + grace, 22 * day, false},
		{"more, but not so much", 10*day + grace, 19 * day, false},
		{"unknown", 0, 0, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, fold.Sensors{}, plain)
			f.track(func(e *tables.Entity) { f.sealedFor(e, x.were) })
			f.late(20)
			if x.admit > 0 {
				f.World.Create(t, f.Names.Enrollments())
				f.put(f.Names.Enrollments(), must.Have(schema.Enrollment{ID: "all", Tenant: "t0", Readings: f.Readings,
					Life: time.Hour, Admits: x.admit}.Entity())(t))
			}
			all, _ := f.found()
			if is := len(unexplained(all)) == 0; is != x.explained || len(all) == 0 {
				t.Errorf("explained is %v:\n%s", is, text(all))
			}
			f.track(func(e *tables.Entity) {
				row := must.Have(tracking.RowOf(*e))(t)
				reopened := row.Coverage.Admit(coverage.Known{At: f.first + 22*tables.Day, Late: x.admit + grace})
				if row.SetCoverage(e); reopened != x.explained {
					t.Errorf("the next audit reopens a day is %v", reopened)
				}
			})
			after, _ := f.found()
			if text(after) != text(all) {
				t.Errorf("before the audit:\n%safter it:\n%s", text(all), text(after))
			}
		})
	}
}
