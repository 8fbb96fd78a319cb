package notify

import (
	"context"
	"errors"

	"furrow/tables"
	"furrow/tables/schema"
)

// freeze writes the message and the attempt to the deliveries. It reports whether it knows that it has.
func (j *job) freeze(ctx context.Context, all []schema.Delivery) bool {
	of := map[string][]int{}
	for i, d := range all {
		pk, _ := d.Keys()
		of[pk] = append(of[pk], i)
	}
	for _, indexes := range of {
		for len(indexes) > 0 {
			n := min(len(indexes), tables.MaxOps)
			var ops []tables.Op
			for _, i := range indexes[:n] {
				ops = append(ops, tables.Merge(all[i].Entity(), all[i].ETag))
			}
			w, err := j.deliveries().Submit(ctx, ops)
			if err != nil {
				return false
			}
			for k, i := range indexes[:n] {
				all[i].ETag = w.ETags[k]
			}
			indexes = indexes[n:]
		}
	}
	return true
}

// succeeded records that deliveries have arrived, and removes them. Until it is recorded, they would be sent again.
func (j *job) succeeded(ctx context.Context, all []schema.Delivery) {
	j.result.Sent += len(all)
	var ops []tables.Op
	for _, d := range all {
		r := schema.DeliveryRecord{Delivery: d, Outcome: schema.Delivered, At: j.now}
		j.beside.remember(r)
		if d.Erased {
			continue
		}
		ops = append(ops, tables.InsertOrReplace(j.row(r.Entity())))
		for _, was := range j.beside.about(d).records { // else jobs would read more for each repetition
			if was.Number == d.Number && 0 < was.Repeat && was.Repeat < d.Repeat {
				pk, rk := was.RecordKeys()
				ops = append(ops, tables.Delete(pk, rk, tables.AnyETag))
			}
		}
	}
	if !writeAll(ctx, j.incidents(), ops, tries) {
		j.next = min(j.next, all[0].Due)
		return
	}
	j.advance(ctx, all, true, j.now)
}

// failed records a failed attempt, or that the deliveries are given up.
func (j *job) failed(ctx context.Context, all []schema.Delivery, why error) {
	for _, d := range all {
		if d.Error = why.Error(); isHopeless(d, why, j.now) {
			if err := j.recordOutcome(ctx, d, schema.GaveUp, why); err != nil {
				j.next = min(j.next, d.Due)
			}
			continue
		}
		j.next = min(j.next, d.Due)
		if d.Erased {
			continue
		}
		r := schema.DeliveryRecord{Delivery: d, Outcome: schema.DeliveryTried, At: j.now}
		was := j.beside.about(d).record(d.Number, d.Repeat)
		op := tables.Insert(j.row(r.Entity()))
		if was != nil {
			op = tables.Replace(j.row(r.Entity()), was.ETag)
		}
		// It is shown to people, and nothing depends on it.
		if w, err := j.incidents().Do(ctx, op); err == nil {
			r.ETag = w.ETags[0]
			j.beside.remember(r)
		}
	}
}

// recordOutcome records an outcome of a delivery that was not sent, and removes it.
func (j *job) recordOutcome(ctx context.Context, d schema.Delivery, outcome string, why error) error {
	if d.Erased {
		j.advance(ctx, []schema.Delivery{d}, false, 0)
		return nil
	}
	if why != nil {
		d.Error = why.Error()
	}
	r := schema.DeliveryRecord{Delivery: d, Outcome: outcome, At: j.now}
	if outcome == schema.GaveUp {
		if _, err := j.deliveries().Do(ctx, tables.InsertOrReplace(j.row(d.GivenUpEntity()))); err != nil {
			return err
		}
		j.result.GivenUp++
	}
	if _, err := j.incidents().Do(ctx, tables.InsertOrReplace(j.row(r.Entity()))); err != nil {
		return err
	}
	j.beside.remember(r)
	j.advance(ctx, []schema.Delivery{d}, false, 0)
	return nil
}

// advance removes deliveries, or turns those that were sent at a time and are repeated into the next repetition. If
// that fails, the next job finds their records.
func (j *job) advance(ctx context.Context, all []schema.Delivery, sent bool, at tables.Ticks) {
	var ops []tables.Op
	for _, d := range all {
		if d.Repeat == 0 {
			j.waiting--
		}
		pk, rk := d.Keys()
		delete(j.listed, [2]string{pk, rk})
		if stands, is := j.standing[openingOf(d)]; is && !d.Opens() {
			of, opening := stands.Keys()
			ops = append(ops, tables.Delete(of, opening, stands.ETag))
			delete(j.standing, openingOf(d))
		}
		if !sent || !d.Opens() || j.target.repeat() == 0 || d.Erased {
			ops = append(ops, tables.Delete(pk, rk, d.ETag))
			continue
		}
		etag := d.ETag
		d.Repeat, d.Due, d.Attempts, d.Message, d.Error = d.Repeat+1, at.Add(j.target.repeat()), 0, "", ""
		j.next = min(j.next, d.Due)
		ops = append(ops, tables.Replace(j.row(d.Entity()), etag))
	}
	if !writeAll(ctx, j.deliveries(), ops, 1) {
		j.next = min(j.next, j.now.Add(openingFor))
	}
}

// writeAll writes operations of any partitions, in transactions where that works. It reports whether all are written.
// What has changed meanwhile, or is gone, counts as written.
func writeAll(ctx context.Context, table *tables.Table, ops []tables.Op, tries int) bool {
	of := map[string][]tables.Op{}
	for _, op := range ops {
		of[op.Entity.PartitionKey] = append(of[op.Entity.PartitionKey], op)
	}
	all := true
	for _, own := range of {
		cuts, err := tables.Cut(own)
		if err != nil {
			cuts = [][]tables.Op{own}
		}
		for _, group := range cuts {
			if len(group) > 1 {
				if _, err := table.Submit(ctx, group); err == nil {
					continue
				}
			}
			for _, op := range group {
				all = writeOne(ctx, table, op, tries) && all
			}
		}
	}
	return all
}

func writeOne(ctx context.Context, table *tables.Table, op tables.Op, tries int) bool {
	for try := range tries {
		_, err := table.Do(ctx, op)
		if err == nil || errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrNotFound) {
			return true
		}
		if pause(ctx, try, err) != nil {
			return false
		}
	}
	return false
}
