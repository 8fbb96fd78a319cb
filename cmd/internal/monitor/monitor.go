// Package monitor serves the metrics and the health of a process on a listener of its own.
package monitor

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

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
	pipelines                  *pipelines // nil without Watch
}

// New returns a Monitor with the metrics of the Go runtime, of the process, and of storage operations.
func New() *Monitor {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Monitor{Registry: prometheus.NewRegistry(),
		operations: counter("furrow_storage_operations_total", "Requests to storage, retries included, by service and kind.",
			"service", "kind"),
		busy: counter("furrow_storage_busy_total", "Requests that storage answered with 429 or 503.", "service"),
		failures: counter("furrow_storage_failures_total", "Requests that storage did not answer, or with another 5xx.",
			"service"),
		jobs: counter("furrow_jobs_total", "Deliveries of jobs, by how they ended; a failed one is retried, and of a lost "+
			"one the lease was lost.", "pipeline", "outcome"),
	}
	for _, service := range []string{"table", "queue", "blob"} { // so that rates are zero, not absent
		m.busy.WithLabelValues(service)
		m.failures.WithLabelValues(service)
	}
	m.MustRegister(m.operations, m.busy, m.failures, m.jobs, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// CountTable counts an operation on tables. Use it as OnOperation of a tables.Config.
func (m *Monitor) CountTable(_ context.Context, o tables.Operation) {
	m.count("table", o.Kind.String(), o.Status)
}

// CountQueue counts an operation on queues. Use it as OnOperation of a worker.Config.
func (m *Monitor) CountQueue(_ context.Context, o worker.Operation) {
	m.count("queue", o.Kind.String(), o.Status)
}

// CountObject counts an operation on blobs. Use it as OnOperation of an archive.StoreConfig.
func (m *Monitor) CountObject(_ context.Context, o archive.Operation) {
	m.count("blob", o.Kind.String(), o.Status)
}

func (m *Monitor) count(service, kind string, status int) {
	m.operations.WithLabelValues(service, kind).Inc()
	switch {
	case status == 429 || status == 503:
		m.busy.WithLabelValues(service).Inc()
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
}
