package query

import (
	"slices"
	"testing"

	"furrow/tables/schema"
)

// TestARejectOfBothTenantsOfAMovedDeviceIsShownOnce: by those who see all tenants, as the tenant has it that folded the
// row last.
func TestARejectOfBothTenantsOfAMovedDeviceIsShownOnce(t *testing.T) {
	t.Parallel()
	own := []schema.Reject{
		{Device: "d", Pipeline: "live", Row: "a", At: 1, Number: 0},
		{Device: "d", Pipeline: "live", Row: "b", At: 2, Number: 1},
		{Device: "d", Pipeline: "live", Row: "b", At: 3, Number: 0, Ring: "fabrikam"},
		{Device: "d", Pipeline: "other", Row: "b", At: 2, Number: 0},
		{Device: "d", Pipeline: "live", Row: "c", At: 4, Number: 1, Ring: "fabrikam"},
		{Device: "d", Pipeline: "live", Row: "c", At: 4, Number: 2, Ring: "fabrikam"}, // of a job that died
	}
	var got []schema.Reject
	yieldRing(func(r Reject, err error) bool {
		got = append(got, r.Reject)
		return err == nil
	}, slices.Clone(own), Span{}, func(RejectTotal) {})
	if want := []schema.Reject{own[0], own[3], own[2], own[4]}; !slices.Equal(got, want) {
		t.Errorf("shown are %v, want %v", got, want)
	}
}
