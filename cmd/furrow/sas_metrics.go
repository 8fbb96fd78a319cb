package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"furrow/sas"
)

// policyMetrics show how the stored access policies are, as they were looked after
// last.
func policyMetrics(p *sas.Policies) []prometheus.Collector {
	var all []prometheus.Collector
	for _, m := range []struct {
		name, help string
		value      func(sas.PolicyCounts) float64
	}{
		{"furrow_sas_policy_tables", "Readings tables that have stored access policies.", func(n sas.PolicyCounts) float64 { return float64(n.Tables) }},
		{"furrow_sas_revocations_open", "Revocations and restorations that are watched until they have lasted.", func(n sas.PolicyCounts) float64 { return float64(n.Open) }},
		{"furrow_sas_revocations_undone", "Revocations and restorations that are not done.", func(n sas.PolicyCounts) float64 { return float64(n.Undone) }},
		{"furrow_sas_spare_policy_age_seconds", "Age of the youngest spare policy.", func(n sas.PolicyCounts) float64 { return n.SpareAge.Seconds() }},
	} {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: m.name, Help: m.help}, func() float64 { return m.value(p.Counts()) }))
	}
	return append(all,
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "furrow_sas_policy_repairs_total", Help: "How often a table had other policies than it should have."},
			func() float64 { return float64(p.Counts().Repairs) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "furrow_sas_policy_errors_total", Help: "How often a table's policies could not be looked after."},
			func() float64 { return float64(p.Counts().Errors) }))
}
