package commit

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"furrow/jobs/coverage"
	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// ErrOvertaken says that another job with a higher fence has written already.
var ErrOvertaken = errors.New("another job has overtaken this one")

var errNoObjects = errors.New("its pipeline writes objects, but the worker has no container for them")

// writeObjects writes the outputs that are objects. No fold holds their readings: each is read again from the readings
// table and passed on.
func (a *Attempt) writeObjects(ctx context.Context) error {
	for _, d := range a.Work {
		for _, o := range fold.SortedOutputs(d.Effects) {
			if o.Table != "" || d.Effects[o].IsMark() || !d.live() {
				continue
			}
			if err := a.object(ctx, d, o); err != nil {
				return fmt.Errorf("object %s: %w", o.Name(), err)
			}
		}
	}
	return nil
}

// object writes one. It includes readings that arrived late since the rows were folded. If nothing else was made of
// those, they count as passed, too.
func (a *Attempt) object(ctx context.Context, d *Device, o fold.Output) error {
	if a.Objects == nil {
		d.Err = errNoObjects
		return nil
	}
	w := coverage.Window{From: d.Effects[o].From, To: d.Effects[o].To}
	var seen tracking.Tally
	err := a.Objects.Write(ctx, o.Name(), d.Row.Fence, a.readings(ctx, d, w, &seen))
	if errors.Is(err, ErrOvertaken) {
		d.overtaken = true
		return nil
	}
	if err == nil && a.ObjectsOnly {
		d.Row.Pass(w, &seen)
	}
	return err
}

// readings yields the tenant's readings of a window below the checkpoint in row order. It counts all its rows,
// including those that are not readings.
func (w *Writer) readings(ctx context.Context, d *Device, in coverage.Window,
	seen *tracking.Tally) iter.Seq2[schema.Reading, error] {
	rows := tables.Range{Partitions: tables.Is(string(d.Member.Device)),
		Rows: tables.Keys{From: in.From.String(), Before: in.To.String(), To: d.Row.Last}}
	return func(yield func(schema.Reading, error) bool) {
		for e, err := range w.Client.Table(d.Member.Readings).Entities(ctx, tables.Query{Range: rows}) {
			if err != nil {
				yield(schema.Reading{}, err)
				return
			}
			if r, is := d.reading(e, seen); is && !yield(r, nil) {
				return
			}
		}
	}
}

// reading counts a row, and returns its reading, unless another tenant had the device.
func (d *Device) reading(e tables.Entity, seen *tracking.Tally) (schema.Reading, bool) {
	if !d.Member.Has(tables.TicksBefore(e.RowKey)) {
		return schema.Reading{}, false
	}
	seen.Read.Add(e.RowKey)
	r, err := schema.ReadingOf(e)
	if err != nil {
		seen.Refused.Add(e.RowKey)
		return r, false
	}
	if _, refused := d.Sensors.Sample(r); len(refused) > 0 {
		seen.Refused.Add(e.RowKey)
	}
	return r, true
}
