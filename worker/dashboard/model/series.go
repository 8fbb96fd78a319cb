package model

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"furrow/jobs"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// A SeriesQuery asks for a chart of a device.
type SeriesQuery struct {
	Device   string
	Sensor   string // empty: the first of the device
	From, To time.Time
	Window   string // auto, raw or a size such as 1h; empty: auto
}

// A bucket is an aggregate of a sensor, or one reading.
type bucket struct {
	at tables.Ticks
	rollup.Aggregate
}

// points are the buckets of a chart: one more than maxPoints where there are more.
type points struct {
	buckets    []bucket
	unreadable int // rows that are in an unknown format
}

const (
	maxPoints = 2000 // of a series
	rawSpan   = time.Hour
	raw       = "raw"
	auto      = "auto"
)

// seriesAge is how long a read chart is used; longer for a longer span.
func seriesAge(span time.Duration) time.Duration {
	return min(max(span/1000, 3*time.Second), time.Minute)
}

// Series returns what a device has measured.
func (s *Store) Series(ctx context.Context, q SeriesQuery) (Series, Read, error) {
	ctx = s.counted(ctx)
	o, read, err := s.owner(ctx, q.Device)
	if err != nil {
		return Series{}, read, err
	}
	if q.Sensor == "" {
		var second Read
		if q.Sensor, second, err = s.firstSensor(ctx, o.member); err != nil {
			return Series{}, read, err
		}
		read = read.And(second)
	}
	out := Series{Sensor: q.Sensor, Unit: s.unit(q.Sensor), From: q.From.UTC(), To: q.To.UTC(), Points: []Point{},
		Operations: read.Operations}
	window, err := s.windowFor(q)
	if err != nil || q.Sensor == "" {
		return out, read, err
	}
	found, second, err := s.points(ctx, o.member, q, window)
	read = read.And(second)
	if window == 0 && len(found.buckets) > maxPoints && (q.Window == "" || q.Window == auto) {
		if window = s.shortest(q.To.Sub(q.From)); window != 0 {
			found, second, err = s.points(ctx, o.member, q, window)
			read = read.And(second)
		}
	}
	out.Window, out.Operations, out.Unreadable = raw, read.Operations, found.unreadable
	if window != 0 {
		out.Window = window.String()
	}
	out.More = len(found.buckets) > maxPoints
	for _, b := range found.buckets[:min(len(found.buckets), maxPoints)] {
		out.Points = append(out.Points, b.point(window))
	}
	return out, read, err
}

func (b bucket) point(window schema.Window) Point {
	p := Point{Time: b.at.Time()}
	if window == 0 {
		p.Value = &b.Last
		return p
	}
	mean := b.Sum / float64(b.Count)
	p.Count, p.Min, p.Max, p.Mean, p.First, p.Last = b.Count, &b.Min, &b.Max, &mean, &b.First, &b.Last
	return p
}

// windowFor returns the window that a query asks for; zero means single readings.
func (s *Store) windowFor(q SeriesQuery) (schema.Window, error) {
	span, from, to := q.To.Sub(q.From), q.From.Format(time.RFC3339), q.To.Format(time.RFC3339)
	if span <= 0 {
		return 0, queryErrorf("from must be before to: swap them")
	}
	switch q.Window {
	case raw:
		return 0, nil
	case "", auto:
		w := s.shortest(span)
		if span <= rawSpan || len(s.windows()) == 0 {
			return 0, nil
		}
		if w == 0 {
			return 0, queryErrorf("from %s to %s there are more than %d windows of any size: ask for a shorter time", from, to,
				maxPoints)
		}
		return w, nil
	}
	w, err := schema.ParseWindow(q.Window)
	if err != nil || !slices.Contains(s.windows(), w) {
		return 0, queryErrorf("there is no window %q; there are %s", q.Window, s.windowNames())
	}
	if int64(span/time.Duration(w)) > maxPoints {
		return 0, queryErrorf("from %s to %s there are more than %d windows of %s: ask for a shorter time or a longer window",
			from, to, maxPoints, w)
	}
	return w, nil
}

