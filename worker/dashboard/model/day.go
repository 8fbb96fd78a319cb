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

// A DayQuery asks for a tenant's day.
type DayQuery struct {
	Tenant string
	Sensor string     // empty: the number that most of its devices have
	Day    schema.Day // in UTC
}

// A tenantDay is what was read of a tenant's day.
type tenantDay struct {
	hours      map[tables.Ticks]*hour
	devices    int
	whole      bool // every device is in it
	unreadable int
}

// An hour is one window of a tenant's day.
type hour struct {
	count   int64
	sum     float64
	min     float64
	max     float64
	devices int
}

const (
	// dayPages limits the pages that are read of a tenant's day: about 1,600 devices by the hour. Of a larger
	// tenant, some devices of each month are read.
	dayPages = 40
	dayAge   = 30 * time.Second
)

// Day returns a sensor's day over the devices of a tenant.
func (s *Store) Day(ctx context.Context, q DayQuery) (Series, Read, error) {
	ctx = s.counted(ctx)
	if _, known := s.index.only(q.Tenant); !known || q.Tenant == "" {
		return Series{}, Read{}, fmt.Errorf("tenant %s: %w", q.Tenant, ErrUnknown)
	}
	q.Sensor = cmp.Or(q.Sensor, s.FirstSensor(q.Tenant))
	begin := q.Day.Start()
	out := Series{Sensor: q.Sensor, Unit: s.unit(q.Sensor), From: begin.Time(), To: begin.Add(24 * time.Hour).Time(),
		Points: []Point{}}
	window, any := s.windowNear(schema.Hour)
	if !any || q.Sensor == "" {
		return out, Read{}, nil
	}
	out.Window = window.String()
	key := fmt.Sprintf("%q %s %s %s", q.Tenant, q.Day, window, q.Sensor)
	d, read, err := s.days.get(ctx, key, dayAge, func(ctx context.Context) (tenantDay, error) {
		return s.day(ctx, schema.Tenant(q.Tenant), q.Day, window, q.Sensor)
	})
	out.Operations, out.Devices, out.Some, out.Unreadable = read.Operations, d.devices, !d.whole, d.unreadable
	for _, at := range slices.Sorted(maps.Keys(d.hours)) {
		h := d.hours[at]
		mean := h.sum / float64(h.count)
		out.Points = append(out.Points, Point{Time: at.Time(), Count: h.count, Min: &h.min, Max: &h.max, Mean: &mean,
			Devices: h.devices})
	}
	return out, read, err
}

// windowNear returns the longest window that is at most w, or the shortest one.
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

// day reads a tenant's day, or some devices of each month where it is large.
func (s *Store) day(ctx context.Context, t schema.Tenant, day schema.Day, window schema.Window,
	sensor string) (tenantDay, error) {
	of, _ := s.index.only(string(t))
	perDevice := int(24 * time.Hour / time.Duration(window))
	if s.index.total(of)*perDevice <= (dayPages-1)*1000 {
		p := schema.RollupPartition{Tenant: t, Window: window, Day: day}
		return s.sumDay(ctx, []tables.Range{{Partitions: p.TenantDay()}}, dayPages, sensor)
	}
	var ranges []tables.Range
	places, months := s.index.spread(of, dayPages)
	read := 0
	for i, at := range places {
		p := schema.RollupPartition{Tenant: t, Window: window, Day: day, Month: at.month}
		part := tables.Range{Partitions: tables.Is(p.String())}
		if i > 0 && places[i-1].month == at.month {
			part.Rows.From = at.device
		} else {
			read++
		}
		if i+1 < len(places) && places[i+1].month == at.month {
			part.Rows.Before = places[i+1].device // or a device would count twice
		}
		ranges = append(ranges, part)
	}
	d, err := s.sumDay(ctx, ranges, 1, sensor)
	d.whole = d.whole && read == months
	return d, err
}

// sumDay sums what a few pages of each range have. A device whose rows are cut off by a page counts for as
// many hours as were read.
func (s *Store) sumDay(ctx context.Context, ranges []tables.Range, maxPages int, sensor string) (tenantDay, error) {
	parts := make([]tenantDay, len(ranges))
	err := each(ctx, len(ranges), func(ctx context.Context, i int) error {
		part := &parts[i]
		*part = tenantDay{hours: map[tables.Ticks]*hour{}}
		more, last := false, schema.DeviceID("")
		err := s.aggregates(ctx, ranges[i], sensor, maxPages, &more, &part.unreadable, func(row schema.RollupRow,
			a rollup.Aggregate) {
			part.hour(row.Bucket).join(&hour{count: a.Count, sum: a.Sum, min: a.Min, max: a.Max, devices: 1})
			if row.Device != last {
				last, part.devices = row.Device, part.devices+1
			}
		})
		part.whole = !more
		return err
	})
	sum := tenantDay{hours: map[tables.Ticks]*hour{}, whole: true}
	for _, p := range parts {
		sum.devices += p.devices
		sum.unreadable += p.unreadable
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

// join keeps sums finite, as rollups do: JSON has no infinity.
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

// spread returns n devices of a tenant, evenly spread over the order of output keys, and the number of
// months that the tenant's devices have.
func (x *index) spread(of tenantFilter, n int) (places []place, months int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var all []place
	seen := map[uint16]bool{}
	for i := range x.devices {
		if d := &x.devices[i]; of.includes(d.tenant) {
			all = append(all, place{x.monthOf[d.month], d.id})
			seen[d.month] = true
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
	return slices.Compact(places), len(seen)
}

// sensorsOnly returns the properties of an output that are sensors.
func sensorsOnly(e tables.Entity) []tables.Property {
	return slices.DeleteFunc(slices.Clone(e.Properties), func(p tables.Property) bool { return jobs.IsReserved(p.Name) })
}
