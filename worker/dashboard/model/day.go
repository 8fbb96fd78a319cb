package model

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"furrow/jobs"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// A DayQuery is what a tenant's day was asked for.
type DayQuery struct {
	Tenant string
	Sensor string     // empty: the number that most of its devices have
	Day    schema.Day // in UTC
}

// A tenantDay is what was read of a tenant's day.
type tenantDay struct {
	hours   map[tables.Ticks]*hour
	devices int
	whole   bool // no device was left out
}

// An hour is a window of a tenant's day.
type hour struct {
	count   int64
	sum     float64
	min     float64
	max     float64
	devices int
}

const (
	// dayPages bounds what is read of a tenant's day: some 1,600 devices by the hour.
	// Of more devices, it is some of each month that say how the day was.
	dayPages = 40
	dayFor   = 30 * time.Second
)

// Day is a sensor's day over the devices of a tenant.
func (s *Store) Day(ctx context.Context, ask DayQuery) (Series, Read, error) {
	ctx = s.counted(ctx)
	if _, known := s.index.whose(ask.Tenant); !known || ask.Tenant == "" {
		return Series{}, Read{}, fmt.Errorf("tenant %s: %w", ask.Tenant, ErrUnknown)
	}
	if ask.Sensor == "" {
		ask.Sensor = s.sensors(ask.Tenant).first()
	}
	begin := ask.Day.Start()
	out := Series{Sensor: ask.Sensor, Unit: s.unit(ask.Sensor), From: begin.Time(), To: begin.Add(24 * time.Hour).Time(), Points: []Point{}}
	window, any := s.windowNear(schema.Hour)
	if !any || ask.Sensor == "" {
		return out, Read{}, nil
	}
	out.Window = window.String()
	d, read, err := s.days.get(ctx, fmt.Sprintf("%s %s %s %s", ask.Tenant, ask.Day, window, ask.Sensor), dayFor, func(ctx context.Context) (tenantDay, error) {
		return s.day(ctx, schema.Tenant(ask.Tenant), ask.Day, window, ask.Sensor)
	})
	out.Operations, out.Devices, out.Some = read.Operations, d.devices, !d.whole
	for _, at := range slices.Sorted(maps.Keys(d.hours)) {
		h := d.hours[at]
		mean := h.sum / float64(h.count)
		out.Points = append(out.Points, Point{Time: at.Time(), Count: h.count, Min: &h.min, Max: &h.max, Mean: &mean, Devices: h.devices})
	}
	return out, read, err
}

// windowNear is the longest window that is no longer than one, or the shortest of all.
func (s *Store) windowNear(w schema.Window) (schema.Window, bool) {
	all := s.windows()
	if len(all) == 0 {
		return 0, false
	}
	best := all[0]
	for _, other := range all {
		if other <= w {
			best = other
		}
	}
	return best, true
}

// day reads a tenant's day, or a part of the devices of each month where it is large.
func (s *Store) day(ctx context.Context, t schema.Tenant, day schema.Day, window schema.Window, sensor string) (tenantDay, error) {
	of, _ := s.index.whose(string(t))
	perDevice := int(24 * time.Hour / time.Duration(window))
	if s.index.total(of)*perDevice <= (dayPages-1)*1000 {
		p := schema.RollupPartition{Tenant: t, Window: window, Day: day}
		return s.sumDay(ctx, []tables.Range{{Partitions: p.TenantDay()}}, dayPages, sensor)
	}
	var ranges []tables.Range
	places, months := s.index.spread(of, dayPages), 0
	for i, at := range places {
		p := schema.RollupPartition{Tenant: t, Window: window, Day: day, Month: at.month}
		part := tables.Range{Partitions: tables.Is(p.String())}
		if i > 0 && places[i-1].month == at.month {
			part.Rows.From = at.device
		} else {
			months++
		}
		if i+1 < len(places) && places[i+1].month == at.month {
			part.Rows.Before = places[i+1].device // or a device counts twice
		}
		ranges = append(ranges, part)
	}
	d, err := s.sumDay(ctx, ranges, 1, sensor)
	d.whole = d.whole && months == s.index.monthsOf(of)
	return d, err
}

// monthsOf is how many months the devices of a tenant are of.
func (x *index) monthsOf(of whose) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	months := map[uint16]bool{}
	for i := range x.devices {
		if d := &x.devices[i]; of.all || d.tenant == of.tenant {
			months[d.month] = true
		}
	}
	return len(months)
}

// sumDay sums what a few pages of ranges have. A device whose rows a page cuts off
// counts for as many hours as were read.
func (s *Store) sumDay(ctx context.Context, ranges []tables.Range, most int, sensor string) (tenantDay, error) {
	parts := make([]tenantDay, len(ranges))
	err := each(ctx, len(ranges), func(ctx context.Context, i int) error {
		part := tenantDay{hours: map[tables.Ticks]*hour{}}
		more, last := false, schema.DeviceID("")
		for e, err := range s.rowsOrMore(ctx, s.c.Names.Rollups(), tables.Query{Range: ranges[i], Select: []string{sensor}}, most, &more) {
			if err != nil {
				return err
			}
			row, err := schema.ParseRollupRow(e.RowKey)
			if err != nil {
				continue
			}
			if a, err := rollup.ParseAggregate(e.Get(sensor).Text()); err == nil && a.Count > 0 {
				part.add(row.Bucket, a)
				if row.Device != last {
					last, part.devices = row.Device, part.devices+1
				}
			}
		}
		part.whole = !more
		parts[i] = part
		return nil
	})
	sum := tenantDay{hours: map[tables.Ticks]*hour{}, whole: true}
	for _, p := range parts {
		sum.devices += p.devices
		sum.whole = sum.whole && p.whole
		for at, h := range p.hours {
			sum.hour(at).join(h)
		}
	}
	return sum, err
}

func (d *tenantDay) hour(at tables.Ticks) *hour {
	h := d.hours[at]
	if h == nil {
		h = &hour{min: math.Inf(1), max: math.Inf(-1)}
		d.hours[at] = h
	}
	return h
}

func (d *tenantDay) add(at tables.Ticks, a rollup.Aggregate) {
	d.hour(at).join(&hour{count: a.Count, sum: a.Sum, min: a.Min, max: a.Max, devices: 1})
}

// join keeps sums finite, as a rollup does: JSON has no infinity.
func (h *hour) join(o *hour) {
	h.count += o.count
	h.sum = min(max(h.sum+o.sum, -math.MaxFloat64), math.MaxFloat64)
	h.min, h.max = min(h.min, o.min), max(h.max, o.max)
	h.devices += o.devices
}

// A place is where a device is among the keys of outputs.
type place struct {
	month  schema.Month
	device string
}

// spread are n places among the devices of a tenant, as far from each other as may
// be, in the order of the keys.
func (x *index) spread(of whose, n int) (places []place) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var all []place
	for i := range x.devices {
		if d := &x.devices[i]; of.all || d.tenant == of.tenant {
			all = append(all, place{x.monthOf[d.month], d.id})
		}
	}
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(a.month.Compare(b.month), strings.Compare(a.device, b.device))
	})
	for i := range n {
		if at := i * len(all) / n; at < len(all) {
			places = append(places, all[at])
		}
	}
	return slices.Compact(places)
}

// sensorsOnly are the properties of an output that sensors have.
func sensorsOnly(e tables.Entity) []tables.Property {
	return slices.DeleteFunc(slices.Clone(e.Properties), func(p tables.Property) bool { return jobs.IsReserved(p.Name) })
}
