package retain

import (
	"context"
	"crypto/rand"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"
)

// raise raises the watermarks of devices, first on memberships, then on all tracking rows. A device whose membership or
// row has changed meanwhile is left to another job.
func (p *Retainer) raise(ctx context.Context, all []*retained) error {
	fleet := p.Client.Table(p.Names.Fleet())
	err := p.raiseIn(ctx, fleet, all, func(d *retained) *commit.Write {
		if d.Member.Watermark >= d.to {
			return nil
		}
		return &commit.Write{Op: tables.Merge(watermark(d), d.Member.ETag)}
	})
	for i, o := range p.Others {
		if err != nil {
			return err
		}
		err = p.raiseIn(ctx, o.Tracking, all, func(d *retained) *commit.Write {
			t := d.rows[i]
			if t == nil || t.Coverage.Watermark >= d.to {
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
				return &commit.Write{Op: tables.Insert(e)}
			}
			return &commit.Write{Op: tables.Merge(e, t.ETag)}
		})
	}
	return err
}

// watermark is the part of a membership or of a tracking row that is raised.
func watermark(d *retained) tables.Entity {
	e := tables.Entity{PartitionKey: d.Member.Month.String(), RowKey: string(d.Member.Key())}
	e.Set(schema.MemberWatermark, tables.Int64(int64(d.to)))
	return e
}

// raiseIn writes the changes of devices into a table, those of a partition together.
func (p *Retainer) raiseIn(ctx context.Context, table *tables.Table, all []*retained,
	of func(*retained) *commit.Write) error {
	var changes []*commit.Write
	for _, d := range all {
		if d.to == 0 || d.lost() {
			continue
		}
		c := of(d)
		if c == nil {
			continue
		}
		c.Device = d.Device
		c.Compare = func(found *tables.Entity) commit.Resolution {
			switch {
			case found != nil && found.Get(schema.MemberWatermark).Int() == int64(d.to):
				return commit.Resolution{Done: true, ETag: found.ETag}
			case found == nil && c.Op.Kind == tables.KindInsert, found != nil && found.ETag == c.Op.IfMatch:
				return commit.Resolution{ETag: c.Op.IfMatch}
			}
			return commit.Resolution{Taken: true}
		}
		changes = append(changes, c)
	}
	return commit.WriteAll(ctx, table, changes)
}
