package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
)

// A deviceRead is what storage has about a device besides its record.
type deviceRead struct {
	inFleet    bool
	latest     []latest.Value
	tracks     []tracked // by pipeline
	rejects    []schema.Reject
	unreadable []Unreadable
}

// A tracked is how far a pipeline has got with a device.
type tracked struct {
	schema.Track // zero: the pipeline has not come to the device yet, or its row is unreadable
	pipeline     schema.Pipeline
	waiting      tables.Ticks // the oldest row that is not folded; zero: none
	unreadable   error
}

const (
	deviceAge  = 3 * time.Second
	maxRejects = 30 // shown per device
)

func (s *Store) device(ctx context.Context, m schema.Member) (deviceRead, Read, error) {
	return s.devices.get(ctx, string(m.Device), deviceAge, func(ctx context.Context) (r deviceRead, err error) {
		pipelines := s.configured()
		r.tracks = make([]tracked, len(pipelines))
		var values, rejects []Unreadable
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error {
			e, err := s.one(ctx, s.c.Names.Fleet(), m.Month.String(), string(m.Key()))
			r.inFleet = e != nil
			return err
		})
		g.Go(func() (err error) { r.latest, values, err = s.latestOf(ctx, m); return err })
		g.Go(func() (err error) { r.rejects, rejects, err = s.rejectsOf(ctx, m.Device); return err })
		for i, p := range pipelines {
			g.Go(func() (err error) { r.tracks[i], err = s.track(ctx, p.Name, m); return err })
		}
		err = g.Wait()
		r.unreadable = append(values, rejects...)
		for _, t := range r.tracks {
			if t.unreadable != nil {
				r.unreadable = append(r.unreadable, Unreadable{s.c.Names.Partitions(t.pipeline), string(m.Key()),
					t.unreadable.Error()})
			}
		}
		return r, err
	})
}

// latestOf reads the newest values of a device, which also updates the index.
func (s *Store) latestOf(ctx context.Context, m schema.Member) (values []latest.Value, bad []Unreadable, err error) {
	p := schema.LatestPartition{Tenant: m.Tenant, Month: m.Month}
	rows := tables.Range{Partitions: tables.Is(p.String()), Rows: schema.LatestRows(m.Device, m.Device)}
	for e, err := range s.rows(ctx, s.c.Names.Latest(), tables.Query{Range: rows}, maxParts+1) {
		if err != nil {
			return nil, nil, err
		}
		read, unreadable := valuesOf(e)
		values = append(values, read...)
		for _, sensor := range unreadable {
			bad = append(bad, Unreadable{s.c.Names.Latest(), e.RowKey, fmt.Sprintf("the value of %s is in an unknown format",
				sensor)})
		}
	}
	s.index.newest(p, []newest{{string(m.Device), values}})
	slices.SortFunc(values, func(a, b latest.Value) int { return strings.Compare(a.Sensor, b.Sensor) })
	return values, bad, nil
}

// track reads a device's tracking row and looks for a reading after its checkpoint.
func (s *Store) track(ctx context.Context, p schema.Pipeline, m schema.Member) (tracked, error) {
	t := tracked{pipeline: p}
	e, err := s.one(ctx, s.c.Names.Partitions(p), m.Month.String(), string(m.Key()))
	if err != nil {
		return t, err
	}
	if e != nil {
		if t.Track, t.unreadable = schema.TrackOf(*e); t.unreadable != nil {
			t.Track = schema.Track{}
			return t, nil
		}
	}
	now := tables.TicksOf(time.Now())
	beyond := tables.Query{Range: tables.RowsAfter(string(m.Device), t.Checkpoint, now.String()), Size: 1,
		Select: []string{"RowKey"}}
	for e, err := range s.rows(ctx, m.Readings, beyond, 2) {
		if err != nil {
			return t, err
		}
		if key, err := schema.ParseRowKey(e.RowKey); err == nil {
			t.waiting = key.Ticks
		}
		break
	}
	return t, nil
}

// rejectsOf returns the newest rejects of a device, the newest first. Storage keeps at most a hundred per
// pipeline, ordered by slot.
func (s *Store) rejectsOf(ctx context.Context, id schema.DeviceID) (found []schema.Reject, bad []Unreadable,
	err error) {
	q := tables.Query{Range: tables.Partition(string(id))}
	for e, err := range s.rows(ctx, s.c.Names.Rejects(), q, 1+len(s.configured())) {
		if err != nil {
			return nil, nil, err
		}
		if r, err := schema.RejectOf(e); err == nil {
			found = append(found, r)
		} else {
			bad = append(bad, Unreadable{s.c.Names.Rejects(), e.RowKey, err.Error()})
		}
	}
	slices.SortFunc(found, func(a, b schema.Reject) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Pipeline, b.Pipeline), cmp.Compare(b.Number, a.Number))
	})
	return found[:min(len(found), maxRejects)], bad, nil
}
