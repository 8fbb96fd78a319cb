package endpoint

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A metrics counts what a Handler does.
type metrics struct {
	registry *prometheus.Registry
	tokens   prometheus.Counter
	refusals *prometheus.CounterVec
	duration prometheus.Histogram
	requests prometheus.Gauge
}

func newMetrics(registry *prometheus.Registry) *metrics {
	m := &metrics{
		registry: registry,
		tokens: prometheus.NewCounter(prometheus.CounterOpts{Name: "furrow_sas_tokens_total",
			Help: "Tokens issued."}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "furrow_sas_refusals_total",
			Help: "Requests refused, by the code of the response."}, []string{"code"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "furrow_sas_token_seconds",
			Help:    "Duration of token requests, refused ones included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25}}),
		requests: prometheus.NewGauge(prometheus.GaugeOpts{Name: "furrow_sas_requests_in_flight",
			Help: "Requests in progress."}),
	}
	for code := range codes() {
		m.refusals.WithLabelValues(string(code)) // so that its rate is zero, not absent
	}
	return m
}

// observe registers the metrics, gauges of the handler's limits, and the other collectors.
func (m *metrics) observe(h *Handler, others []prometheus.Collector) error {
	for _, other := range append(others, m.tokens, m.refusals, m.duration, m.requests) {
		if err := m.registry.Register(other); err != nil {
			return err
		}
	}
	for _, g := range []struct {
		name, help string
		value      func() float64
	}{
		{"furrow_sas_storage_in_flight", "Requests that use storage now.",
			func() float64 { return float64(h.storage.slots.Used()) }},
		{"furrow_sas_storage_slots", "Maximum concurrent requests that use storage.",
			func() float64 { return float64(h.storage.size) }},
		{"furrow_sas_allowance", "Requests of all devices that may pass at once now.",
			func() float64 { left, _ := h.fleet.state(time.Now()); return float64(left) }},
		{"furrow_sas_retry_seconds", "Retry-After of a device that the total rate limit rejects now.",
			func() float64 { _, wait := h.fleet.state(time.Now()); return wait.Seconds() }},
		{"furrow_sas_devices_remembered", "Devices with rate limit state in memory.",
			func() float64 { return float64(h.devices.known()) }},
	} {
		if err := m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help},
			g.value)); err != nil {
			return err
		}
	}
	return nil
}
