package monitor

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"furrow/jobs"
	"furrow/tables"
)

// TestOverdueIsThatOfTheNewestRun: its oldest readings count, whichever job finds them.
func TestOverdueIsThatOfTheNewestRun(t *testing.T) {
	t.Parallel()
	m := New()
	of := func(cause jobs.Cause) time.Duration {
		return time.Duration(testutil.ToFloat64(m.work.overdue.gauge.WithLabelValues(string(cause)))) * time.Second
	}
	found := func(run tables.Ticks, all map[jobs.Cause]time.Duration) {
		m.CountWork(jobs.Message{Kind: jobs.Device, Pipeline: "retention", Run: run}, jobs.Result{Overdue: all})
	}
	found(1, map[jobs.Cause]time.Duration{jobs.CauseBehind: time.Hour, jobs.CauseHeld: time.Minute})
	found(1, map[jobs.Cause]time.Duration{jobs.CauseBehind: time.Minute})
	found(5, nil) // of a pipeline that folds
	if of(jobs.CauseBehind) != time.Hour || of(jobs.CauseHeld) != time.Minute {
		t.Errorf("%v and %v", of(jobs.CauseBehind), of(jobs.CauseHeld))
	}
	found(2, map[jobs.Cause]time.Duration{jobs.CauseHeld: time.Second})
	found(1, map[jobs.Cause]time.Duration{jobs.CauseBehind: time.Hour})
	if of(jobs.CauseBehind) != 0 || of(jobs.CauseHeld) != time.Second {
		t.Errorf("then %v and %v", of(jobs.CauseBehind), of(jobs.CauseHeld))
	}
}
