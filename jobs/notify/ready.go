package notify

import (
	"context"
	"errors"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

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
	b := j.besideOf(d)
	if r := b.record(d.Number, d.Repeat); r != nil && r.Final() { // its row was written again, or not removed
		j.advance(ctx, []schema.Delivery{d}, r.Outcome == schema.Delivered, r.At)
		return false, nil
	}
	if d.Repeat > 0 && (b.closed(d.Number) || b.acknowledged(d.Number)) {
		j.advance(ctx, []schema.Delivery{d}, false, 0)
		return false, nil
	}
	until, muted, err := j.muted(ctx, d)
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
	e, err := j.deliveries().Get(ctx, pk, rk)
	if errors.Is(err, tables.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		j.next = min(j.next, max(tables.Ticks(e.Get("Due").Int()), j.now.Add(openingFor)))
	}
	return err == nil, err
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

// muted returns until when a delivery is muted, if it is, and whether it is or was when its transition was found.
func (j *job) muted(ctx context.Context, d schema.Delivery) (until tables.Ticks, muted bool, err error) {
	for _, t := range []schema.Tenant{"", d.Home.Tenant} {
		if _, known := j.mutes[t]; !known {
			j.mutes[t] = []schema.Mute{}
			for e, err := range j.incidents().Entities(ctx, tables.Query{Range: tables.Partition(schema.Mutes(t))}) {
				if err != nil {
					delete(j.mutes, t)
					return 0, false, err
				}
				m, err := schema.MuteOf(e)
				if err != nil {
					j.result.Strange[e.PartitionKey+"/"+e.RowKey] = err
					continue
				}
				j.mutes[t] = append(j.mutes[t], m)
			}
		}
		for _, m := range j.mutes[t] {
			if m.Mutes(d.Transition, j.now) {
				until = max(until, m.Until)
			}
			muted = muted || m.Mutes(d.Transition, j.now) || d.Opens() && m.Mutes(d.Transition, d.Found)
		}
	}
	return until, muted, nil
}
