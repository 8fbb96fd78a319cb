// Package monitor serves the metrics and the health of a process on a listener of its own.
package monitor

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// A Monitor holds the metrics of a process.
type Monitor struct {
	*prometheus.Registry
	operations, busy, failures *prometheus.CounterVec
	jobs                       *prometheus.CounterVec
	seconds                    *prometheus.HistogramVec
	work                       work
	pipelines                  *pipelines // nil without Watch
}

// New returns a Monitor with the metrics of the Go runtime, of the process, and of storage operations.
func New() *Monitor {
	all := prometheus.NewRegistry()
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return promauto.With(all).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Monitor{Registry: all,
		operations: counter("furrow_storage_operations_total", "Requests to storage, retries included, by service and kind.",
			"service", "kind"),
		busy: counter("furrow_storage_busy_total", "Requests that storage answered with 429 or 503.", "service"),
		failures: counter("furrow_storage_failures_total", "Requests that storage did not answer, or with another 5xx; "+
			"not those that were canceled.", "service"),
		jobs: counter("furrow_jobs_total", "Deliveries of jobs, by how they ended; a failed one is retried, and of a lost "+
			"one the lease was lost.", "pipeline", "outcome"),
		seconds: promauto.With(all).NewHistogramVec(prometheus.HistogramOpts{Name: "furrow_job_seconds",
			Help:    "Duration of deliveries of jobs, by kind, however they ended.",
			Buckets: []float64{.01, .03, .1, .3, 1, 3, 10, 30, 100, 300, 1000}}, []string{"pipeline", "kind"}),
		work: newWork(counter),
	}
	m.MustRegister(m.work.overdue.gauge, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Gauge adds a gauge without labels.
func (m *Monitor) Gauge(name, help string, value func() float64) {
	m.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// Follows adds the generation of the configuration that the process runs.
func (m *Monitor) Follows(generation func() int64) {
	m.Gauge("furrow_configuration_generation",
		"Generation of the configuration that this process runs; 0: none is stored.", func() float64 {
			return float64(generation())
		})
}

// UsesStorage has the counters of failures begin at zero, so that their rates are not absent.
func (m *Monitor) UsesStorage() {
	for _, service := range []string{"table", "queue", "blob"} {
		m.busy.WithLabelValues(service)
		m.failures.WithLabelValues(service)
	}
}

// CountTable counts an operation on tables. Use it as OnOperation of a tables.Config.
func (m *Monitor) CountTable(ctx context.Context, o tables.Operation) {
	m.count(ctx, "table", o.Kind.String(), o.Status)
}

// CountQueue counts an operation on queues. Use it as OnOperation of a worker.Config.
func (m *Monitor) CountQueue(ctx context.Context, o worker.Operation) {
	m.count(ctx, "queue", o.Kind.String(), o.Status)
}

// CountObject counts an operation on blobs. Use it as OnOperation of an archive.StoreConfig.
func (m *Monitor) CountObject(ctx context.Context, o archive.Operation) {
	m.count(ctx, "blob", o.Kind.String(), o.Status)
}

// count counts an operation. One that its caller canceled is no failure of storage.
func (m *Monitor) count(ctx context.Context, service, kind string, status int) {
	m.operations.WithLabelValues(service, kind).Inc()
	switch {
	case status == 429 || status == 503:
		m.busy.WithLabelValues(service).Inc()
	case status == 0 && errors.Is(ctx.Err(), context.Canceled):
	case status == 0 || status >= 500:
		m.failures.WithLabelValues(service).Inc()
	}
}

// CountJob counts a job of a pipeline.
func (m *Monitor) CountJob(p schema.Pipeline, r worker.Result) {
	for o := worker.OutcomeDone; o <= worker.OutcomeReleased; o++ {
		m.jobs.WithLabelValues(string(p), o.String()) // so that its rate is zero, not absent
	}
	m.jobs.WithLabelValues(string(p), r.Outcome.String()).Inc()
	if kind := r.Message.Kind; kind != "" { // of one that could be read
		m.seconds.WithLabelValues(string(p), string(kind)).Observe(r.Took.Seconds())
	}
}
