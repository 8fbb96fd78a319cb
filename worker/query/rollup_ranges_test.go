package query

import (
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// TestEmptyYearsOfADeviceTakeNoWork: whoever may ask for the rollups of a device may ask for those since the year 1.
func TestEmptyYearsOfADeviceTakeNoWork(t *testing.T) {
	home := Home{LatestPartition: schema.LatestPartition{Tenant: "acme", Month: schema.Month{Year: 2026, Month: time.May}}}
	q := Question{Window: schema.Daily, Span: Span{To: tables.TicksOf(time.Now())},
		Scope: Scope{device: &schema.Member{Device: "pump-7"}, homes: []Home{home}}}
	days := 0
	allocated := testing.AllocsPerRun(1, func() {
		q.homeDays(nil, map[schema.Tenant]schema.Day{"acme": q.lastDay() - 1}, func(read, error) bool {
			days++
			return true
		})
	})
	if days == 0 || allocated > 10_000 {
		t.Errorf("%d ranges took %v allocations", days, allocated)
	}
}
