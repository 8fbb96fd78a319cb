package query

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"furrow/jobs/rate"
	"furrow/tables"
	"furrow/tables/schema"
)

// NewestRates are the newest rates of each sensor of a device.
type NewestRates struct {
	Device schema.DeviceID
	Values []Rate
	Model  *Model // of the device; nil: unknown
}

// A Rate is that of one sensor.
type Rate struct {
	Sensor string
	rate.Latest
}

// RateBucket is the rates of one device in a window of time.
type RateBucket struct {
	Tenant  schema.Tenant // of the device then
	Device  schema.DeviceID
	Window  schema.Window
	Start   tables.Ticks
	Sensors []RateTally
	Model   *Model // of the device; nil: unknown
}

// A RateTally sums up the rates of one sensor.
type RateTally struct {
	Sensor string
	rate.Tally
	Position *rate.Position // of the device at the last reading; nil where no reading tells
}

// NewestRates are the newest rates of the scope's devices, in the order of Latest. The question has no condition.
func (f Outputs) NewestRates(ctx context.Context, q Question) iter.Seq2[NewestRates, error] {
	rates := func(ctx context.Context, r read, rows iter.Seq2[tables.Entity, error]) iter.Seq2[NewestRates, error] {
		s := Devices(f).selection(q, r.home)
		all := decoded(r.table, schema.Joined(rows, schema.LatestOutput), outputs(q.newestRates))
		return selected(all, func(n *NewestRates) (keep bool, err error) {
			n.Model, keep, err = s.selects(ctx, n.Device, nil)
			return keep, err
		})
	}
	found := inOrder(ctx, sources(q.latestRanges(ctx, f.rates(), schema.NewestRatesOfTenant), rates), q.searching())
	return Limited(afterSkipped(q.Scope, found), q.Limit)
}

// ChangedRates is for rates what ChangedLatest is for newest values.
func (f Outputs) ChangedRates(
	ctx context.Context, p schema.LatestPartition, since tables.Ticks, take func([]NewestRates),
) (at time.Time, pages int, err error) {
	return changed(ctx, f.rates(), p, since, Question{}.newestRates, take)
}

func (q Question) newestRates(e tables.Entity, report report) (n NewestRates, wanted bool) {
	row, err := schema.ParseLatestRow(e.RowKey)
	if err != nil {
		report("", err)
		return n, false
	}
	n.Device = row.Device
	for _, p := range q.sensors(e) {
		l, err := rate.ParseLatest(p.Value.Text())
		if err != nil {
			report(p.Name, err)
			continue
		}
		n.Values = append(n.Values, Rate{p.Name, l})
	}
	return n, len(n.Values) > 0
}

// Rates are the buckets that touch the span, device after device, each in the order of
// time. A bucket begins with the difference to the last reading before it. The question has no condition.
func (f Outputs) Rates(ctx context.Context, q Question) iter.Seq2[RateBucket, error] {
	return Limited(afterSkipped(q.Scope, func(yield func(RateBucket, error) bool) {
		for memberships, err := range Devices(f).membershipsOf(ctx, q) {
			if err != nil {
				if !yield(RateBucket{}, err) || !isUnreadable(err) {
					return
				}
				continue
			}
			for b, err := range f.ratesByTime(ctx, q, memberships) {
				if !yield(b, err) {
					return
				}
			}
		}
	}), q.Limit)
}

// ratesByTime are the buckets of one device: of each of its tenants, in the order of time.
func (f Outputs) ratesByTime(ctx context.Context, q Question, all []schema.Member) iter.Seq2[RateBucket, error] {
	if len(all) == 1 {
		return f.deviceRates(ctx, q, all[0])
	}
	return func(yield func(RateBucket, error) bool) {
		var buckets []RateBucket
		for _, m := range all {
			for b, err := range f.deviceRates(ctx, q, m) {
				if err == nil {
					buckets = append(buckets, b)
				} else if !yield(b, err) {
					return
				}
			}
		}
		slices.SortStableFunc(buckets, func(a, b RateBucket) int { return cmp.Compare(a.Start, b.Start) })
		for _, b := range buckets {
			if !yield(b, nil) {
				return
			}
		}
	}
}

// deviceRates are the buckets of one device and tenant. It reads those of the day before the span,
// too, for the readings before the first ones.
func (f Outputs) deviceRates(ctx context.Context, q Question, m schema.Member) iter.Seq2[RateBucket, error] {
	begin := q.Window.Start(q.Span.From)
	q.Scope, q.Limit = ScopeOf(m), 0
	q.Span.From = max(q.Span.From.Add(-24*time.Hour), 0)
	earlier := map[string]*rate.Summary{}
	q.Filter = Filter{}
	rows := inOrder(ctx, sources(q.bucketRanges(ctx, f.rates()), plain), false)
	parts := schema.Joined(rows, schema.RollupOutput)
	return decoded(f.rates(), parts, outputs(func(e tables.Entity, report report) (b RateBucket, wanted bool) {
		row, err := schema.ParseRollupRow(e.RowKey)
		if err != nil {
			report("", err)
			return b, false
		}
		b = RateBucket{Tenant: m.Tenant, Device: m.Device, Window: q.Window, Start: row.Bucket, Model: q.Models.of(m)}
		for _, p := range q.sensors(e) {
			s, err := rate.ParseSummary(p.Value.Text())
			if err != nil {
				report(p.Name, err)
				continue
			}
			if t := s.Since(earlier[p.Name]); t.Count > 0 {
				b.Sensors = append(b.Sensors, RateTally{p.Name, t, s.Position})
			}
			earlier[p.Name] = &s
		}
		return b, b.Start >= begin && len(b.Sensors) > 0
	}))
}
