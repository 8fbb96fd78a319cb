package commit

import (
	"context"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// ClaimAll claims the devices that have something to write, before anything is written. Whoever claims later outranks
// this job from then on.
func (a *Attempt) ClaimAll(ctx context.Context) error {
	var changes []*Write
	at := a.Now
	for _, d := range a.Work {
		at = max(at, d.Seen)
	}
	for _, d := range a.Work {
		if !d.live() || d.Claimed {
			continue
		}
		d.Row.Fence = max(d.Row.Fence+1, a.Now)
		d.Row.Format = max(d.Row.Format, a.Format)
		h := d.Row.Hold.Next(a.Claim, at, a.Hold)
		c := &Write{Device: d, Op: d.Row.Claimed(d.Member, d.Row.Fence, h)}
		c.Compare = func(found *tables.Entity) Resolution {
			switch {
			case found == nil && c.Op.Kind == tables.KindInsert:
				return Resolution{} // not there yet: try again
			case found != nil && found.ETag == d.Row.ETag:
				return Resolution{ETag: found.ETag} // another device of the transaction was taken: try again
			case found != nil && found.Get(schema.TrackClaim).Text() == a.Claim:
				return Resolution{Done: true, ETag: found.ETag}
			}
			return Resolution{Taken: true}
		}
		d.Row.Hold = h
		changes = append(changes, c)
	}
	err := WriteAll(ctx, a.Tracking(), changes)
	for _, c := range changes {
		if d := c.Device; c.Done {
			d.Row.ETag, d.Claimed = c.ETag, true
		}
	}
	return err
}

// giveBackWithin bounds how long a failed job takes to give back its claims.
const giveBackWithin = 5 * time.Second

// GiveBack ends the claims that were not committed, so that other jobs need not wait for the end of their holds. This
// is a courtesy: errors are ignored.
func (a *Attempt) GiveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackWithin)
	defer cancel()
	var changes []*Write
	for _, d := range a.Work {
		if !d.Claimed || d.overtaken {
			continue
		}
		e := tables.Entity{PartitionKey: d.Member.Month.String(), RowKey: string(d.Member.Key())}
		e.Set(schema.TrackClaim, tables.String(""))
		free := NewDevice(d.Member, d.Row) // whatever happened to the device itself
		changes = append(changes, &Write{Device: &free, Op: tables.Merge(e, d.Row.ETag),
			Compare: func(found *tables.Entity) Resolution {
				if found == nil || found.Get(schema.TrackClaim).Text() != a.Claim ||
					found.Get(schema.TrackCommitted).Text() == a.Claim {
					return Resolution{Done: true}
				}
				return Resolution{ETag: found.ETag}
			}})
	}
	_ = WriteAll(ctx, a.Tracking(), changes)
}

// ClaimOne claims one device before all of its change is known, and reports whether it has.
func (a *Attempt) ClaimOne(ctx context.Context, d *Device) (claimed bool, err error) {
	d.Dirty, a.Work = true, []*Device{d}
	if err := a.ClaimAll(ctx); err != nil || !d.overtaken {
		return err == nil, err
	}
	d.overtaken = false // nothing was written
	return false, nil
}
