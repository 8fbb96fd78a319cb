package web

import (
	"net/url"
	"time"

	"furrow/worker/cost"
)

// The methods below are called by the template of costs.

// Heading names the month, such as November 2026.
func (p CostsPage) Heading() string {
	month, err := time.Parse("2006-01", p.Month)
	if err != nil {
		return p.Month
	}
	return month.Format("January 2006")
}

// Address returns the address of the page with one parameter changed.
func (p CostsPage) Address(name, text string) string {
	q := url.Values{"tenant": {p.Tenant}, "month": {p.Month}}
	if p.ByDay {
		q.Set("window", "1d")
	}
	return address("/costs", q, name, text)
}

// Before returns the month before.
func (p CostsPage) Before() string { return beside("2006-01", p.Month, -1, 0) }

// After returns the month after, unless it is in the future.
func (p CostsPage) After() string {
	if next := beside("2006-01", p.Month, 1, 0); next <= p.Now {
		return next
	}
	return ""
}

// Days returns the address of a tenant's days.
func (p CostsPage) Days(tenant string) string {
	return address("/costs", url.Values{"tenant": {tenant}, "month": {p.Month}, "window": {"1d"}})
}

// Most returns the cost of the most expensive line.
func (p CostsPage) Most() (usd float64) {
	for _, l := range p.Costs.Tenants {
		usd = max(usd, l.USD.Total)
	}
	return usd
}

// Lines returns the lines of the table, the fleet last.
func (p CostsPage) Lines() []CostRow {
	var rows []CostRow
	for _, l := range p.Costs.Tenants {
		rows = append(rows, CostRow{TenantCost: l})
	}
	if p.Costs.Fleet != nil {
		rows = append(rows, CostRow{TenantCost: *p.Costs.Fleet, Sum: true})
	}
	return rows
}

// A CostRow is a line of the table.
type CostRow struct {
	cost.TenantCost
	Sum bool // of the fleet
}

// Megabytes returns the stored bytes.
func (r CostRow) Megabytes() float64 { return float64(r.Bytes) / (1 << 20) }

// Jobs returns the operations of jobs.
func (r CostRow) Jobs() (n float64) {
	for _, service := range r.Services() {
		n += service
	}
	return n
}
