package monitor

import (
	"github.com/prometheus/client_golang/prometheus"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/processors"
	"furrow/jobs/retain"
	"furrow/tables/schema"
)

// work counts what jobs have done in this process. Repeated work counts each time.
type work struct {
	rows, outputs, rejects, seconds *prometheus.CounterVec // by pipeline and processor
	made, acks, devices, failed     *prometheus.CounterVec
	deleted, waits                  *prometheus.CounterVec // of retention
	overdue                         *overdue
}

func newWork(counter func(name, help string, labels ...string) *prometheus.CounterVec) work {
	return work{
		rows: counter("furrow_processor_rows_total", "Rows that a processor of this worker took, repeated ones included.",
			"pipeline", "processor"),
		outputs: counter("furrow_processor_outputs_total", "Outputs that a processor of this worker made.",
			"pipeline", "processor"),
		rejects: counter("furrow_processor_rejects_total", "Values that a processor of this worker rejected.",
			"pipeline", "processor"),
		seconds: counter("furrow_processor_seconds_total", "Time that a processor of this worker took.",
			"pipeline", "processor"),
		made: counter("furrow_group_made_total", "Reports and archives that this worker made.", "pipeline", "group"),
		acks: counter("furrow_command_acks_total", "Acknowledgements of commands that this worker found.", "pipeline"),
		devices: counter("furrow_worker_devices_total", "Devices whose rows this worker folded.",
			"pipeline"),
		failed: counter("furrow_worker_device_failures_total", "Devices that this worker could not fold, each time.",
			"pipeline"),
		deleted: counter("furrow_retention_deleted_rows_total", "Rows that retention of this worker deleted, or files of "+
			"the archive.", "table"),
		waits: counter("furrow_retention_waits_total", "Devices with readings that are old enough to go and had to stay, in "+
			"each run, by cause.", "cause"),
		overdue: newOverdue(),
	}
}

// Works has the counters of a pipeline's work begin at zero.
func (m *Monitor) Works(p *jobs.Pipeline) {
	name := string(p.Name)
	for _, c := range []*prometheus.CounterVec{m.work.acks, m.work.devices, m.work.failed} {
		c.WithLabelValues(name)
	}
	for kind := range p.Groups {
		m.work.made.WithLabelValues(name, string(kind))
	}
	deleted := retain.RetentionTables()
	for _, processor := range processors.All() {
		if _, buckets := processor.Default().Windowed(); buckets {
			deleted = append(deleted, processor.Tables...)
		}
	}
	for _, table := range deleted {
		m.work.deleted.WithLabelValues(table)
	}
	for _, cause := range retain.DeviceCauses() {
		m.work.waits.WithLabelValues(string(cause))
		m.work.overdue.gauge.WithLabelValues(string(cause))
	}
	for _, kind := range jobs.Kinds() {
		m.seconds.WithLabelValues(name, string(kind))
	}
	all := p.Processors
	for _, model := range p.Models {
		all = append(all[:len(all):len(all)], model.Processors...)
	}
	for _, processor := range all {
		m.CountFold(p.Name, fold.Folded{Processor: processor.Name})
	}
}

// CountFold counts a call of a processor.
func (m *Monitor) CountFold(p schema.Pipeline, f fold.Folded) {
	for c, n := range map[*prometheus.CounterVec]float64{m.work.rows: float64(f.Rows), m.work.outputs: float64(f.Outputs),
		m.work.rejects: float64(f.Rejects), m.work.seconds: f.Took.Seconds()} {
		c.WithLabelValues(string(p), f.Processor).Add(n)
	}
}

// CountWork counts what a job has done.
func (m *Monitor) CountWork(of jobs.Message, r jobs.Result) {
	p := string(of.Pipeline)
	m.work.acks.WithLabelValues(p).Add(float64(r.Acks))
	m.work.devices.WithLabelValues(p).Add(float64(r.Folded))
	m.work.failed.WithLabelValues(p).Add(float64(len(r.Failed)))
	for table, n := range r.Deleted {
		m.work.deleted.WithLabelValues(table).Add(float64(n))
	}
	m.work.overdue.note(of.Run, r.Overdue)
	for cause, n := range r.Waits {
		m.work.waits.WithLabelValues(string(cause)).Add(float64(n))
	}
	if of.Kind == jobs.Group {
		m.work.made.WithLabelValues(p, string(of.Group)).Add(float64(r.Made))
	}
}
