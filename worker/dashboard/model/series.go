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

// A SeriesQuery is what a chart of a device was asked for.
type SeriesQuery struct {
	Device   string
	Sensor   string // empty: the first of the device
	From, To time.Time
	Window   string // auto, raw or one such as 1h; empty is auto
}

// A bucketOf is an aggregate of a sensor in a bucket, or one reading.
type bucketOf struct {
	at tables.Ticks
	rollup.Aggregate
}

const (
	mostPoints = 2000 // of a series
	rawSpan    = time.Hour
	raw        = "raw"
	auto       = "auto"
)

// seriesFor is how long a chart is good. Who looks at a year does not wait for the
// last minute.
func seriesFor(span time.Duration) time.Duration {
	return min(max(span/1000, 3*time.Second), time.Minute)
}

// Series is what a device has measured.
func (s *Store) Series(ctx context.Context, ask SeriesQuery) (Series, Read, error) {
	ctx = s.counted(ctx)
	w, read, err := s.who(ctx, ask.Device)
	if err != nil {
		return Series{}, read, err
	}
	if ask.Sensor == "" {
		var known Read
		if ask.Sensor, known, err = s.firstSensor(ctx, w); err != nil {
			return Series{}, read, err
		}
		read = read.And(known)
	}
	out := Series{Sensor: ask.Sensor, Unit: s.unit(ask.Sensor), From: ask.From.UTC(), To: ask.To.UTC(), Points: []Point{}}
	out.Operations = read.Operations
	window, err := s.windowFor(ask)
	if err != nil || ask.Sensor == "" {
		return out, read, err
	}
	points, second, err := s.points(ctx, w.member, ask, window)
	read = read.And(second)
	if window == 0 && len(points) > mostPoints && (ask.Window == "" || ask.Window == auto) {
		if window = s.shortest(ask.To.Sub(ask.From)); window != 0 {
			points, second, err = s.points(ctx, w.member, ask, window)
			read = read.And(second)
		}
	}
	out.Window, out.Operations = raw, read.Operations
	if window != 0 {
		out.Window = window.String()
	}
	if out.More = len(points) > mostPoints; out.More {
		points = points[:mostPoints]
	}
	for _, b := range points {
		out.Points = append(out.Points, b.point(window))
	}
	return out, read, err
}

func (b bucketOf) point(window schema.Window) Point {
	p := Point{Time: b.at.Time()}
	if window == 0 {
		p.Value = &b.Last
		return p
	}
	mean := b.Sum / float64(b.Count)
	p.Count, p.Min, p.Max, p.Mean, p.First, p.Last = b.Count, &b.Min, &b.Max, &mean, &b.First, &b.Last
	return p
}

// windowFor is the window that was asked for, zero being raw readings.
func (s *Store) windowFor(ask SeriesQuery) (schema.Window, error) {
	span := ask.To.Sub(ask.From)
	if span <= 0 {
		return 0, queryErrorf("from is not before to: swap them")
	}
	switch ask.Window {
	case raw:
		return 0, nil
	case "", auto:
		if span <= rawSpan {
			return 0, nil
		}
		if w := s.shortest(span); w != 0 {
			return w, nil
		}
		if len(s.windows()) == 0 {
			return 0, nil // there is nothing else
		}
		return 0, queryErrorf("from %s to %s there are more than %d windows of any size: ask for less", ask.From.Format(time.RFC3339), ask.To.Format(time.RFC3339), mostPoints)
	}
	w, err := schema.ParseWindow(ask.Window)
	if err != nil || !slices.Contains(s.windows(), w) {
		return 0, queryErrorf("window is %q; there are auto, raw%s", ask.Window, s.windowNames())
	}
	if int64(span/time.Duration(w)) > mostPoints {
		return 0, queryErrorf("from %s to %s there are more than %d windows of %s: ask for a shorter time, or a longer window", ask.From.Format(time.RFC3339), ask.To.Format(time.RFC3339), mostPoints, w)
	}
	return w, nil
}

// windows are those of all pipelines, the shortest first.
func (s *Store) windows() (all []schema.Window) {
	for _, p := range s.configured() {
		all = append(all, p.Windows...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *Store) windowNames() string {
	var b strings.Builder
	for _, w := range s.windows() {
		fmt.Fprintf(&b, ", %s", w)
	}
	return b.String()
}

// shortest is the shortest window that does for a span, or zero.
func (s *Store) shortest(span time.Duration) schema.Window {
	for _, w := range s.windows() {
		if int64(span/time.Duration(w)) <= mostPoints*3/4 {
			return w
		}
	}
	return 0
}

// firstSensor is a number that a device has, or any where there is none: the one that
// maps begin with, if that is one of them.
func (s *Store) firstSensor(ctx context.Context, w who) (string, Read, error) {
	r, read, err := s.device(ctx, w)
	preferred, best, number := s.FirstSensor(string(w.member.Tenant)), "", false
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
