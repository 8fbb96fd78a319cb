package monitor

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"furrow/jobs"
)

// TestDeletedRowsOfEveryTableBeginAtZero: of each table that retention deletes from, and of no other.
func TestDeletedRowsOfEveryTableBeginAtZero(t *testing.T) {
	t.Parallel()
	m := New()
	m.Works(&jobs.Pipeline{Name: "live"})
	begun := testutil.CollectAndCount(m.work.deleted)
	for _, table := range []string{"activity", "archive", "buckets", "commands", "deliveries", "incidents", "rates",
		"readings", "rejects", "reports", "rollups"} {
		m.work.deleted.WithLabelValues(table)
	}
	if all := testutil.CollectAndCount(m.work.deleted); begun != 11 || all != begun {
		t.Errorf("%d tables began at zero, %d are known; want 11 of 11", begun, all)
	}
}
