package sas

import (
	"fmt"
	"testing"

	"furrow/tables/schema"
)

// If a device's cohort changed, a revocation would not reach its earlier tokens.
func TestCohortsNeverChange(t *testing.T) {
	for id, want := range map[schema.DeviceID]int{
		"pump-0": 2, "pump-1": 0, "pump-2": 0, "pump-7": 2,
		"contoso:us-5260:Giles-7163712301905": 0, "ä": 3, "": 3,
	} {
		if got := Cohort(id); got != want {
			t.Errorf("%q is in cohort %d, not %d", id, got, want)
		}
	}
}

func TestCohortsHaveSimilarSizes(t *testing.T) {
	var sizes [schema.Cohorts]int
	for i := range 4000 {
		sizes[Cohort(schema.DeviceID(fmt.Sprintf("contoso:us-5260:%07d", i)))]++
	}
	for _, n := range sizes {
		if n < 900 || n > 1100 {
			t.Errorf("sizes %v", sizes)
		}
	}
}
