package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"furrow/worker/answers"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web/internal/chart"
)

const (
	newestIncidents = 3 // on the first page
	listedIncidents = 50
)

// incidentsPage is the parameters of the page.
type incidentsPage struct {
	api.Incidents
	api.Page
}

// incidents lists incidents; without counts where these cannot be read.
func (s *Site) incidents(r *http.Request, p incidentsPage) (Page, error) {
	now := time.Now()
	q := p.Query(model.Part{After: p.After, Limit: cmp.Or(p.Limit, listedIncidents), Asked: p.Asked}, now)
	answer, err := s.c.Model.Incidents.ListPart(r.Context(), q)
	if err != nil {
		return nil, err
	}
	page := &IncidentsPage{Now: now.UTC(), Query: q, Span: p.Span, Answer: answer,
		Tenants: s.c.Model.Tenants.Names(r.Context())}
	counts, err := s.c.Model.Incidents.Counts(r.Context(), q)
	if s.warn(err, "incidents cannot be counted"); err == nil {
		page.Counts = &counts
	}
	return page, nil
}

func (s *Site) incident(r *http.Request, _ api.None) (Page, error) {
	id, err := api.IncidentID(r)
	if err != nil {
		return nil, err
	}
	a, err := s.c.Model.Incidents.Incident(r.Context(), id)
	if err != nil {
		return nil, err
	}
	page := &IncidentPage{Now: time.Now().UTC(), Answer: a, Rule: s.c.Model.Accounts.Configured().Rule(a.Rule)}
	q := page.around()
	series, err := s.c.Model.Charts.Series(r.Context(), q)
	page.Series = s.charted(series, err)
	page.Newest = s.c.Model.Lists.Newest(r.Context(), a.Device, sensorOf(page.Series))
	return page, nil
}

// around returns the query for the values before, in and after the incident.
func (p IncidentPage) around() model.SeriesQuery {
	end := p.Now
	if p.Answer.Closed != nil {
		end = *p.Answer.Closed
	}
	margin := max(30*time.Minute, end.Sub(p.Answer.Since)/4)
	q := model.SeriesQuery{Device: p.Answer.Device, Sensor: p.Rule.Sensor, From: p.Answer.Since.Add(-margin),
		To: end.Add(margin).Truncate(time.Minute)}
	if q.To.After(p.Now) {
		q.To = p.Now.Truncate(time.Second).Add(time.Second)
	}
	return q
}

func (p IncidentPage) Title() string { return sensorOf(p.Series) + " of " + p.Answer.Device }

// Bands returns the incident as the chart shows it.
func (p IncidentPage) Bands() []chart.Band {
	return bands(p.Now, []answers.Incident{p.Answer.Incident})
}

// Limits returns the limits of the rule for the device, as its labels were when the incident opened. Those of a rate
// are not of the values.
func (p IncidentPage) Limits() []float64 {
	if p.Rule.Limits == nil {
		return nil
	}
	return p.Rule.Limits(p.Answer.Labels)
}

// DeviceAddress returns the page of the device, with the time of the incident.
func (p IncidentPage) DeviceAddress() string {
	q := p.around()
	return address("/devices/"+url.PathEscape(p.Answer.Device), url.Values{"sensor": {q.Sensor},
		"from": {q.From.UTC().Format(time.RFC3339)}, "to": {q.To.UTC().Format(time.RFC3339)}})
}

func (p IncidentsPage) query() url.Values {
	q := filterQuery(p.Query.Filter)
	for name, text := range map[string]string{"state": p.State(), "severity": p.Query.Severity, "rule": p.Query.Rule,
		"device": p.Query.Device, "span": p.Span} {
		q.Set(name, text)
	}
	if p.Span == "" && p.Query.From != nil && p.Query.To != nil {
		q.Set("from", p.Query.From.UTC().Format(time.RFC3339))
		q.Set("to", p.Query.To.UTC().Format(time.RFC3339))
	}
	return q
}

// State returns the states as in the address; empty for those that are not closed.
func (p IncidentsPage) State() string { return strings.Join(p.Query.States, ",") }

// Filtered reports whether the list is of some incidents only.
func (p IncidentsPage) Filtered() bool {
	return len(p.query().Encode()) > len((IncidentsPage{}).query().Encode())
}

// Address returns the address of the list with some parameters changed: names and values in turn.
func (p IncidentsPage) Address(changes ...string) string {
	return address("/incidents", p.query(), changes...)
}

// CSV returns the address of the list as a file.
func (p IncidentsPage) CSV() string { return address("/incidents.csv", p.query()) }

// States returns what to choose from.
func (p IncidentsPage) States() []Option {
	all := model.IncidentStates()
	return []Option{{"", "not closed"}, {all[0], all[0]}, {all[1], all[1]}, {all[2], all[2]},
		{strings.Join(all, ","), "all"}}
}

// Busiest returns the greatest number of incidents of a rule in the last day.
func (p IncidentsPage) Busiest() (n int) {
	for _, r := range p.Counts.Rules {
		n = max(n, r.Day)
	}
	return n
}

// IncidentsOf returns the address of the open incidents of what the page shows.
func (p MapPage) IncidentsOf(severity string) string {
	return address("/incidents", filterQuery(p.Filter), "state", "", "severity", severity)
}

// An openCount is how many open incidents have a severity.
type openCount struct {
	Severity string
	N        int
}

// Open counts the open incidents by severity, the greatest first, without severities that none has.
func (p MapPage) Open() (all []openCount) {
	n := p.Overview.Incidents
	for i, count := range []int{n.Critical, n.Warning, n.Info} {
		if count > 0 {
			all = append(all, openCount{model.Severities()[i], count})
		}
	}
	return all
}
