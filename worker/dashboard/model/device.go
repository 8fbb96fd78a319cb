package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
)

// A deviceRead is what storage says of a device besides its record.
type deviceRead struct {
	inFleet bool
	latest  []latest.Value
	tracks  []tracked // of each pipeline
	rejects []schema.Reject
}

// A tracked is how far a pipeline has got with a device.
type tracked struct {
	schema.Track // zero where the pipeline has not come to the device yet
	pipeline     schema.Pipeline
	waiting      tables.Ticks // the oldest row that it has not folded; zero: there is none
}

const (
	deviceFor   = 3 * time.Second
	mostRejects = 30 // of a device that are shown
)

func (s *Store) device(ctx context.Context, w who) (deviceRead, Read, error) {
	return s.devices.get(ctx, string(w.member.Device), deviceFor, func(ctx context.Context) (r deviceRead, err error) {
		id, place := string(w.member.Device), w.member.Place()
		pipelines := s.configured()
		r.tracks = make([]tracked, len(pipelines))
		reads := []func() error{
			func() error {
				e, err := s.one(ctx, s.c.Names.Fleet(), place.Month.String(), string(place.Key))
				r.inFleet = e != nil
				return err
			},
			func() (err error) { r.latest, err = s.latestOf(ctx, w.member); return err },
			func() (err error) { r.rejects, err = s.rejectsOf(ctx, id); return err },
		}
		for i, p := range pipelines {
			reads = append(reads, func() (err error) { r.tracks[i], err = s.track(ctx, p.Name, w.member); return err })
		}
		return r, together(reads...)
	})
}

// latestOf are the newest values of a device, which the index has then, too.
func (s *Store) latestOf(ctx context.Context, m schema.Member) ([]latest.Value, error) {
	p := schema.LatestPartition{Tenant: m.Tenant, Month: m.Month}
	rows := tables.Range{Partitions: tables.Is(p.String()), Rows: schema.LatestRows(m.Device, m.Device)}
	var values []latest.Value
	for e, err := range s.rows(ctx, s.c.Names.Latest(), tables.Query{Range: rows}, mostParts+1) {
		if err != nil {
			return nil, err
		}
		values = append(values, valuesOf(e)...)
	}
	if len(values) == 0 {
		return nil, nil
	}
	s.index.newest(p, []newest{{string(m.Device), values}})
	slices.SortFunc(values, func(a, b latest.Value) int { return strings.Compare(a.Sensor, b.Sensor) })
	return values, nil
}

// track reads a device's tracking row, and looks for a reading beyond it.
func (s *Store) track(ctx context.Context, p schema.Pipeline, m schema.Member) (tracked, error) {
	t := tracked{pipeline: p}
	e, err := s.one(ctx, s.c.Names.Partitions(p), m.Month.String(), string(m.Key()))
	if err != nil {
		return t, err
	}
	if e != nil {
		if t.Track, err = schema.TrackOf(*e); err != nil {
			return t, fmt.Errorf("the tracking row of pipeline %s: %w", p, err)
		}
	}
	now := tables.TicksOf(time.Now())
	beyond := tables.Query{Range: tables.RowsAfter(string(m.Device), t.Checkpoint, now.String()), Size: 1, Select: []string{"RowKey"}}
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

// rejectsOf are the newest rejects of a device, the newest first. Storage has them
// by slot, at most a hundred for each pipeline.
func (s *Store) rejectsOf(ctx context.Context, id string) (found []schema.Reject, err error) {
	for e, err := range s.rows(ctx, s.c.Names.Rejects(), tables.Query{Range: tables.Partition(id)}, 1+len(s.configured())) {
		if err != nil {
			return nil, err
		}
		if r, err := schema.RejectOf(e); err == nil { // rows of other kinds are another version's
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b schema.Reject) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Pipeline, b.Pipeline), cmp.Compare(b.Number, a.Number))
	})
	return found[:min(len(found), mostRejects)], nil
}
