package monitor

import (
	"github.com/prometheus/client_golang/prometheus"

	"furrow/worker/dashboard"
)

// CountAnswers adds the metrics of the dashboard, and returns what counts its answers, for a dashboard.Config.
func (m *Monitor) CountAnswers() func(dashboard.Answer) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "furrow_dashboard_requests_total",
		Help: "Requests that the dashboard answered, by route and class of the status."}, []string{"route", "status"})
	seconds := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "furrow_dashboard_seconds_total",
		Help: "Time that the dashboard took for its answers; a stream counts when it has ended."}, []string{"route"})
	m.MustRegister(requests, seconds)
	count := func(a dashboard.Answer) {
		requests.WithLabelValues(a.Route, class(a.Status)).Inc()
		seconds.WithLabelValues(a.Route).Add(a.Took.Seconds())
	}
	for _, status := range []int{200, 400, 500} { // so that rates are zero, not absent
		requests.WithLabelValues("none", class(status))
	}
	seconds.WithLabelValues("none")
	return count
}
