package model

import (
	"slices"

	"furrow/jobs/rules"
	"furrow/tables/schema"
)

// Severities returns the severities of incidents, the greatest first.
func Severities() (all []string) {
	for _, s := range slices.Backward(rules.Severities()) {
		all = append(all, string(s))
	}
	return all
}

// severityOf returns a number that orders severities; zero is none.
func severityOf(s string) uint8 {
	return uint8(1 + slices.Index(rules.Severities(), rules.Severity(s)))
}

// severityText returns a severity by its number.
func severityText(n uint8) string {
	if all := rules.Severities(); n > 0 && int(n) <= len(all) {
		return string(all[n-1])
	}
	return ""
}

// severityShift is where the flags of a device have the greatest severity of its open incidents.
const (
	severityShift   = 6
	withoutSeverity = 1<<severityShift - 1
)

func severityIn(flags uint8) uint8 { return flags >> severityShift }

// incidents replaces the severities of devices, which are by tenant: one that has moved has none of the former tenant.
func (x *index) incidents(all map[string]map[string]uint8) {
	x.mu.Lock()
	defer x.mu.Unlock()
	changed := false
	for i := range x.devices {
		d := &x.devices[i]
		flags := d.flags&withoutSeverity | all[x.tenants.text(d.tenant)][d.id]<<severityShift
		changed = changed || flags != d.flags
		d.flags = flags
	}
	if changed {
		x.touch()
	}
}

// tenantsIn returns the tenants that have devices in an account, or had some.
func (x *index) tenantsIn(in uint16) (all []tenantIn) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	has := make([]bool, len(x.tenants.all))
	for i := range x.devices {
		if d := &x.devices[i]; len(x.accounts) > 1 && x.in(d) == in {
			has[d.tenant] = true
			for _, t := range x.former[d.id] {
				has[t] = true
			}
		}
	}
	for i, has := range has {
		if has || len(x.accounts) == 1 {
			all = append(all, tenantIn{schema.Tenant(x.tenants.all[i]), in})
		}
	}
	return all
}
