package notify

import (
	"context"
	"errors"
	"maps"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// asOpened gives deliveries the site, the labels and the severity that their openings had, whatever the device has by
// now, so that each target recognizes what closes.
func (j *job) asOpened(ctx context.Context) error {
	later := slices.DeleteFunc(slices.Collect(maps.Values(j.all)), func(d schema.Delivery) bool {
		return d.What == schema.Opened || d.What == schema.Reopened
	})
	if err := j.beside.read(ctx, later); err != nil {
		return err
	}
	for _, d := range later {
		opening, known := j.beside.about(d).openings[openingOf(d).number]
		if stands, is := j.standing[openingOf(d)]; is {
			opening, known = stands.Transition, true
		}
		if known { // else the device's data was deleted
			d.Site, d.Labels, d.Severity = opening.Site, opening.Labels, opening.Severity
			pk, rk := d.Keys()
			j.all[[2]string{pk, rk}] = d
		}
	}
	return nil
}

// ready returns the deliveries of a group that are to be sent now. It removes those that are done or that nobody is to
// be told of.
func (j *job) ready(ctx context.Context, group []schema.Delivery) (ready []schema.Delivery, err error) {
	for _, d := range group {
		is, err := j.isReady(ctx, d, ready)
		if err != nil {
			return nil, err
		}
		if is {
			ready = append(ready, d)
		}
	}
	return ready, nil
}

func (j *job) isReady(ctx context.Context, d schema.Delivery, before []schema.Delivery) (bool, error) {
	b := j.beside.about(d)
	if r := b.record(d.Number, d.Repeat); r != nil && r.Final() { // its row was written again, or not removed
		j.advance(ctx, []schema.Delivery{d}, r.Outcome == schema.Delivered, r.At)
		return false, nil
	}
	if d.Repeat > 0 && (b.closed(d.Number) || b.acknowledged(d.Number) || j.target.repeat() == 0) {
		j.advance(ctx, []schema.Delivery{d}, false, 0)
		return false, nil
	}
	until, muted, err := j.mutes.muted(ctx, d, j.now)
	switch {
	case err != nil:
		return false, err
	case muted && d.Opens() && b.closed(d.Number):
		return false, j.recordOutcome(ctx, d, schema.WasMuted, nil)
	case until > j.now:
		j.next = min(j.next, until, j.now.Add(mutedFor))
		return false, nil
	}
	if d.Opens() {
		return j.openingReady(ctx, d, before)
	}
	return j.closingReady(ctx, d, b, before)
}

// openingReady holds an opening back while the closing before it waits: a receiver would take it for that of this one.
func (j *job) openingReady(ctx context.Context, d schema.Delivery, before []schema.Delivery) (bool, error) {
	if d.Number == 1 || d.Repeat > 0 || slices.ContainsFunc(before, func(o schema.Delivery) bool {
		return o.Transition.ID == d.Transition.ID && o.Number == d.Number-1
	}) {
		return true, nil
	}
	closing := d
	closing.Number, closing.What = d.Number-1, schema.Closed
	waits, err := j.waits(ctx, closing)
	return !waits, err
}

// waits reports whether a delivery is still to be sent, and has the job look again after it was.
func (j *job) waits(ctx context.Context, d schema.Delivery) (bool, error) {
	pk, rk := d.Keys()
	due, listed := j.listed[[2]string{pk, rk}]
	if !listed {
		e, err := j.deliveries().Get(ctx, pk, rk)
		if errors.Is(err, tables.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		due = tables.Ticks(e.Get("Due").Int())
	}
	j.next = min(j.next, max(due, j.now.Add(openingFor)))
	return true, nil
}

// closingReady decides about a closing by what became of its opening.
func (j *job) closingReady(ctx context.Context, d schema.Delivery, b *besides, before []schema.Delivery) (bool, error) {
	opening := d
	opening.Number, opening.What, opening.Repeat = d.Number-1, schema.Opened, 0
	together := slices.ContainsFunc(before, func(o schema.Delivery) bool {
		return o.Transition.ID == d.Transition.ID && o.Number == opening.Number
	})
	switch r := b.record(opening.Number, 0); {
	case together || r != nil && r.Outcome == schema.Delivered:
		return true, nil
	case r != nil && r.Outcome == schema.WasMuted:
		return false, j.recordOutcome(ctx, d, schema.WasMuted, nil)
	case r != nil && r.Outcome == schema.GaveUp:
		return false, j.recordOutcome(ctx, d, schema.GaveUp, errors.New("its opening was given up"))
	}
	// The opening was written before the closing. If it has neither a row nor a record, this target was not to be told.
	for _, what := range []string{schema.Opened, schema.Announced} {
		opening.What = what
		if waits, err := j.waits(ctx, opening); waits || err != nil {
			return false, err
		}
	}
	if d.Erased { // whoever deleted the record has looked
		return true, nil
	}
	j.advance(ctx, []schema.Delivery{d}, false, 0)
	return false, nil
}
