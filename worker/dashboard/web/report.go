package web

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
)

// The methods below are called by the template of reports.

func (p ReportPage) Periods() []string { return model.Periods() }

func (p ReportPage) Sensor() string { return p.Summary.Sensor }

// Heading names the period: 21 November 2026, 16 to 22 November 2026, or November 2026.
func (p ReportPage) Heading() string {
	from, last := p.Summary.From, p.Summary.To.Add(-time.Second)
	switch p.Summary.Period {
	case "month":
		return from.Format("January 2006")
	case "week":
		layout := "2"
		if from.Month() != last.Month() {
			layout = "2 January"
		}
		return from.Format(layout) + " to " + last.Format("2 January 2006")
	}
	return from.Format("2 January 2006")
}

func (p ReportPage) Title() string { return p.Sensor() + " of " + p.Tenant + ", " + p.Heading() }

// Address returns the address of the page with one parameter changed.
func (p ReportPage) Address(name, text string) string {
	q := url.Values{"period": {p.Summary.Period}, "day": {p.Day}, "sensor": {p.Sensor()}, "by": {p.Summary.By}}
	return address("/tenants/"+url.PathEscape(p.Tenant)+"/report", q, name, text)
}

// Before returns the last day of the period before.
func (p ReportPage) Before() string { return p.Summary.From.AddDate(0, 0, -1).Format(time.DateOnly) }

// After returns the first day of the period after, unless it is in the future.
func (p ReportPage) After() string {
	if next := p.Summary.To.Format(time.DateOnly); p.Today == "" || next <= p.Today {
		return next
	}
	return ""
}

// Series returns what the chart shows; nil: nothing.
func (p ReportPage) Series() *model.Series {
	if p.Summary.Sensor == "" {
		return nil
	}
	return &p.Summary.Series
}

// Grouped names what is side by side: Site, or the label.
func (p ReportPage) Grouped() string {
	if label := schema.By(p.Summary.By).Label(); label != "" {
		return label
	}
	return "Site"
}

// GroupAddress returns the list of the devices of a group.
func (p ReportPage) GroupAddress(group string) string {
	q := url.Values{"tenant": {p.Tenant}, "sensor": {p.Sensor()}}
	if label := schema.By(p.Summary.By).Label(); label != "" {
		return address("/devices", q, "label", label+"="+group)
	}
	return address("/devices", q, "site", group)
}

// DeviceAddress returns the page of a device, with the time of the report.
func (p ReportPage) DeviceAddress(device string) string {
	return address("/devices/"+url.PathEscape(device), url.Values{"sensor": {p.Sensor()},
		"from": {p.Summary.From.UTC().Format(time.RFC3339)}, "to": {p.Summary.To.UTC().Format(time.RFC3339)}})
}

// shownGroups is how many groups the page shows.
const shownGroups = 100

// Shown returns the groups that the page shows.
func (p ReportPage) Shown() []model.GroupTotal {
	return p.Summary.Groups[:min(len(p.Summary.Groups), shownGroups)]
}

// Rest returns how many groups the page does not show.
func (p ReportPage) Rest() int { return max(0, len(p.Summary.Groups)-shownGroups) }

// CSV returns the address of the reports of what is side by side, as a file.
func (p ReportPage) CSV() string {
	q := url.Values{"tenant": {p.Tenant}, "by": {cmp.Or(p.Summary.By, string(schema.ByTenant))},
		"sensors": {p.Sensor()}, "from": {p.Summary.From.UTC().Format(time.RFC3339)},
		"to": {p.Summary.To.UTC().Format(time.RFC3339)}, "window": {p.Summary.Window}}
	return address("/reports.csv", q)
}

// FileName returns the name of the file of CSV.
func (p ReportPage) FileName() string {
	return strings.Join([]string{"report", p.Summary.Period, p.Day}, "-") + ".csv"
}

// A Reach is where the numbers of a group lie among those of all devices, in percent.
type Reach struct{ From, Width, Mean float64 }

func (p ReportPage) Reach(g model.GroupTotal) Reach {
	if p.Summary.All == nil {
		return Reach{}
	}
	low, high := p.Summary.All.Min, p.Summary.All.Max
	at := func(v float64) float64 {
		if x := 100 * ((v - low) / (high - low)); finite(x) {
			return max(0, min(100, x))
		}
		return 0
	}
	return Reach{at(g.Min), max(1, at(g.Max)-at(g.Min)), min(98.5, at(g.Mean))}
}
