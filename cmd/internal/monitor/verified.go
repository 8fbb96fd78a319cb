package monitor

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
)

// collectVerified collects what the newest sample has counted; nothing where none is verified.
func collectVerified(to chan<- prometheus.Metric, v *schema.Verification) {
	if v == nil {
		return
	}
	for count, n := range map[string]int64{"made": v.Last.Made, "missing": v.Last.Missing, "stored": v.Last.Stored,
		"folded": v.Last.Folded, "to_fold": v.Last.ToFold} {
		gauge(to, "furrow_verify_readings", "Readings of the newest sample that the scheduler verified: made by the "+
			"devices' numbers, of these missing, stored, folded by all pipelines, and to_fold, which they should have.",
			float64(n), []string{"count"}, count)
	}
	gauge(to, "furrow_verify_unexplained", "Differences that nothing explains, in the newest sample and still in devices "+
		"of earlier ones.", float64(v.Unexplained), nil)
	if v.At > 0 {
		gauge(to, "furrow_verify_age_seconds", "Time since the newest sample was verified; absent before the first.",
			time.Since(v.At.Time()).Seconds(), nil)
	}
}

// overdue shows how late retention is. Each run has jobs for many batches of devices, and the oldest readings count.
type overdue struct {
	gauge *prometheus.GaugeVec

	mu   sync.Mutex
	run  tables.Ticks // the newest
	most map[retain.Cause]time.Duration
}

func newOverdue() *overdue {
	return &overdue{gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "furrow_retention_overdue_seconds",
		Help: "For how long the oldest readings that had to stay have been old enough to go, at most, by cause, in the " +
			"newest run that this worker worked on."}, []string{"cause"})}
}

// note takes what a job of retention found; nil is of another job.
func (o *overdue) note(run tables.Ticks, found map[retain.Cause]time.Duration) {
	if found == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if run < o.run {
		return // a job of an earlier run that was late
	}
	if run > o.run {
		o.run, o.most = run, map[retain.Cause]time.Duration{}
	}
	for cause, late := range found {
		o.most[cause] = max(o.most[cause], late)
	}
	for _, cause := range retain.DeviceCauses() {
		o.gauge.WithLabelValues(string(cause)).Set(o.most[cause].Seconds())
	}
}
