package model

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// A ReportsQuery asks for reports: of tenants, of their sites, or by the values of a label.
type ReportsQuery struct {
	Tenant   string    `query:"tenant"`  // empty: all
	By       schema.By `query:"by"`      // empty: what Group is of, or tenant
	Site     string    `query:"site"`    // the only one; empty: all
	Label    string    `query:"label"`   // NAME=TEXT, the only value; empty: all
	Sensors  []string  `query:"sensors"` // none: all
	From, To time.Time
	Window   string `query:"window"` // a size such as 1h, or auto; empty: auto
	Part
}

// group returns what is reported, and the only group; empty: all.
func (q *ReportsQuery) group() (by schema.By, group string, err error) {
	by = q.By
	label, text, _ := strings.Cut(q.Label, "=")
	switch {
	case q.Site != "" && q.Label != "":
		return "", "", queryErrorf("a report is by site or by a label: leave out site or label")
	case q.Site != "":
		by, group = cmp.Or(by, schema.BySite), q.Site
	case q.Label != "" && text == "":
		return "", "", queryErrorf("label must be NAME=TEXT here; for reports of all values ask for by=labels.NAME")
	case q.Label != "":
		by, group = cmp.Or(by, schema.ByLabel(label)), text
	}
	switch by = cmp.Or(by, schema.ByTenant); {
	case q.Site != "" && by != schema.BySite, q.Label != "" && by != schema.ByLabel(label):
		return "", "", queryErrorf("site selects one group of reports by site, and label one of those by that "+
			"label: leave out by=%s", by)
	}
	return by, group, nil
}

// Reports is the answer of /v1/reports: one tenant after the other, for each one period after the other, within one by
// group, and for each group by time. A period is a day for windows shorter than an hour, a month for those shorter than
// a day, and else a year.
type Reports struct {
	By     string `json:"by"` // tenant, site or labels.NAME
	Window string `json:"window"`
	Bounds
	Rows []answers.Report `json:"rows"`
	Extent
}

// ReportAnswers have reports of tenants, sites and labels, row by row, or summed up for a period.
type ReportAnswers struct {
	accounts  *Accounts
	tenants   *Tenants
	sensors   *Census
	summaries cache[summed]
	compares  cache[Outliers]
}

// A reportPlace is the place of a report among those of all tenants, and the span of the question.
type reportPlace struct {
	query.Span
	Tenant schema.Tenant
	query.ReportPlace
}

// List returns reports. Over all parts, each comes once.
func (rs *ReportAnswers) List(ctx context.Context, q ReportsQuery) (Export, error) {
	err := rs.accounts.current(ctx)
	if err != nil {
		return Export{}, err
	}
	if q.Tenant = scoped(ctx, q.Tenant); q.Tenant == noTenant {
		return Export{}, fmt.Errorf("tenant %s: %w", q.Tenant, ErrUnknown)
	}
	if err := rs.sensors.since(q.Tenant, q.From).checkMeasured(q.Tenant, q.Sensors...); err != nil {
		return Export{}, err
	}
	w := &reporting{reader: rs, q: q, after: reportPlace{Span: spanOf(q.From, q.To)}}
	cursor := rs.accounts.cursorFor("reports", within(ctx), q.Asked)
	if err := cursor.find(q.After, &w.after); err != nil {
		return Export{}, err
	}
	w.ask = query.ReportQuestion{Span: w.after.Span, Sensors: q.Sensors, Rows: new(atomic.Int64)}
	if w.ask.By, w.ask.Group, err = q.group(); err != nil {
		return Export{}, err
	}
	if w.ask.Window, err = rs.accounts.Configured().reportedWindow(w.ask.By, q.Window, w.ask.Span); err != nil {
		return Export{}, err
	}
	out := &Reports{By: string(w.ask.By), Window: w.ask.Window.String(), Bounds: boundsOf(w.ask.Span, q.Limit),
		Rows: []answers.Report{}}
	w.out = &out.Extent
	return paging[query.Report, answers.Report]{records: w.all(ctx), rows: w.ask.Rows,
		row: func(r query.Report) (answers.Report, bool, error) { return answers.ReportOf(r), true, nil },
		next: func(last query.Report) string {
			place := query.ReportPlace{Group: last.Group, Start: last.Start}
			return cursor.mark(reportPlace{w.ask.Span, last.Tenant, place})
		},
		full: func() bool { return w.ask.Rows.Load() >= maxRead }}.export(out), nil
}

func joined[T any](all []T) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = fmt.Sprint(one)
	}
	return strings.Join(texts, ", ")
}

// reporting reads one part of an answer of Reports.
type reporting struct {
	reader *ReportAnswers
	q      ReportsQuery
	ask    query.ReportQuestion
	after  reportPlace // the last report of the part before
	out    *Extent
}

// reportedTenants returns the tenants of a question, by name. Reports of a tenant without devices can be asked for.
func (rs *ReportAnswers) reportedTenants(ctx context.Context, tenant string) (all []schema.Tenant) {
	if tenant != "" {
		return []schema.Tenant{schema.Tenant(tenant)}
	}
	for _, t := range rs.tenants.tallies(ctx) {
		all = append(all, schema.Tenant(t.Tenant))
	}
	return all
}

// all yields the reports of one tenant after the other. One that has neither reports nor devices is ErrUnknown.
func (w *reporting) all(ctx context.Context) iter.Seq2[query.Report, error] {
	return func(yield func(query.Report, error) bool) {
		for _, t := range w.reader.reportedTenants(ctx, w.q.Tenant) {
			if t < w.after.Tenant {
				continue
			}
			ask := w.ask
			if ask.Tenant = t; t == w.after.Tenant {
				ask.After = w.after.ReportPlace
			}
			for r, err := range w.reader.accounts.joinedReports(ctx, ask) {
				if !yield(r, err) {
					return
				}
			}
		}
		if w.out.Count == 0 && w.q.After == "" && !w.reader.accounts.index.hasTenant(w.q.Tenant) {
			yield(query.Report{}, fmt.Errorf("tenant %s: %w", w.q.Tenant, ErrUnknown))
		}
	}
}
