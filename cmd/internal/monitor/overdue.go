package monitor

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"furrow/jobs/retain"
	"furrow/tables"
)

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
