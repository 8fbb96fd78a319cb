package monitor

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"furrow/tables/schema"
)

// targetFigures returns the metrics of a target.
func targetFigures(s schema.TargetState, now time.Time) []figure {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	oldest := 0.0
	if s.Waiting > 0 && s.Oldest > 0 {
		oldest = max(0, now.Sub(s.Oldest.Time()).Seconds())
	}
	return []figure{
		{"sent_total", "Notifications that arrived.", counter, float64(s.Sent)},
		{"failures_total", "Messages that did not arrive, each time.", counter, float64(s.Failed)},
		{"given_up_total", "Notifications that were given up.", counter, float64(s.GivenUp)},
		{"waiting", "Notifications that waited after the last job, without repetitions.", gauge, float64(s.Waiting)},
		{"oldest_seconds", "How long the oldest notification that is not muted could have been sent, or 0.", gauge, oldest},
	}
}

// TargetFigures returns what rules can watch of the targets of a pipeline, together.
func TargetFigures(states []schema.TargetState) map[string]float64 {
	all := map[string]float64{"notifications_given_up": 0, "notifications_waiting": 0}
	for _, s := range states {
		all["notifications_given_up"] += float64(s.GivenUp)
		all["notifications_waiting"] += float64(s.Waiting)
	}
	return all
}

// collectTargets collects the metrics of targets.
func collectTargets(to chan<- prometheus.Metric, states []schema.TargetState, now time.Time) {
	for _, s := range states {
		for _, f := range targetFigures(s, now) {
			desc := prometheus.NewDesc("furrow_notify_"+f.name, f.help, []string{"pipeline", "target"}, nil)
			to <- prometheus.MustNewConstMetric(desc, f.kind, f.value, string(s.Pipeline), string(s.Target))
		}
	}
}
