package monitor

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"furrow/jobs"
	"furrow/jobs/retain"
	"furrow/tables"
)

// TestOverdueIsThatOfTheNewestRun: its oldest readings count, whichever job finds them.
func TestOverdueIsThatOfTheNewestRun(t *testing.T) {
	t.Parallel()
	m := New()
	of := func(cause retain.Cause) time.Duration {
		return time.Duration(testutil.ToFloat64(m.work.overdue.gauge.WithLabelValues(string(cause)))) * time.Second
	}
	found := func(run tables.Ticks, all map[retain.Cause]time.Duration) {
		m.CountWork(jobs.Message{Kind: jobs.Device, Pipeline: "retention", Run: run}, jobs.Result{Overdue: all})
	}
	found(1, map[retain.Cause]time.Duration{retain.CauseBehind: time.Hour, retain.CauseHeld: time.Minute})
	found(1, map[retain.Cause]time.Duration{retain.CauseBehind: time.Minute})
	found(5, nil) // of a pipeline that folds
	if of(retain.CauseBehind) != time.Hour || of(retain.CauseHeld) != time.Minute {
		t.Errorf("%v and %v", of(retain.CauseBehind), of(retain.CauseHeld))
	}
	found(2, map[retain.Cause]time.Duration{retain.CauseHeld: time.Second})
	found(1, map[retain.Cause]time.Duration{retain.CauseBehind: time.Hour})
	if of(retain.CauseBehind) != 0 || of(retain.CauseHeld) != time.Second {
		t.Errorf("then %v and %v", of(retain.CauseBehind), of(retain.CauseHeld))
	}
}
