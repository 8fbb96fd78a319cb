package jobs

import (
	"testing"
	"time"

	"furrow/tables/schema"
)

func TestLedgerIsKeptForAsLongAsTokensAdmitRows(t *testing.T) {
	const days = 24 * time.Hour
	for admitted, want := range map[time.Duration]time.Duration{0: 8 * days, 2 * days: 2*days + time.Hour,
		30 * days: 30*days + time.Hour} {
		p := Pipeline{Admits: func(schema.EnrollmentID) time.Duration { return admitted }}
		if got := p.late(schema.Member{}); got != want {
			t.Errorf("tokens admit %v: %v, want %v", admitted, got, want)
		}
	}
}
