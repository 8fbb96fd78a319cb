package endpoint

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"furrow/tables"
)

// Metrics are what /metrics shows. They are made before the Handler, since the
// client of storage, which the Issuer needs, is told of CountTable.
type Metrics struct {
	registry   *prometheus.Registry
	tokens     prometheus.Counter
	refusals   *prometheus.CounterVec
	duration   prometheus.Histogram
	requests   prometheus.Gauge
	operations *prometheus.CounterVec
}

// NewMetrics are metrics with a registry of their own, which holds those of the
// process, too.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		tokens: prometheus.NewCounter(prometheus.CounterOpts{Name: "furrow_sas_tokens_total",
			Help: "Tokens issued."}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "furrow_sas_refusals_total",
			Help: "Requests refused, by the code of the answer."}, []string{"code"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "furrow_sas_token_seconds",
			Help:    "How long requests for a token took, refused ones included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25}}),
		requests: prometheus.NewGauge(prometheus.GaugeOpts{Name: "furrow_sas_requests_in_flight",
			Help: "Requests that are being answered."}),
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "furrow_storage_operations_total",
			Help: "Requests to storage, retries included, by service and kind."}, []string{"service", "kind"}),
	}
	for code := range codes() {
		m.refusals.WithLabelValues(string(code)) // a rate of what is not there is not zero
	}
	m.registry.MustRegister(m.tokens, m.refusals, m.duration, m.requests, m.operations,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// CountTable is for tables.Config.OnOperation.
func (m *Metrics) CountTable(_ context.Context, o tables.Operation) {
	m.operations.WithLabelValues("table", o.Kind.String()).Inc()
}

// watch shows how much is left of what devices may ask for, and what others collect.
func (m *Metrics) watch(h *Handler, others []prometheus.Collector) error {
	for _, other := range others {
		if err := m.registry.Register(other); err != nil {
			return err
		}
	}
	for _, g := range []struct {
		name, help string
		value      func() float64
	}{
		{"furrow_sas_storage_in_flight", "Requests that use storage.", func() float64 { return float64(len(h.gate.places)) }},
		{"furrow_sas_storage_places", "Requests that may use storage at a time.", func() float64 { return float64(cap(h.gate.places)) }},
		{"furrow_sas_allowance", "Requests of all devices that may pass at once now.", func() float64 { left, _ := h.fleet.state(time.Now()); return float64(left) }},
		{"furrow_sas_line_seconds", "How long a device is told to wait that is refused now for the sake of all.", func() float64 { _, wait := h.fleet.state(time.Now()); return wait.Seconds() }},
		{"furrow_sas_devices_remembered", "Devices whose allowance is remembered.", func() float64 { return float64(h.devices.known()) }},
	} {
		if err := m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help}, g.value)); err != nil {
			return err
		}
	}
	return nil
}
