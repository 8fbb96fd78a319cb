package jobs

import (
	"context"
	"crypto/rand"

	"furrow/tables"
	"furrow/tables/schema"
)

// raise raises the watermarks of devices, first on memberships, then on all tracking rows. A device whose membership or
// row has changed meanwhile is left to another job.
func (p *Pipeline) raise(ctx context.Context, all []*retained) error {
	fleet := p.Client.Table(p.Names.Fleet())
	err := p.raiseIn(ctx, fleet, all, func(d *retained) *change {
		if d.member.Watermark >= d.to {
			return nil
		}
		return &change{op: tables.Merge(watermark(d), d.member.ETag)}
	})
	for i, o := range p.Retention.Others {
		if err != nil {
			return err
		}
		err = p.raiseIn(ctx, o.tracking(), all, func(d *retained) *change {
			t := d.rows[i]
			if t == nil || t.Watermark >= d.to {
				return nil
			}
			e := watermark(d)
			if t.Hold.Open() { // its job has died, or must not commit what it has read
				claim := rand.Text()
				e.Set(schema.TrackClaim, tables.String(claim))
				e.Set(schema.TrackCommitted, tables.String(claim))
				e.Set(schema.TrackUncut, tables.Int64(int64(t.Uncut)))
			}
			if t.ETag == "" {
				return &change{op: tables.Insert(e)}
			}
			return &change{op: tables.Merge(e, t.ETag)}
		})
	}
	return err
}

// watermark is the part of a membership or of a tracking row that is raised.
func watermark(d *retained) tables.Entity {
	e := tables.Entity{PartitionKey: d.member.Month.String(), RowKey: string(d.member.Key())}
	e.Set(schema.MemberWatermark, tables.Int64(int64(d.to)))
	return e
}

// raiseIn writes the changes of devices into a table, those of a partition together.
func (p *Pipeline) raiseIn(ctx context.Context, table *tables.Table, all []*retained,
	of func(*retained) *change) error {
	var changes []*change
	for _, d := range all {
		if d.to == 0 || d.dropped || d.deviceRun.err != nil {
			continue
		}
		c := of(d)
		if c == nil {
			continue
		}
		c.device = d.deviceRun
		c.compare = func(found *tables.Entity) resolution {
			switch {
			case found != nil && found.Get(schema.MemberWatermark).Int() == int64(d.to):
				return resolution{done: true, etag: found.ETag}
			case found == nil && c.op.Kind == tables.KindInsert, found != nil && found.ETag == c.op.IfMatch:
				return resolution{etag: c.op.IfMatch}
			}
			return resolution{taken: true}
		}
		changes = append(changes, c)
	}
	for len(changes) > 0 {
		pk, n := changes[0].op.Entity.PartitionKey, 0
		for n < len(changes) && changes[n].op.Entity.PartitionKey == pk {
			n++
		}
		if err := writeBatch(ctx, table, changes[:n]); err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}
