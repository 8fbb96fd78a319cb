package model

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A DayQuery asks for a tenant's day.
type DayQuery struct {
	Tenant string
	Sensor string      `query:"sensor"` // empty: the number that most of its devices have
	Day    *schema.Day `query:"day"`    // in UTC; nil: today
}

// On returns the day.
func (q DayQuery) On(now time.Time) schema.Day {
	if q.Day != nil {
		return *q.Day
	}
	return schema.DayOf(tables.TicksOf(now))
}

type tenantDay struct {
	hours   map[tables.Ticks]*hour
	devices int
	some    bool // devices are missing
	skipped query.Skipped
}

type hour struct {
	sum     rollup.Timed // without times
	devices int
}

const (
	// dayPages limits the pages that are read of a tenant's day: about 1,600 devices by the hour. Of a larger
	// tenant, some devices of each month are read.
	dayPages = 40
	dayAge   = 30 * time.Second
)

// Day returns a sensor's day over the devices of a tenant.
func (cs *Charts) Day(ctx context.Context, q DayQuery) (Series, error) {
	q.Tenant = scoped(ctx, q.Tenant)
	if q.Tenant == "" || !cs.accounts.index.hasTenant(q.Tenant) {
		return Series{}, fmt.Errorf("tenant %s: %w", q.Tenant, ErrUnknown)
	}
	if _, is := Rated(q.Sensor); is {
		return Series{}, queryErrorf("a tenant's day has no rates: ask for a sensor, or for the rates of a device")
	}
	day := q.On(time.Now())
	span := daySpan(day)
	if err := cs.sensors.since(q.Tenant, span.From.Time()).checkSensor(q.Tenant, q.Sensor); err != nil {
		return Series{}, ofParam("sensor", err)
	}
	q.Sensor = cmp.Or(q.Sensor, cs.sensors.ofTenant(q.Tenant).first())
	out := Series{Sensor: q.Sensor, Unit: cs.accounts.Configured().unit(q.Sensor),
		From: span.From.Time(), To: span.To.Time(), Points: []Point{}}
	window, any := cs.accounts.Configured().windowNear(schema.Hour)
	if !any || q.Sensor == "" {
		return out, nil
	}
	out.Window = window.String()
	key := fmt.Sprintf("%q %s %s %s", q.Tenant, day, window, q.Sensor)
	d, err := cs.days.get(ctx, key, dayAge, func(ctx context.Context) (tenantDay, error) {
		return cs.day(ctx, schema.Tenant(q.Tenant), query.Question{Span: span, Window: window, Sensors: []string{q.Sensor}})
	})
	out.Devices, out.Some, out.Unreadable = d.devices, d.some, int(d.skipped.N)
	for _, at := range slices.Sorted(maps.Keys(d.hours)) {
		p := pointOf(at, d.hours[at].sum.Aggregate)
		p.First, p.Last, p.Devices = nil, nil, d.hours[at].devices
		out.Points = append(out.Points, p)
	}
	return out, err
}

func daySpan(d schema.Day) query.Span { return query.Span{From: d.Start(), To: endOf(d)} }

// endOf returns when the next day begins. The last day ends with the last time, because JSON has no year 10000.
func endOf(d schema.Day) tables.Ticks { return min((d + 1).Start(), tables.MaxTicks) }

// day sums a tenant's day, or that of some devices of each month where the tenant is large. A device whose
// rows are cut off by a page counts for as many hours as were read.
func (cs *Charts) day(ctx context.Context, t schema.Tenant, q query.Question) (d tenantDay, err error) {
	d.hours = map[tables.Ticks]*hour{}
	q.Pages = dayPages
	last := schema.DeviceID("")
	for b, err := range cut(query.Readable(cs.accounts.sampled(ctx, q, t, dayPages, &d.some), &d.skipped), &d.some) {
		if err != nil {
			return d, err
		}
		if b.Device != last {
			last, d.devices = b.Device, d.devices+1
		}
		if d.hours[b.Start] == nil {
			d.hours[b.Start] = &hour{}
		}
		d.hours[b.Start].sum.Join(rollup.Timed{Aggregate: b.Sensors[0].Aggregate})
		d.hours[b.Start].devices++
	}
	return d, nil
}

// A homeIn is a home in an account.
type homeIn struct {
	query.Home
	account uint16
}

// sampled yields the buckets of a tenant's devices. Where these are too many to read all with so many pages, it reads
// some devices of each month, and sets some if it leaves out months.
func (as *Accounts) sampled(
	ctx context.Context, q query.Question, t schema.Tenant, pages int, some *bool,
) iter.Seq2[query.Bucket, error] {
	var homes []homeIn
	windows := int(q.Span.Length() / time.Duration(q.Window))
	days := max(1, int(q.Span.Length()/(24*time.Hour)))
	if as.index.total(string(t))*windows > (pages-days)*1000 {
		q.Pages = 1
		homes, *some = as.spread(t, max(1, pages/days))
	}
	return as.rollups(ctx, q, t, homes)
}

// rollups yields the buckets of a tenant's devices, or of those in homes, one account after the other.
func (as *Accounts) rollups(
	ctx context.Context, q query.Question, t schema.Tenant, homes []homeIn,
) iter.Seq2[query.Bucket, error] {
	return chained(ctx, as, func(a *account) iter.Seq2[query.Bucket, error] {
		ask := q
		if homes == nil {
			ask.Scope = query.ScopeOfTenant(t)
			return a.fleet.Outputs().Rollups(ctx, ask)
		}
		var own []query.Home
		for _, h := range homes {
			if h.account == a.number {
				own = append(own, h.Home)
			}
		}
		ask.Scope = query.Homes(own)
		return a.fleet.Outputs().Rollups(ctx, ask)
	})
}

// spread cuts a tenant's devices into at most n ranges with about the same number of devices, in the order of
// output keys. It also reports whether there are months without a range.
func (as *Accounts) spread(t schema.Tenant, n int) (homes []homeIn, missing bool) {
	type place struct {
		month  monthIn
		device string
	}
	x := as.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	var all []place
	months := map[uint16]bool{}
	for d := range x.of(string(t)) {
		all = append(all, place{x.monthOf[d.month], d.id})
		months[d.month] = true
	}
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.month.account, b.month.account), a.month.Month.Compare(b.month.Month),
			strings.Compare(a.device, b.device))
	})
	began := 0
	for i := range min(n, len(all)) {
		at := all[i*len(all)/min(n, len(all))]
		p := schema.LatestPartition{Tenant: t, Month: at.month.Month}
		home := homeIn{query.Home{LatestPartition: p}, at.month.account}
		if i > 0 && homes[i-1].Month == at.month.Month && homes[i-1].account == at.month.account {
			home.IDs.From = at.device
			homes[i-1].IDs.Before = at.device // or a device would count twice
		} else {
			began++
		}
		homes = append(homes, home)
	}
	return homes, began < len(months)
}
