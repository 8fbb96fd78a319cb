package monitor

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"furrow/tables/schema"
)

// A targetFigure is a metric of a target of notifications.
type targetFigure struct {
	name, help string
	kind       prometheus.ValueType
	of         func(s schema.TargetState, now time.Time) float64
}

func targetFigures() []targetFigure {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	return []targetFigure{
		{"sent_total", "Notifications that arrived.", counter,
			func(s schema.TargetState, _ time.Time) float64 { return float64(s.Sent) }},
		{"failures_total", "Messages that did not arrive, each time.", counter,
			func(s schema.TargetState, _ time.Time) float64 { return float64(s.Failed) }},
		{"given_up_total", "Notifications that were given up.", counter,
			func(s schema.TargetState, _ time.Time) float64 { return float64(s.GivenUp) }},
		{"waiting", "Notifications that waited after the last job, without repetitions.", gauge,
			func(s schema.TargetState, _ time.Time) float64 { return float64(s.Waiting) }},
		{"oldest_seconds", "Age of the oldest notification that waits, or 0.", gauge,
			func(s schema.TargetState, now time.Time) float64 {
				if s.Waiting == 0 || s.Oldest == 0 {
					return 0
				}
				return now.Sub(s.Oldest.Time()).Seconds()
			}},
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

func (f targetFigure) desc() *prometheus.Desc {
	return prometheus.NewDesc("furrow_notify_"+f.name, f.help, []string{"pipeline", "target"}, nil)
}

// collectTargets collects the metrics of targets.
func collectTargets(to chan<- prometheus.Metric, states []schema.TargetState, now time.Time) {
	for _, s := range states {
		for _, f := range targetFigures() {
			to <- prometheus.MustNewConstMetric(f.desc(), f.kind, f.of(s, now), string(s.Pipeline), string(s.Target))
		}
	}
}
