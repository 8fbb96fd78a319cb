package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"furrow/jobs"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// points are the buckets of a sensor of a device, or its readings where the window
// is zero; one more than mostPoints where there are more.
func (s *Store) points(ctx context.Context, m schema.Member, ask SeriesQuery, window schema.Window) ([]bucketOf, Read, error) {
	from, to := tables.TicksOf(ask.From), tables.TicksOf(ask.To)
	key := fmt.Sprintf("%s %s %d %s %s", ask.Device, ask.Sensor, window, from, to)
	return s.series.get(ctx, key, seriesFor(ask.To.Sub(ask.From)), func(ctx context.Context) ([]bucketOf, error) {
		if window == 0 {
			return s.readings(ctx, m, ask.Sensor, from, to)
		}
		return s.buckets(ctx, m, ask.Sensor, window, window.Start(from), to)
	})
}

// readings are read as the pipelines read them.
func (s *Store) readings(ctx context.Context, m schema.Member, sensor string, from, to tables.Ticks) (all []bucketOf, err error) {
	const mostPages = 2 + mostPoints/1000
	meant := s.sensorsOf()
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(m.Device)), Rows: tables.Keys{From: from.String(), Before: to.String()}}}
	for e, err := range s.rows(ctx, m.Readings, q, mostPages) {
		if err != nil {
			return nil, err
		}
		reading, err := schema.ReadingOf(e)
		if err != nil {
			continue // it is among the rejects
		}
		sample, _ := meant.Sample(reading)
		for _, v := range sample.Values {
			if v.Sensor == sensor && v.Is == jobs.Number {
				all = append(all, bucketOf{reading.Key.Ticks, rollup.Aggregate{Count: 1, Last: v.Number}})
			}
		}
		if len(all) > mostPoints {
			break
		}
	}
	return all, nil
}

// sensorsOf are those of the pipeline that writes the newest values.
func (s *Store) sensorsOf() *jobs.Sensors {
	for _, p := range s.configured() {
		if p.Latest {
			return &p.Sensors
		}
	}
	return &jobs.Sensors{}
}

// mostParts is how many entities a bucket of a device may be; one of them has the sensor.
const mostParts = 5

// buckets reads a range for each day that can have any, a few at a time.
func (s *Store) buckets(ctx context.Context, m schema.Member, sensor string, window schema.Window, from, to tables.Ticks) ([]bucketOf, error) {
	first, last, err := s.begun(ctx, schema.RollupPartition{Tenant: m.Tenant, Window: window, Day: schema.DayOf(from)}, schema.DayOf(to-1))
	if err != nil || first > last {
		return nil, err
	}
	days := make([][]bucketOf, last-first+1)
	err = each(ctx, len(days), func(ctx context.Context, i int) error {
		p := schema.RollupPartition{Tenant: m.Tenant, Window: window, Day: first + schema.Day(i), Month: m.Month}
		q := tables.Query{Select: []string{sensor}, Range: tables.Range{Partitions: tables.Is(p.String()), Rows: tables.Keys{
			From: schema.RollupRow{Device: m.Device, Bucket: from}.String(), Before: schema.RollupRow{Device: m.Device, Bucket: to}.String()}}}
		for e, err := range s.rows(ctx, s.c.Names.Rollups(), q, mostParts*mostPoints/1000+2) {
			if err != nil {
				return err
			}
			row, err := schema.ParseRollupRow(e.RowKey)
			if err != nil {
				continue
			}
			if a, err := rollup.ParseAggregate(e.Get(sensor).Text()); err == nil && a.Count > 0 {
				days[i] = append(days[i], bucketOf{row.Bucket, a})
			}
		}
		return nil
	})
	return slices.Concat(days...), err
}

// begun are the days that can have rollups of a tenant: nothing is rolled up before
// its time, and years of nothing are not asked for day by day.
func (s *Store) begun(ctx context.Context, p schema.RollupPartition, last schema.Day) (from, to schema.Day, err error) {
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
