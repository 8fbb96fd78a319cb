package jobs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// reject writes the rejects of each device into its ring, in one transaction per device, between the claim and the
// commit. The slots follow from the number of rejects on the tracking row: a repeated attempt writes the same slots
// again, and a job that was overtaken finds a higher fence and stops.
func (j *job) reject(ctx context.Context) error {
	table := j.pipeline.Client.Table(j.pipeline.Names.Rejects())
	for _, d := range j.work {
		if !d.live() || d.rejects.Count == 0 {
			continue
		}
		d.track.Rejects += d.rejects.Count
		changes, err := j.rejectChanges(d)
		if err != nil {
			return err
		}
		if err := writeBatch(ctx, table, changes); err != nil {
			return err
		}
	}
	return nil
}

// rejectChanges shortens the texts until one transaction takes all of them.
func (j *job) rejectChanges(d *deviceRun) ([]*change, error) {
	first := d.track.Rejects - int64(len(d.rejects.Kept))
	for most := maxRowText; ; most /= 2 {
		var changes []*change
		for i, r := range d.rejects.Kept {
			r.Device, r.Pipeline, r.Number, r.At = d.member.Device, j.pipeline.Name, first+int64(i), j.now
			r.Ring = d.member.Ring()
			r.Reason, r.Value = tables.Clip(r.Reason, maxReason), tables.Clip(r.Value, maxValue)
			r.Reading = tables.Clip(r.Reading, most)
			e, err := r.Entity()
			if err != nil {
				return nil, err
			}
			e.Set(fold.FenceProperty, tables.Int64(int64(d.track.Fence)))
			schema.SetFormat(&e, d.track.Format)
			c := &change{device: d, op: tables.Insert(e), compare: d.outranks}
			c.look = d.track.Rejects > schema.RejectSlots // the slots are probably taken
			changes = append(changes, c)
		}
		if len(cut(changes)) <= 1 || most < 1<<10 {
			return changes, nil
		}
	}
}

// refuse records what is wrong with a reading that is being folded.
func (d *deviceRun) refuse(r fold.Refusal, row *tables.Entity) {
	if d.refused == nil {
		d.refused = map[string]*schema.Reject{}
	}
	e := d.refused[r.Row]
	if e == nil {
		e = &schema.Reject{Row: r.Row, Reading: rowText(row)}
		d.refused[r.Row] = e
	}
	addRefusal(e, r, row)
}

// countRejects counts each reading with a refused value once, in the order of their keys, so the ring does not depend
// on how the work was cut.
func (d *deviceRun) countRejects() {
	for _, e := range slices.SortedFunc(maps.Values(d.refused), func(a, b *schema.Reject) int {
		return cmp.Compare(a.Row, b.Row)
	}) {
		d.weight += d.rejects.Add(*e)
	}
	d.refused = nil
}

// knowRejects reads the ring of a device before a refold, which meets rejects again that were already counted. Those of
// an attempt without a commit do not count.
func (p *Pipeline) knowRejects(ctx context.Context, f *deviceRun, old *tracking.Row) error {
	if old.Rejects == 0 {
		return nil
	}
	f.rejects.Known = map[string]bool{}
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(f.member.Device)), Rows: schema.RejectsOf(p.Name)},
		Select: []string{"PartitionKey", "RowKey", schema.RejectNumber, schema.RejectRow}}
	for e, err := range p.Client.Table(p.Names.Rejects()).Entities(ctx, q) {
		if err != nil {
			return fmt.Errorf("reading rejects: %w", err)
		}
		if r, err := schema.RejectOf(e); err == nil && r.Ring == f.member.Ring() && r.Number < old.Rejects {
			f.rejects.Known[r.Row] = true
		}
	}
	return nil
}
