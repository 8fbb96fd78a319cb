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
	Part   int    // as of Newest
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
		all := decoded(r.table, schema.Joined(rows, schema.LatestOutput), outputs(schema.ParseLatestRow, q.newestRates))
		return selected(all, func(n *NewestRates) (keep bool, err error) {
			n.Model, keep, err = s.selects(ctx, n.Device, nil)
			n.Part = 0
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

func (q Question) newestRates(row schema.LatestRow, e tables.Entity, report report) (n NewestRates, wanted bool) {
	n.Device, n.Part = row.Device, max(1, row.Part)
	n.Values = parsedSensors(q, e, report, func(sensor, text string) (Rate, error) {
		l, err := rate.ParseLatest(text)
		return Rate{sensor, l}, err
	})
	return n, len(n.Values) > 0
}

// Rates are the buckets that touch the span, device after device, each in the order of
// time. A bucket begins with the difference to the last reading before it. The question has no condition.
func (f Outputs) Rates(ctx context.Context, q Question) iter.Seq2[RateBucket, error] {
	return Limited(afterSkipped(q.Scope, func(yield func(RateBucket, error) bool) {
		each(Devices(f).membershipsOf(ctx, q), yield, func(all []schema.Member) bool {
			return yieldAll(f.ratesByTime(ctx, q, all), yield)
		})
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
		yieldAll(Records(buckets, nil), yield)
	}
}

// deviceRates are the buckets of one device and tenant. It reads those of the day before the span,
// too, for the readings before the first ones.
func (f Outputs) deviceRates(ctx context.Context, q Question, m schema.Member) iter.Seq2[RateBucket, error] {
	begin := q.Window.Start(q.Span.From)
	q.Scope, q.Limit, q.Filter = ScopeOf(m), 0, Filter{}
	q.Span.From = schema.DayOf(max(q.Span.From.Add(-24*time.Hour), 0)).Start()
	past := f.pastRates(q)
	return func(yield func(RateBucket, error) bool) {
		for sums, err := range f.summaries(ctx, q) {
			b := RateBucket{Tenant: m.Tenant, Device: m.Device, Window: q.Window, Start: sums.start, Model: q.Models.modelOf(m)}
			for i := 0; i < len(sums.sensors) && err == nil; i++ {
				s := &sums.sensors[i]
				var t rate.Tally
				if t, err = past.since(ctx, s.sensor, &s.Summary); t.Count > 0 {
					b.Sensors = append(b.Sensors, RateTally{s.sensor, t, s.Position})
				}
			}
			if err == nil && (b.Start < begin || len(b.Sensors) == 0) {
				continue
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// A summed is what a bucket holds.
type summed struct {
	start   tables.Ticks
	sensors []summary
}

// A summary is what a bucket holds of a sensor.
type summary struct {
	sensor string
	rate.Summary
}

// summaries are what the buckets of one device hold.
func (f Outputs) summaries(ctx context.Context, q Question) iter.Seq2[summed, error] {
	rows := inOrder(ctx, sources(q.bucketRanges(ctx, f.rates()), plain), false)
	parts := schema.Joined(rows, schema.RollupOutput)
	return decoded(f.rates(), parts, outputs(schema.ParseRollupRow,
		func(row schema.RollupRow, e tables.Entity, report report) (summed, bool) {
			sensors := parsedSensors(q, e, report, func(sensor, text string) (summary, error) {
				s, err := rate.ParseSummary(text)
				return summary{sensor, s}, err
			})
			return summed{row.Bucket, sensors}, true
		}))
}

// pastRates is what is known of the sensors of a device before a bucket.
type pastRates struct {
	outputs Outputs
	past    Question      // about the days before those that are read anyway, up to what was read of them
	least   tables.Ticks  // that it is about
	days    time.Duration // to read next
	before  map[string]*rate.Before
}

// mostPause is for how long before the span a counter's last reading is looked for.
const mostPause = 400 * 24 * time.Hour

func (f Outputs) pastRates(q Question) *pastRates {
	q.Window, q.Span.To, q.Pages = schema.Daily, q.Span.From, 0
	return &pastRates{outputs: f, past: q, least: max(q.Span.To.Add(-mostPause), 0), days: 8 * 24 * time.Hour,
		before: map[string]*rate.Before{}}
}

// since returns the tally of a bucket. What a counter rose over a pause counts, so its last reading is looked for
// further back, with more days each time.
func (p *pastRates) since(ctx context.Context, sensor string, s *rate.Summary) (rate.Tally, error) {
	complete := func() bool { return p.before[sensor] != nil && p.before[sensor].Complete() }
	for s.Counter != nil && !complete() && p.past.Span.To > p.least {
		if err := p.search(ctx); err != nil {
			return rate.Tally{}, err
		}
	}
	if p.before[sensor] == nil {
		p.before[sensor] = &rate.Before{}
	}
	return s.Since(p.before[sensor]), nil
}

// search reads the buckets of the next days backwards.
func (p *pastRates) search(ctx context.Context) error {
	p.past.Span.From = max(p.past.Span.To.Add(-p.days), p.least)
	found := map[string]*rate.Before{}
	for b, err := range p.outputs.summaries(ctx, p.past) {
		if err != nil {
			return err
		}
		for _, s := range b.sensors {
			if found[s.sensor] == nil {
				found[s.sensor] = &rate.Before{}
			}
			s.Since(found[s.sensor])
		}
	}
	for name, older := range found {
		if p.before[name] == nil {
			p.before[name] = older
		} else {
			p.before[name].After(older)
		}
	}
	p.past.Span.To, p.days = p.past.Span.From, 4*p.days
	return nil
}
