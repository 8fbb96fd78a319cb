package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"furrow/sas"
)

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
