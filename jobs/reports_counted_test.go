package jobs_test

import (
	"fmt"
	"math"

	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// marks returns the marks of the fleet.
func (f *reported) marks() []tables.Entity {
	q := tables.Query{Range: schema.Marks(jobstest.Month, schema.ReportMark)}
	return jobstest.Rows(f.t, f.World.Connect(f.t, nil).Table(f.Names.Partitions("live")), q)
}

// reports returns what a reader sees of all reports.
func (f *reported) reports() map[string]query.ReportAggregate {
	f.t.Helper()
	all := map[string]query.ReportAggregate{}
	f.questions(func(reader query.Fleet, q query.ReportQuestion) {
		for r, err := range reader.Reports().List(f.t.Context(), q) {
			must.Succeed(f.t, err)
			for _, a := range r.Sensors {
				all[fmt.Sprint(q.Tenant, q.Window, q.By, r.Group, r.Start, a.Sensor)] = a
			}
		}
	})
	return all
}

// questions asks for the reports of all tenants, windows and groups.
func (f *reported) questions(ask func(query.Fleet, query.ReportQuestion)) {
	f.t.Helper()
	reader := query.Fleet{Tables: f.World.Connect(f.t, nil), Names: f.Names}
	span := query.Span{From: tables.TicksOf(reportedSince.AddDate(0, -2, 0)),
		To: tables.TicksOf(reportedSince.AddDate(0, 2, 0))}
	for _, tenant := range []schema.Tenant{"t0", "t1"} {
		for _, w := range []schema.Window{schema.Hour, schema.Daily} {
			for _, by := range []schema.By{schema.ByTenant, schema.BySite, "labels.class"} {
				ask(reader, query.ReportQuestion{Tenant: tenant, By: by, Window: w, Span: span})
			}
		}
	}
}

// counted computes reports from the readings, one by one.
func (f *reported) counted() map[string]query.ReportAggregate {
	all, devices := map[string]query.ReportAggregate{}, map[string]map[string]bool{}
	f.eachGroup(func(e tables.Entity, group string, at tables.Ticks) {
		for _, p := range e.Properties {
			if p.Name == "door" {
				continue
			}
			key := group + p.Name
			a := all[key]
			if devices[key] == nil {
				devices[key] = map[string]bool{}
			}
			devices[key][e.PartitionKey] = true
			a.Sensor, a.Devices = p.Name, int64(len(devices[key]))
			add(&a, at, p.Value.Float())
			all[key] = a
		}
	})
	return all
}

// eachGroup yields each reading with each group and bucket that it belongs to.
func (f *reported) eachGroup(yield func(e tables.Entity, group string, at tables.Ticks)) {
	for _, e := range f.rows {
		m := f.members[schema.DeviceID(e.PartitionKey)]
		at := must.Have(tables.ParseTicks(e.RowKey))(f.t)
		for _, w := range []schema.Window{schema.Hour, schema.Daily} {
			was := f.placedAt(m.Device, w.Start(at))
			groups := map[schema.By]string{schema.ByTenant: ""}
			if was.site != "" {
				groups[schema.BySite] = string(was.site)
			}
			if was.class != "" {
				groups["labels.class"] = was.class
			}
			for by, group := range groups {
				yield(e, fmt.Sprint(m.Tenant, w, by, group, w.Start(at)), at)
			}
		}
	}
}

// add adds a number. No two readings of these fleets have the same time.
func add(a *query.ReportAggregate, at tables.Ticks, n float64) {
	if a.Count == 0 {
		a.Min, a.Max, a.First, a.Last, a.FirstAt, a.LastAt = n, n, n, n, at, at
	}
	a.Count, a.Sum, a.Min, a.Max = a.Count+1, a.Sum+n, math.Min(a.Min, n), math.Max(a.Max, n)
	if at < a.FirstAt {
		a.First, a.FirstAt = n, at
	}
	if at > a.LastAt {
		a.Last, a.LastAt = n, at
	}
}

// check compares reports with the readings. Their sums may differ in the last digits.
func (f *reported) check(about ...any) {
	f.t.Helper()
	got, want := f.reports(), f.counted()
	for key, w := range want {
		g := got[key]
		if math.Abs(g.Sum-w.Sum) > 1e-9*math.Abs(w.Sum) {
			f.t.Fatalf("%s%s: sum %v, want %v", fmt.Sprint(about...), key, g.Sum, w.Sum)
		}
		if g.Sum = w.Sum; g != w {
			f.t.Fatalf("%s%s: the report is\n%+v\nwant\n%+v", fmt.Sprint(about...), key, g, w)
		}
	}
	if len(got) != len(want) {
		f.t.Fatalf("%s%d reports, want %d", fmt.Sprint(about...), len(got), len(want))
	}
	stored, counted := f.stored(), f.countedRows()
	for key, want := range counted {
		if stored[key] != want {
			f.t.Fatalf("%s%s: the report says that %+v is stored, want %+v", fmt.Sprint(about...), key, stored[key], want)
		}
	}
	if len(stored) != len(counted) {
		f.t.Fatalf("%s%d reports of what is stored, want %d", fmt.Sprint(about...), len(stored), len(counted))
	}
}

// stored returns what a reader sees of stored readings in all reports.
func (f *reported) stored() map[string]schema.Stored {
	f.t.Helper()
	all := map[string]schema.Stored{}
	f.questions(func(reader query.Fleet, q query.ReportQuestion) {
		for s, err := range reader.Reports().Stored(f.t.Context(), q) {
			must.Succeed(f.t, err)
			key := fmt.Sprint(q.Tenant, q.Window, q.By, s.Group, s.Start)
			sum := all[key]
			sum.Add(s.Stored)
			all[key] = sum
		}
	})
	return all
}

// countedRows computes what is stored from the readings, one by one.
func (f *reported) countedRows() map[string]schema.Stored {
	all, seen := map[string]schema.Stored{}, map[string]bool{}
	f.eachGroup(func(e tables.Entity, group string, _ tables.Ticks) {
		s, device := schema.Stored{Rows: 1, Bytes: int64(e.Size())}, group+e.PartitionKey
		if !seen[device] {
			seen[device], s.Devices = true, 1
		}
		sum := all[group]
		sum.Add(s)
		all[group] = sum
	})
	return all
}
