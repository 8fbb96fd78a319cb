package query

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/cost"
)

// A CostQuestion asks what tenants cost.
type CostQuestion struct {
	Tenant    schema.Tenant // empty: all
	From, To  schema.Day    // both inclusive
	ByDay     bool
	Window    schema.Window // of reports, a day or a part of one
	Pipelines []schema.Pipeline
}

// countedBefore is how many days before a question devices are looked for that nobody has counted since.
const countedBefore = 7

// Costs returns what tenants cost. It takes a request for each pipeline, for each tenant with reports, and for each
// thousand rows of the days' tenants; and for each tenant and partition of the fleet with reports one or two for each
// year, or for each month if the window is shorter than a day.
func (f Reports) Costs(ctx context.Context, q CostQuestion, skipped *Skipped) (cost.Costs, error) {
	c := cost.Counted{From: q.From, To: q.To, Tenant: q.Tenant, ByDay: q.ByDay,
		Stored: map[schema.Tenant]map[schema.Day]schema.Stored{}}
	for _, p := range q.Pipelines {
		spent, err := Progress(f).runs(skipped).SpentDays(ctx, p, q.From, q.To)
		if err != nil {
			return cost.Costs{}, err
		}
		c.Spent = append(c.Spent, spent...)
	}
	var err error
	if c.Devices, err = f.tenantDevices(ctx, q.From-countedBefore, q.To, skipped); err != nil {
		return cost.Costs{}, err
	}
	tenants := []schema.Tenant{q.Tenant}
	if q.Tenant == "" {
		if tenants, err = f.tenants(ctx); err != nil {
			return cost.Costs{}, err
		}
	}
	var mu sync.Mutex
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(atOnce)
	for _, tenant := range tenants {
		reading.Go(func() error {
			var own Skipped
			stored, err := f.storedOn(ctx, tenant, q, &own)
			mu.Lock()
			defer mu.Unlock()
			skipped.N += own.N
			skipped.First = append(skipped.First, own.First...)
			if len(stored) > 0 {
				c.Stored[tenant] = stored
			}
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		return cost.Costs{}, err
	}
	out := cost.Of(c)
	out.Unreadable = skipped.N
	return out, nil
}

// tenants returns the tenants that have reports, also those whose devices nobody has counted: they came later on that
// day, have left, or brought the history of other months. Each takes a request.
func (f Reports) tenants(ctx context.Context) (all []schema.Tenant, err error) {
	key := func(pk string) string {
		tenant, _, _ := strings.Cut(pk, schema.Separator)
		return tenant
	}
	next := func(pk string) tables.Keys {
		return tables.Keys{From: tables.KeysWithPrefix(key(pk) + schema.Separator).Before}
	}
	for pk, err := range leaping(ctx, f.table(), tables.Keys{}, next) {
		if tables.Absent(err) { // no worker has created the table
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if t, err := schema.ParseTenantKey(key(pk)); err == nil {
			all = append(all, t)
		}
	}
	return all, nil
}

// storedOn returns what a tenant's devices have stored on each day.
func (f Reports) storedOn(
	ctx context.Context, t schema.Tenant, q CostQuestion, skipped *Skipped,
) (map[schema.Day]schema.Stored, error) {
	byDay := map[schema.Day]schema.Stored{}
	ask := ReportQuestion{Tenant: t, By: schema.ByTenant, Window: q.Window,
		Span: Span{From: q.From.Start(), To: (q.To + 1).Start()}}
	byBucket := map[tables.Ticks]schema.Stored{}
	for s, err := range Readable(f.Stored(ctx, ask), skipped) {
		if err != nil {
			return nil, err
		}
		sum := byBucket[s.Start]
		sum.Add(s.Stored)
		byBucket[s.Start] = sum
	}
	for _, start := range slices.Sorted(maps.Keys(byBucket)) {
		bucket, day := byBucket[start], schema.DayOf(start)
		sum := byDay[day]
		devices := max(sum.Devices, bucket.Devices) // of the bucket with most
		sum.Add(bucket)
		sum.Devices = devices
		byDay[day] = sum
	}
	return byDay, nil
}

// A StoredReport is what the devices of a group in one partition of the fleet have stored in a bucket.
type StoredReport struct {
	Group string
	Start tables.Ticks
	schema.Stored
}

// Stored yields what reports say about stored readings, one partition of the fleet after the other. Its parts of a
// report have no sensors.
func (f Reports) Stored(ctx context.Context, q ReportQuestion) iter.Seq2[StoredReport, error] {
	return func(yield func(StoredReport, error) bool) {
		each(f.partitions(ctx, q), yield, func(p schema.ReportPartition) bool {
			return yieldAll(f.storedIn(ctx, q, p), yield)
		})
	}
}

// storedIn yields those of one partition.
func (f Reports) storedIn(
	ctx context.Context, q ReportQuestion, p schema.ReportPartition,
) iter.Seq2[StoredReport, error] {
	read := read{table: f.table(), rows: q.Rows,
		query: tables.Query{Range: tables.Range{Partitions: tables.Is(p.String()), Rows: q.keys()},
			Select: []string{"PartitionKey", "RowKey", schema.FormatProperty, schema.StoredProperty}}}
	all := read.entities(ctx, func(tables.Page) bool { return true })
	return decoded(f.table(), all, outputs(schema.ParseReportRow,
		func(row schema.ReportRow, e tables.Entity, tell report) (StoredReport, bool) {
			stored, err := schema.StoredOf(e)
			if err != nil {
				tell(schema.StoredProperty, err)
			}
			return StoredReport{row.Group, row.Bucket, stored},
				stored.Rows > 0 && row.Bucket >= q.Window.Start(q.Span.From) && row.Bucket < q.Span.To
		}))
}

// tenantDevices returns the devices of tenants on each day on which somebody has counted them.
func (f Reports) tenantDevices(
	ctx context.Context, from, to schema.Day, skipped *Skipped,
) ([]schema.TenantDevices, error) {
	days := tables.Query{Range: schema.TenantDevicesIn(from, to)}
	return Collect(recordsOf(ctx, f.Tables.Table(f.Names.Runs()), days, schema.TenantDevicesOf), skipped)
}

// MonthDays returns the first and last day of the month of a time, but none after now.
func MonthDays(at, now time.Time) (from, to schema.Day) {
	first := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	from = schema.DayOf(tables.TicksOf(first))
	to = schema.DayOf(tables.TicksOf(first.AddDate(0, 1, 0))) - 1
	return from, max(from, min(to, schema.DayOf(tables.TicksOf(now))))
}
