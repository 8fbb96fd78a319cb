package web

import (
	"net/url"
	"slices"
	"strings"

	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
)

// tabOf returns the tab of a page and its part of Operations, by the file of its template.
func tabOf(file string) (tab, own string) {
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
	}
	own = "/" + strings.TrimSuffix(file, ".html")
	if slices.ContainsFunc(parts(nil), func(p part) bool { return p.address == own }) {
		return operations, own
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

// A part is a page of Operations, whose address is that of its template.
type part struct {
	address, name string
	has           bool // the fleet has what it shows
}

// parts returns the parts of Operations.
func parts(has model.Configured) []part {
	return []part{{operations, "Pipelines", true}, {"/costs", "Costs", has.ReportsTenants()},
		{"/retention", "Retention", has.HasRetention()}, {"/archive", "Archive", has.HasArchive()},
		{"/limits", "Limits", true}, {"/completeness", "Completeness", true}, {"/configuration", "Configuration", true}}
}

// locate says where a page is among the others.
func (s *Site) locate(page Page, p api.Person) {
	if p.Role == "" {
		return
	}
	tab, part := tabOf(fileOf(page))
	if tab == "/tenants" && p.Tenant != "" {
		tab = tenantPath(string(p.Tenant))
	}
	at := location{Tabs: tabs(p), Tab: tab}
	if at.Part = part; part != "" && p.Tenant == "" {
		for _, one := range parts(s.c.Model.Accounts.Configured()) {
			if one.has {
				at.Parts = append(at.Parts, Option{one.address, one.name})
			}
		}
	}
	page.common().Place = at
}

// A location is where a page is among the others.
type location struct {
	Tabs, Parts []Option
	Tab, Part   string // addresses of the present ones
}
