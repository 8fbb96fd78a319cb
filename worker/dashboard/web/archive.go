package web

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
)

// An ArchivePage shows what the archive has of a tenant. It takes the parameters of /v1/archive.
type ArchivePage struct {
	foot
	Now     time.Time
	Tenants []string // to choose from
	Answer  model.Archive
}

// archive shows the archive of a tenant: of the only one where there are no others.
func (s *Site) archive(r *http.Request, p api.Archive) (Page, error) {
	tenants := s.c.Model.Tenants.Names(r.Context())
	if p.Tenant == "" && len(tenants) == 1 {
		p.Tenant = tenants[0]
	}
	a, err := s.c.Model.Archives.OfTenant(r.Context(), p.ArchiveQuery)
	if a.Tenant != "" && !slices.Contains(tenants, a.Tenant) {
		tenants = append(tenants, a.Tenant) // it has no devices any more
	}
	return &ArchivePage{Now: time.Now().UTC(), Tenants: tenants, Answer: a}, err
}

// The methods below are called by the template.

// From returns the first of the days, as a field has it.
func (p ArchivePage) From() string { return p.Answer.From.UTC().Format(time.DateOnly) }

// Last returns the last of the days.
func (p ArchivePage) Last() string { return p.Answer.To.Add(-time.Second).UTC().Format(time.DateOnly) }

// Before returns the address of the days before, if there are any.
func (p ArchivePage) Before() string {
	if first := p.reach(); first == "" || first >= p.From() {
		return ""
	}
	return p.address("to", p.From())
}

// After returns the address of the newest days, if these are others.
func (p ArchivePage) After() string {
	for _, t := range p.Answer.Tables {
		if t.Last > p.Last() {
			return p.address()
		}
	}
	return ""
}

// reach returns the first day of all tables.
func (p ArchivePage) reach() (first string) {
	for _, t := range p.Answer.Tables {
		if first == "" || t.First != "" && t.First < first {
			first = t.First
		}
	}
	return first
}

func (p ArchivePage) address(changes ...string) string {
	return address("/archive", url.Values{"tenant": {p.Answer.Tenant}}, changes...)
}

// Several reports whether the tables are in several storage accounts.
func (p ArchivePage) Several() bool {
	return slices.ContainsFunc(p.Answer.Tables, func(t model.ArchiveTable) bool { return t.Storage != "" })
}

// Troubled returns the tables into whose log another program writes.
func (p ArchivePage) Troubled() (all []model.ArchiveTable) {
	for _, t := range p.Answer.Tables {
		if t.Foreign {
			all = append(all, t)
		}
	}
	return all
}

// Example returns a table to open: that of readings.
func (p ArchivePage) Example() *model.ArchiveTable {
	i := slices.IndexFunc(p.Answer.Tables, func(t model.ArchiveTable) bool { return t.Table == "readings" })
	if i < 0 {
		return nil
	}
	return &p.Answer.Tables[i]
}
