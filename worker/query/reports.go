package query

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	reporting "furrow/jobs/report"
	"furrow/tables"
	"furrow/tables/schema"
)

// A ReportQuestion asks for reports: of a tenant, its sites, or the values of a label.
type ReportQuestion struct {
	Tenant  schema.Tenant
	By      schema.By
	Group   string // a site, or a label's value; empty: all
	Window  schema.Window
	Span    Span
	Sensors []string      // none: all
	After   ReportPlace   // only reports after it
	Rows    *atomic.Int64 // counts the rows that were read; may be nil
}

// A ReportPlace is the place of a report among those of its tenant. The zero place is in front of all.
type ReportPlace struct {
	Group string
	Start tables.Ticks
}

// A Report is what the devices of a group have in one bucket.
type Report struct {
	Tenant  schema.Tenant
	By      schema.By
	Group   string // empty by tenant
	Window  schema.Window
	Start   tables.Ticks
	Devices int64             // with a number in the bucket
	Sensors []ReportAggregate // in the order of their names
	More    int64             // number of further sensors that are not reported
}

// A ReportAggregate is the aggregate of one sensor.
type ReportAggregate struct {
	Sensor string
	reporting.Aggregate
}

func (a ReportAggregate) Mean() float64 { return a.Sum / float64(a.Count) }

func (f Reports) table() *tables.Table { return f.Tables.Table(f.Names.Reports()) }

// List yields the reports of the buckets that overlap the span: period after period, within one by group, and for
// each group by time. A period is a day where the window is shorter than an hour, a month where it is shorter than a
// day, and else a year.
func (f Reports) List(ctx context.Context, q ReportQuestion) iter.Seq2[Report, error] {
	return func(yield func(Report, error) bool) {
		var shards []iter.Seq2[Report, error]
		period := ""
		if each(f.partitions(ctx, q), yield, func(p schema.ReportPartition) bool {
			if p.Period != period {
				if !yieldAll(MergeReports(shards...), yield) {
					return false
				}
				period, shards = p.Period, nil
			}
			shards = append(shards, f.ofGroups(ctx, q, p))
			return true
		}) {
			yieldAll(MergeReports(shards...), yield)
		}
	}
}

// partitions yields the partitions that may have reports of the question, in order.
func (f Reports) partitions(ctx context.Context, q ReportQuestion) iter.Seq2[schema.ReportPartition, error] {
	now := tables.TicksOf(time.Now()).Add(24 * time.Hour) // readings from the future are not reported
	from, to := q.Window.Start(q.Span.From), min(q.Span.To-1, now)
	keys := schema.ReportsIn(q.Tenant, q.Window, q.Window.PeriodOf(max(from, q.After.Start)))
	keys.Before = schema.ReportsIn(q.Tenant, q.Window, q.Window.PeriodOf(to)).Before
	if from > to {
		return Records[schema.ReportPartition](nil, nil)
	}
	return parsed(ctx, f.table(), keys, schema.ParseReportPartition)
}

// ofGroups yields the reports of one partition of the fleet.
func (f Reports) ofGroups(ctx context.Context, q ReportQuestion, p schema.ReportPartition) iter.Seq2[Report, error] {
	rows := q.keys()
	if q.After.Start > 0 && p.Period == q.Window.PeriodOf(q.After.Start) {
		next := schema.ReportRow{By: q.By, Group: q.After.Group, Bucket: q.After.Start + 1}.String()
		rows.From = max(rows.From, next)
	}
	read := read{table: f.table(), rows: q.Rows,
		query: tables.Query{Range: tables.Range{Partitions: tables.Is(p.String()), Rows: rows}}}
	if len(q.Sensors) > 0 {
		read.query.Select = append([]string{schema.FormatProperty, schema.DevicesProperty, schema.MoreProperty},
			q.Sensors...)
	}
	goOn := func(tables.Page) bool { return true }
	all := schema.Joined(read.entities(ctx, goOn), schema.ReportOutput)
	return decoded(f.table(), all, outputs(schema.ParseReportRow,
		func(row schema.ReportRow, e tables.Entity, tell report) (Report, bool) {
			return q.report(p, row, e, tell)
		}))
}

// keys returns the rows of the groups: of a single one, those of the span.
func (q ReportQuestion) keys() tables.Keys {
	if q.Group != "" || q.By == schema.ByTenant {
		return schema.ReportRows(q.By, q.Group, q.Window.Start(q.Span.From), q.Span.To)
	}
	return schema.ReportRowsBy(q.By)
}

// report decodes a report. It is not wanted outside of the span, or without the requested sensors.
func (q ReportQuestion) report(
	p schema.ReportPartition, row schema.ReportRow, e tables.Entity, tell report,
) (Report, bool) {
	r := Report{Tenant: p.Tenant, By: row.By, Group: row.Group, Window: p.Window, Start: row.Bucket,
		Devices: e.Get(schema.DevicesProperty).Int(), More: e.Get(schema.MoreProperty).Int()}
	if r.Start < q.Window.Start(q.Span.From) || r.Start >= q.Span.To {
		return r, false
	}
	r.Sensors = parsedSensors(Question{Sensors: q.Sensors}, e, tell, func(sensor, text string) (ReportAggregate, error) {
		a, err := reporting.Parse(text)
		return ReportAggregate{sensor, a}, err
	})
	return r, len(r.Sensors) > 0
}

// MergeReports yields reports of a tenant that come from several places, each in order. It joins those of one group and
// bucket.
func MergeReports(all ...iter.Seq2[Report, error]) iter.Seq2[Report, error] {
	return func(yield func(Report, error) bool) {
		var whole *Report
		for r, err := range Merge(Report.Compare, all...) {
			switch {
			case err != nil:
				if !yield(Report{}, err) {
					return
				}
			case whole != nil && whole.Compare(r) == 0:
				whole.Join(r)
			default:
				if whole != nil && !yield(*whole, nil) {
					return
				}
				whole = &r
			}
		}
		if whole != nil {
			yield(*whole, nil)
		}
	}
}

// Compare orders the reports of a tenant as Reports yields them.
func (r Report) Compare(o Report) int {
	period, other := r.Window.PeriodOf(r.Start), o.Window.PeriodOf(o.Start)
	return cmp.Or(strings.Compare(period, other), strings.Compare(r.key(), o.key()))
}

func (r Report) key() string {
	return schema.ReportRow{By: r.By, Group: r.Group, Bucket: r.Start}.String()
}

// Join adds what other devices of the group have in the bucket. It changes the sensors of r.
func (r *Report) Join(o Report) {
	r.Devices += o.Devices
	r.More = max(r.More, o.More)
	for _, a := range o.Sensors {
		i, found := slices.BinarySearchFunc(r.Sensors, a.Sensor, func(a ReportAggregate, name string) int {
			return cmp.Compare(a.Sensor, name)
		})
		if found {
			r.Sensors[i].Join(a.Aggregate)
		} else {
			r.Sensors = slices.Insert(r.Sensors, i, a)
		}
	}
}
