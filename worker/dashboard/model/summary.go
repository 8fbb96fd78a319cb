package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"furrow/jobs/report"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A SummaryQuery asks for a tenant's day, week or month.
type SummaryQuery struct {
	DayQuery
	Period string    `query:"period"` // one of Periods; empty: day
	By     schema.By `query:"by"`     // what is side by side; empty: site, or else the first label that is reported
}

// Periods returns the lengths of summaries.
func Periods() []string { return []string{"day", "week", "month"} }

// span returns the UTC days of the period that has the day. A week begins on Monday.
func (q *SummaryQuery) span() query.Span {
	at := q.On(time.Now()).Start().Time().UTC()
	from, to := at, at.AddDate(0, 0, 1)
	switch q.Period {
	case "week":
		from = at.AddDate(0, 0, -(int(at.Weekday())+6)%7)
		to = from.AddDate(0, 0, 7)
	case "month":
		from = at.AddDate(0, 0, 1-at.Day())
		to = from.AddDate(0, 1, 0)
	}
	return spanOf(from, to)
}

// A Summary is a sensor over all devices of a tenant, its groups side by side, and the devices that stand out.
type Summary struct {
	Series
	Period string      `json:"period" enum:"day week month"`
	All    *GroupTotal `json:"all,omitempty"` // absent without readings
	// What groups are: site or labels.NAME. Absent if neither is reported.
	By       string       `json:"by,omitempty"`
	Groups   []GroupTotal `json:"groups"`            // the greatest mean first
	Crowded  bool         `json:"crowded,omitempty"` // there are more groups than are compared; groups is empty
	Outliers Outliers     `json:"outliers"`
}

// A GroupTotal sums up a sensor of the devices of a group.
type GroupTotal struct {
	Group   string  `json:"group,omitempty"` // A site, or the value of a label. Absent for all devices.
	Devices int64   `json:"devices"`         // devices with a number, at most at a time: in a window
	Count   int64   `json:"count"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Mean    float64 `json:"mean"`
}

// A summed is what was read for a summary.
type summed struct {
	points  []Point
	all     total
	groups  map[string]*total
	crowded bool
	skipped query.Skipped
}

type total struct {
	report.Aggregate
	devices int64
}

func (t *total) add(a report.Aggregate) {
	devices := a.Devices
	t.Join(a)
	t.devices = max(t.devices, devices)
}

func (t *total) named(group string) GroupTotal {
	return GroupTotal{group, t.devices, t.Count, t.Min, t.Max, t.Sum / float64(t.Count)}
}

const (
	// summaryRows limits the rows that are read to compare groups: a month of days of 645 sites.
	summaryRows = 20_000
	summaryAge  = 30 * time.Second
)

// Summary returns a sensor of a tenant in a day, week or month. It needs reports by tenant.
func (rs *ReportAnswers) Summary(ctx context.Context, q SummaryQuery) (Summary, error) {
	q.Tenant = scoped(ctx, q.Tenant)
	if q.Tenant == "" || !rs.accounts.index.hasTenant(q.Tenant) {
		return Summary{}, fmt.Errorf("tenant %s: %w", q.Tenant, ErrUnknown)
	}
	if err := rs.sensors.since(q.Tenant, q.span().From.Time()).checkMeasured(q.Tenant, some(q.Sensor)...); err != nil {
		return Summary{}, ofParam("sensor", err)
	}
	q.Period, q.Sensor = cmp.Or(q.Period, Periods()[0]), cmp.Or(q.Sensor, rs.sensors.ofTenant(q.Tenant).first())
	by, err := rs.accounts.Configured().compared(q.By)
	if err != nil {
		return Summary{}, err
	}
	ask := query.ReportQuestion{Tenant: schema.Tenant(q.Tenant), By: schema.ByTenant, Span: q.span(),
		Sensors: some(q.Sensor)}
	long := auto
	if q.Period == "month" {
		long = rs.accounts.Configured().longestReported()
	}
	if ask.Window, err = rs.accounts.Configured().reportedWindow(schema.ByTenant, long, ask.Span); err != nil {
		return Summary{}, err
	}
	out := Summary{Period: q.Period, By: string(by), Groups: []GroupTotal{}, Series: Series{Sensor: q.Sensor,
		Unit: rs.accounts.Configured().unit(q.Sensor), Window: ask.Window.String(), From: ask.Span.From.Time(),
		To: ask.Span.To.Time(), Points: []Point{}}, Outliers: Outliers{Devices: []MeanOutlier{}}}
	if q.Sensor == "" {
		return out, nil
	}
	key := fmt.Sprintf("%q %s %s %s %s", q.Tenant, q.Period, ask.Span, by, q.Sensor)
	d, err := rs.summaries.get(ctx, key, summaryAge, func(ctx context.Context) (summed, error) {
		return rs.summed(ctx, ask, by)
	})
	if err != nil {
		return out, err
	}
	out.Outliers, err = rs.outliers(ctx, ask)
	out.Points, out.Crowded, out.Unreadable = d.points, d.crowded, int(d.skipped.N)
	if d.all.Count > 0 {
		all := d.all.named("")
		out.All, out.Devices = &all, int(all.Devices)
	}
	for name, t := range d.groups {
		out.Groups = append(out.Groups, t.named(name))
	}
	slices.SortFunc(out.Groups, func(a, b GroupTotal) int {
		return cmp.Or(cmp.Compare(b.Mean, a.Mean), cmp.Compare(a.Group, b.Group))
	})
	return out, err
}

func some(sensor string) []string {
	if sensor == "" {
		return nil
	}
	return []string{sensor}
}

// summed reads the reports of a tenant and those of its groups.
func (rs *ReportAnswers) summed(ctx context.Context, ask query.ReportQuestion, by schema.By) (d summed, err error) {
	d.points, d.groups = []Point{}, map[string]*total{}
	for r, err := range query.Readable(rs.accounts.joinedReports(ctx, ask), &d.skipped) {
		if err != nil {
			return d, err
		}
		a := r.Sensors[0].Aggregate
		p := pointOf(r.Start, a.Timed.Aggregate)
		p.Devices = int(a.Devices)
		d.points = append(d.points, p)
		d.all.add(a)
	}
	if by == "" {
		return d, nil
	}
	ask.By, ask.Rows = by, new(atomic.Int64)
	if long, err := schema.ParseWindow(rs.accounts.Configured().longestReported()); err == nil {
		ask.Window = long
	}
	for r, err := range query.Readable(rs.accounts.joinedReports(ctx, ask), &d.skipped) {
		if err != nil {
			return d, err
		}
		if ask.Rows.Load() > summaryRows {
			d.groups, d.crowded = nil, true
			break
		}
		if d.groups[r.Group] == nil {
			d.groups[r.Group] = &total{}
		}
		d.groups[r.Group].add(r.Sensors[0].Aggregate)
	}
	return d, nil
}
