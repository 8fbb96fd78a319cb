package main

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/cmd/internal/monitor"
	"furrow/cmd/internal/roles"
	"furrow/jobs/archive"
	"furrow/sas"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/query"
)

// metricsFlag belongs to every command that runs until it is stopped.
func metricsFlag() cli.Flag {
	return &cli.StringFlag{Name: "metrics", EnvVars: []string{"FURROW_METRICS"},
		Usage: "Serve /metrics for Prometheus, /healthz and /readyz on `ADDR`, a host:port; plain HTTP without a " +
			"password (default: off)"}
}

// openMonitor listens on --metrics. Without the flag, the monitor counts, and serves nothing.
func openMonitor(c *cli.Context) (*monitor.Server, error) {
	s := &monitor.Server{Monitor: monitor.New(), Log: logFor(c)}
	s.Monitor.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "furrow_build_info",
		Help:        "1, with the version of furrow.",
		ConstLabels: prometheus.Labels{"version": readVersion().Version}}, func() float64 { return 1 }))
	address := c.String("metrics")
	if address == "" {
		return s, nil
	}
	if _, err := addressFlag(c, "metrics"); err != nil {
		return nil, err
	}
	var err error
	if s.Listener, err = net.Listen("tcp", address); err != nil {
		return nil, listenAdvice(err, "--metrics")
	}
	return s, nil
}

// hooksOf counts all operations in a monitor.
func hooksOf(m *monitor.Monitor) roles.Hooks {
	m.UsesStorage()
	return roles.Hooks{Table: m.CountTable, Queue: m.CountQueue, Object: m.CountObject}
}

// follows has a monitor say which configuration is in force.
func follows(m *monitor.Monitor, f *generations.Follower) {
	m.Follows(func() int64 { is, _ := f.Current(); return is.Generation })
}

// hooksOfFigures counts the operations of runs.
func hooksOfFigures(f *worker.Figures) roles.Hooks {
	return roles.Hooks{Table: f.CountTable, Queue: f.CountQueue,
		Object: func(ctx context.Context, o archive.Operation) { f.CountObject(ctx, o.Kind.String()) }}
}

// ready returns an error if storage cannot be reached, or has a newer layout.
func (s *stores) ready(ctx context.Context) error {
	return schema.CheckLayout(ctx, s.Tables.Table(s.Names.Fleet()))
}

// status returns a reader of the status of the pipelines that --pipeline chooses in the current configuration.
func (s *stores) status(c *cli.Context, stored *generations.Follower) monitor.Pipelines {
	chosen := c.StringSlice("pipeline")
	return func(ctx context.Context) (map[schema.Pipeline]query.Status, error) {
		if err := s.NeedQueues(); err != nil {
			return nil, err
		}
		current, _ := stored.Current()
		all := map[schema.Pipeline]query.Status{}
		for _, p := range current.Config.Pipelines {
			if len(chosen) > 0 && !slices.Contains(chosen, string(p.Name)) {
				continue
			}
			is, err := s.pipelineStatus(ctx, p)
			if err == nil && p.Verify != nil {
				var verified schema.Verification
				verified, err = s.reader().Progress().Verification(ctx)
				is.Verified = &verified
			}
			if err != nil {
				return nil, err
			}
			for _, t := range p.Notify { // so that rates are zero, not absent
				known := func(s schema.TargetState) bool { return s.Target == t.Name }
				if p.Watches() && !slices.ContainsFunc(is.Targets, known) {
					is.Targets = append(is.Targets, schema.TargetState{Pipeline: p.Name, Target: t.Name})
				}
			}
			all[p.Name] = is
		}
		return all, nil
	}
}

// pipelineStatus returns the status of a pipeline, with what it has spent and the targets that something was for.
func (s *stores) pipelineStatus(ctx context.Context, p config.Pipeline) (query.Status, error) {
	of := s.reader().Progress()
	status, err := of.Status(ctx, p.Name, p.Cadence, s.Queues.Queue(s.Names, p.Name), query.RecentRuns)
	if status.Budget = p.Budget; err == nil && p.Budget > 0 {
		status.Spent, err = of.Spent(ctx, p.Name, time.Now())
	}
	if err == nil && p.Watches() {
		status.Targets, err = of.Targets(ctx, p.Name)
	}
	return status, err
}

// policyMetrics are metrics of the stored access policies, as of the last comparison.
func policyMetrics(p *sas.Policies) []prometheus.Collector {
	var all []prometheus.Collector
	for _, m := range []struct {
		name, help string
		value      func(sas.PolicyCounts) float64
	}{
		{"furrow_sas_policy_tables", "Readings tables with stored access policies.",
			func(n sas.PolicyCounts) float64 { return float64(n.Tables) }},
		{"furrow_sas_revocations_open", "Revocations and restorations that are not closed yet.",
			func(n sas.PolicyCounts) float64 { return float64(n.Open) }},
		{"furrow_sas_revocations_undone", "Revocations and restorations that are not completed.",
			func(n sas.PolicyCounts) float64 { return float64(n.Undone) }},
		{"furrow_sas_spare_policy_age_seconds", "Age of the youngest spare policy.",
			func(n sas.PolicyCounts) float64 { return n.SpareAge.Seconds() }},
	} {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: m.name, Help: m.help},
			func() float64 { return m.value(p.Counts()) }))
	}
	return append(all,
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "furrow_sas_policy_repairs_total",
			Help: "How often a table's policies had to be repaired."},
			func() float64 { return float64(p.Counts().Repairs) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "furrow_sas_policy_errors_total",
			Help: "Failed attempts to reconcile a table's policies."},
			func() float64 { return float64(p.Counts().Errors) }))
}