// windows returns the windows of all pipelines, the shortest first.
func (s *Store) windows() (all []schema.Window) {
	for _, p := range s.configured() {
		all = append(all, p.Windows...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *Store) windowNames() string {
	all := []string{auto, raw}
	for _, w := range s.windows() {
		all = append(all, w.String())
	}
	return strings.Join(all, ", ")
}

// shortest returns the shortest window whose points fit a series of span, or zero.
func (s *Store) shortest(span time.Duration) schema.Window {
	for _, w := range s.windows() {
		if int64(span/time.Duration(w)) <= maxPoints*3/4 {
			return w
		}
	}
	return 0
}

// firstSensor returns the sensor that maps begin with, or else the first number of the device, or else its
// first sensor.
func (s *Store) firstSensor(ctx context.Context, m schema.Member) (string, Read, error) {
	r, read, err := s.device(ctx, m)
	preferred, best, number := s.FirstSensor(string(m.Tenant)), "", false
	for _, v := range r.latest { // by name
		if v.Sensor == preferred {
			return preferred, read, err
		}
		if is := v.Is != jobs.State; best == "" || is && !number {
			best, number = v.Sensor, is
		}
	}
	return best, read, err
}

// points reads the buckets of a sensor of a device, or its readings where the window is zero.
func (s *Store) points(ctx context.Context, m schema.Member, q SeriesQuery, window schema.Window) (points, Read,
	error) {
	from, to := tables.TicksOf(q.From), tables.TicksOf(q.To)
	key := fmt.Sprintf("%s %s %d %s %s", q.Device, q.Sensor, window, from, to)
	return s.series.get(ctx, key, seriesAge(q.To.Sub(q.From)), func(ctx context.Context) (points, error) {
		if window == 0 {
			return s.readings(ctx, m, q.Sensor, from, to)
		}
		return s.buckets(ctx, m, q.Sensor, window, window.Start(from), to)
	})
}

// readings interprets readings as the pipelines do.
func (s *Store) readings(ctx context.Context, m schema.Member, sensor string, from, to tables.Ticks) (found points,
	err error) {
	const maxPages = 2 + maxPoints/1000
	sensors := s.sensorsOf()
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(m.Device)), Rows: tables.Keys{From: from.String(),
		Before: to.String()}}}
	for e, err := range s.rows(ctx, m.Readings, q, maxPages) {
		if err != nil {
			return found, err
		}
		reading, err := schema.ReadingOf(e)
		if err != nil {
			found.unreadable++
			continue
		}
		sample, _ := sensors.Sample(reading)
		for _, v := range sample.Values {
			if v.Sensor == sensor && v.Is == jobs.Number {
				found.buckets = append(found.buckets, bucket{reading.Key.Ticks, rollup.Aggregate{Count: 1, Last: v.Number}})
			}
		}
		if len(found.buckets) > maxPoints {
			break
		}
	}
	return found, nil
}

// sensorsOf returns the sensors' settings of the pipeline that writes newest values.
func (s *Store) sensorsOf() *jobs.Sensors {
	for _, p := range s.configured() {
		if p.Latest {
			return &p.Sensors
		}
	}
	return &jobs.Sensors{}
}

// maxParts is the largest number of entities of one output; one of them has the sensor.
const maxParts = 5

// buckets reads one range per day that can have any.
func (s *Store) buckets(ctx context.Context, m schema.Member, sensor string, window schema.Window, from,
	to tables.Ticks) (points, error) {
	first, last, err := s.daysWithRollups(ctx, schema.RollupPartition{Tenant: m.Tenant, Window: window,
		Day: schema.DayOf(from)}, schema.DayOf(to-1))
	if err != nil || first > last {
		return points{}, err
	}
	rows := tables.Keys{From: schema.RollupRow{Device: m.Device, Bucket: from}.String(),
		Before: schema.RollupRow{Device: m.Device, Bucket: to}.String()}
	days := make([]points, last-first+1)
	err = each(ctx, len(days), func(ctx context.Context, i int) error {
		p := schema.RollupPartition{Tenant: m.Tenant, Window: window, Day: first + schema.Day(i), Month: m.Month}
		var more bool
		in := tables.Range{Partitions: tables.Is(p.String()), Rows: rows}
		return s.aggregates(ctx, in, sensor, maxParts*maxPoints/1000+2, &more, &days[i].unreadable, func(row schema.RollupRow,
			a rollup.Aggregate) {
			days[i].buckets = append(days[i].buckets, bucket{row.Bucket, a})
		})
	})
	var all points
	for _, day := range days {
		all.buckets = append(all.buckets, day.buckets...)
		all.unreadable += day.unreadable
	}
	return all, err
}

// aggregates calls add for each aggregate of a sensor in a range of rollups, counts the rows that cannot be
// read, and sets more when there are further pages.
func (s *Store) aggregates(ctx context.Context, in tables.Range, sensor string, maxPages int, more *bool,
	unreadable *int,
	add func(schema.RollupRow, rollup.Aggregate)) error {
	q := tables.Query{Range: in, Select: []string{sensor}}
	for e, err := range s.rowsOrMore(ctx, s.c.Names.Rollups(), q, maxPages, more) {
		if err != nil {
			return err
		}
		text := e.Get(sensor).Text()
		if text == "" { // the sensor is in another part of the output, or has no value
			continue
		}
		row, err := schema.ParseRollupRow(e.RowKey)
		a, err2 := rollup.ParseAggregate(text)
		switch {
		case err != nil || err2 != nil:
			*unreadable++
		case a.Count > 0:
			add(row, a)
		}
	}
	return nil
}

// daysWithRollups limits days to those that can have rollups of a tenant, so that a span of years before the
// first rollup is not read day by day.
func (s *Store) daysWithRollups(ctx context.Context, p schema.RollupPartition, last schema.Day) (from, to schema.Day,
	err error) {
	to = min(last, schema.DayOf(tables.TicksOf(time.Now().Add(24*time.Hour))))
	if p.Day > to {
		return 1, 0, nil
	}
	if to-p.Day < 2 {
		return p.Day, to, nil
	}
	q := tables.Query{Range: tables.Range{Partitions: p.TenantDays(to)}, Size: 1, Select: []string{"PartitionKey"}}
	for e, err := range s.rows(ctx, s.c.Names.Rollups(), q, 5) {
		if err != nil {
			return 0, 0, err
		}
		found, err := schema.ParseRollupPartition(e.PartitionKey)
		return found.Day, to, err
	}
	return 1, 0, nil
}
