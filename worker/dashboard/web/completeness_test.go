package web_test

import (
	"testing"

	"furrow/worker/dashboard/web"
)

// TestSharesAreRoundedDown: a share of 100 % is all.
func TestSharesAreRoundedDown(t *testing.T) {
	for want, share := range map[string]float64{"100.00 %": 1, "99.99 %": 1 - 1e-15, "99.98 %": 9_998.0 / 10_000,
		"99.97 %": 0.99979, "33.33 %": 1.0 / 3, "0.00 %": 0} {
		if is := (web.CompletenessPage{}).Exactly(&share); is != want {
			t.Errorf("%v is %s, want %s", share, is, want)
		}
	}
}
