package commit

import (
	"context"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// reject writes the rejects of each device into its ring, in one transaction per device, between the claim and the
// commit. The slots follow from the number of rejects on the tracking row: a repeated attempt writes the same slots
// again, and a job that was overtaken finds a higher fence and stops.
func (a *Attempt) reject(ctx context.Context) error {
	table := a.Client.Table(a.Names.Rejects())
	for _, d := range a.Work {
		if !d.live() || d.Rejects.Count == 0 {
			continue
		}
		d.Row.Rejects += d.Rejects.Count
		changes, err := a.rejectChanges(d)
		if err != nil {
			return err
		}
		if err := WriteAll(ctx, table, changes); err != nil {
			return err
		}
	}
	return nil
}

// rejectChanges shortens the texts until one transaction takes all of them.
func (a *Attempt) rejectChanges(d *Device) ([]*Write, error) {
	kept := d.Rejects.Newest()
	first := d.Row.Rejects - int64(len(kept))
	for most := MaxRowText; ; most /= 2 {
		var changes []*Write
		for i, r := range kept {
			r.Device, r.Pipeline, r.Number, r.At = d.Member.Device, a.Pipeline, first+int64(i), a.Now
			r.Ring = d.Member.Ring()
			r.Reason, r.Value = tables.Clip(r.Reason, MaxReason), tables.Clip(r.Value, MaxValue)
			r.Reading = tables.Clip(r.Reading, most)
			e, err := r.Entity()
			if err != nil {
				return nil, err
			}
			e.Set(fold.FenceProperty, tables.Int64(int64(d.Row.Fence)))
			schema.SetFormat(&e, d.Row.Format)
			c := &Write{Device: d, Op: tables.Insert(e), Compare: d.outranks}
			c.look = d.Row.Rejects > schema.RejectSlots // the slots are probably taken
			changes = append(changes, c)
		}
		if len(cut(changes)) <= 1 || most < 1<<10 {
			return changes, nil
		}
	}
}

// Bounds of a reject, in bytes.
const (
	MaxReason  = 2 << 10
	MaxValue   = 1 << 10
	MaxRowText = 16 << 10
)
