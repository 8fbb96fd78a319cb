package model

import (
	"context"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// A Follower reads what a device writes from now on.
type Follower struct {
	accounts *Accounts
	owners   *Owners
	member   schema.Member
	after    schema.RowKey // of the newest reading so far
}

const (
	// FollowInterval is the time between two calls of Next.
	FollowInterval = 3 * time.Second

	maxFollowed = 1000      // readings at a time
	followAhead = time.Hour // a device's clock may be this far ahead
)

// Follow returns what follows a device, or ErrUnknown.
func (ds *Devices) Follow(ctx context.Context, id string) (*Follower, error) {
	o, err := ds.owners.owner(ctx, id)
	return &Follower{ds.accounts, ds.owners, o.member, schema.RowKey{Ticks: tables.TicksOf(time.Now())}}, err
}

// Next returns the readings that are newer than all before, or ErrUnknown where they belong to another tenant, to which
// the device has moved. It takes one storage operation and, if there are readings, those of asking whose device it is.
func (f *Follower) Next(ctx context.Context) (all []answers.Reading, err error) {
	known := false
	span := query.Span{From: f.after.Ticks, To: tables.TicksOf(time.Now().Add(followAhead))}
	if span.To <= span.From {
		span.To = span.From + 1
	}
	ask := query.Question{Scope: query.ScopeOf(f.member), Span: span, Limit: maxFollowed}
	sensors, model := f.accounts.sensorsOf(f.member), f.accounts.models().Of(f.member)
	for r, err := range query.Readable(f.accounts.fleetOf(f.member.Device).Rows().Readings(ctx, ask), new(query.Skipped)) {
		if err != nil {
			return all, err
		}
		key, err := schema.ParseRowKey(r.Row)
		if err != nil || key.Compare(f.after) <= 0 {
			continue
		}
		if !known {
			o, err := f.owners.owner(ctx, string(f.member.Device))
			if err != nil {
				return nil, err
			}
			known, f.member = true, o.member
		}
		if f.after = key; !f.member.Has(key.Ticks) {
			continue
		}
		sample, err := r.Sample(sensors)
		if err != nil {
			continue // the device's page lists it as a reject
		}
		r.Model = model
		all = append(all, answers.ReadingOf(r, sample.Values))
	}
	return all, nil
}
