package web

import (
	"net/url"

	"furrow/worker/dashboard/api"
)

// tabOf returns the tab of a page and its part of Operations, by the file of its template.
func tabOf(file string) (tab, part string) {
	switch file {
	case "map.html":
		return "/", ""
	case "devices.html", "device.html", "outliers.html":
		return "/devices", ""
	case "incidents.html", "incident.html":
		return "/incidents", ""
	case "rules.html":
		return "/rules", ""
	case "tenants.html", "tenant.html", "report.html":
		return "/tenants", ""
	case "pipelines.html", "costs.html", "retention.html", "archive.html", "completeness.html",
		"configuration.html", "limits.html":
		return operations, "/" + file[:len(file)-len(".html")]
	}
	return "", ""
}

// operations is the address of Operations: of its first part.
const operations = "/pipelines"

// tabs returns the pages that a person can choose from: addresses and names. A tenant's people have no use for a list
// of tenants, and see nothing of the operation of the fleet.
func tabs(p api.Person) []Option {
	all := []Option{{"/", "Overview"}, {"/devices", "Devices"}, {"/incidents", "Incidents"}, {"/rules", "Rules"}}
	if p.Tenant != "" {
		return append(all, Option{tenantPath(string(p.Tenant)), "Reports"})
	}
	return append(all, Option{"/tenants", "Tenants"}, Option{operations, "Operations"})
}

func tenantPath(tenant string) string { return "/tenants/" + url.PathEscape(tenant) }

// parts returns the parts of Operations.
func (s *Site) parts(p api.Person) []Option {
	if p.Tenant != "" {
		return nil
	}
	has, all := s.c.Model.Accounts.Configured(), []Option{{operations, "Pipelines"}}
	if has.ReportsTenants() {
		all = append(all, Option{"/costs", "Costs"})
	}
	if has.HasRetention() {
		all = append(all, Option{"/retention", "Retention"})
	}
	if has.HasArchive() {
		all = append(all, Option{"/archive", "Archive"})
	}
	return append(all, Option{"/limits", "Limits"}, Option{"/completeness", "Completeness"},
		Option{"/configuration", "Configuration"})
}

// locate says where a page is among the others.
func (s *Site) locate(page Page, p api.Person) {
	if p.Role == "" {
		return
	}
	tab, part := tabOf(page.file())
	if tab == "/tenants" && p.Tenant != "" {
		tab = tenantPath(string(p.Tenant))
	}
	at := location{Tabs: tabs(p), Tab: tab}
	if part != "" {
		at.Part, at.Parts = part, s.parts(p)
	}
	page.setLocation(at)
}

// A location is where a page is among the others.
type location struct {
	Tabs, Parts []Option
	Tab, Part   string // addresses of the present ones
}

func (l *location) setLocation(at location) { *l = at }
