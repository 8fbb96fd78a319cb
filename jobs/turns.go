package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A catchup gives turns to devices that are far behind.
type catchup struct {
	tracking *tables.Table
	most     int           // Pipeline.Turns
	marks    time.Duration // Pipeline.Marks
	Putter
	m Message // of the job; a device that gets a turn gets one like it
}

// catchup returns what gives turns after a job.
func (j job) catchup() catchup {
	m := j.m.Untried()
	m.Claim = ""
	return catchup{j.tracking(), cmp.Or(j.Turns, 16), j.marks(), j.Putter, m}
}

// giveTurns lets waiting devices catch up. Waiting are those that a job found, and those that it has found to be far
// behind. For each device whose chain the job has ended, another one of its tenant follows.
func (c catchup) giveTurns(ctx context.Context, r Result) error {
	waiting := r.Waiting
	if c.m.Mark == "" {
		waiting = slices.SortedFunc(slices.Values(slices.Concat(r.Waiting, r.Behind)), schema.Place.Compare)
	}
	for _, of := range slices.CompactFunc(slices.Clone(waiting), schema.Place.SharesTenant) {
		if err := c.fillTurns(ctx, of); err != nil {
			return fmt.Errorf("giving devices of tenant %s that are far behind their turns: %w", of.Key.Tenant(), err)
		}
	}
	for _, of := range r.ended {
		if err := c.passTurn(ctx, of); err != nil {
			return fmt.Errorf("giving the turn of device %s to another one: %w", of.Device(), err)
		}
	}
	return nil
}

// fillTurns gives the tenant's free turns in a partition to the first waiting devices. Jobs that do this at the same
// time choose the same devices, and only one can give each its turn. The devices that have one are counted last, so
// that two jobs do not both give away the same turns.
func (c catchup) fillTurns(ctx context.Context, of schema.Place) error {
	keys := schema.MembersOf(of.Key.Tenant())
	waiting, now, err := c.chains(ctx, of.Month, keys, schema.TracksWaiting())
	if err != nil || len(waiting) == 0 {
		return err
	}
	taken, _, err := c.chains(ctx, of.Month, keys, schema.TracksBehind(now))
	if err != nil {
		return err
	}
	for _, e := range waiting[:min(len(waiting), c.most-len(taken))] {
		if _, err := c.startChain(ctx, e, now); err != nil {
			return err
		}
	}
	return nil
}

// passTurn gives the turn of a device that has caught up to the next one of its tenant and partition, the first after
// the last.
func (c catchup) passTurn(ctx context.Context, of schema.Place) error {
	after := schema.MembersOf(of.Key.Tenant())
	before := after
	after.From, after.After, before.Before = "", string(of.Key), string(of.Key)
	for _, keys := range []tables.Keys{after, before} {
		for {
			waiting, now, err := c.chains(ctx, of.Month, keys, schema.TracksWaiting())
			if err != nil {
				return err
			}
			if len(waiting) == 0 {
				break
			}
			for _, e := range waiting {
				if started, err := c.startChain(ctx, e, now); err != nil || started {
					return err
				}
				keys.From, keys.After = "", e.RowKey
			}
		}
	}
	return nil
}

// chains returns the first rows in a range of a partition that match a filter, as many as there are turns, and the
// service's time.
func (c catchup) chains(ctx context.Context, month schema.Month, keys tables.Keys, filter string) (
	rows []tables.Entity, now tables.Ticks, err error) {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(month.String()), Rows: keys}, Filter: filter,
		Select: []string{schema.TrackChainMark}, Size: c.most}
	for page, err := range c.tracking.DatedRows(ctx, q) {
		if err != nil {
			return nil, 0, err
		}
		now = tables.TicksOf(page.Time)
		if rows = append(rows, page.Rows...); len(rows) >= c.most {
			break
		}
	}
	return rows[:min(len(rows), c.most)], now, nil
}

// startChain puts the message of a waiting device, unless its row has changed since it was read: somebody else has.
// After a crash before the message is put, the mark expires, and the message is put again like any other lost one.
func (c catchup) startChain(ctx context.Context, waiting tables.Entity, now tables.Ticks) (started bool, err error) {
	month, err := schema.ParseMonth(waiting.PartitionKey)
	if err != nil {
		return false, err
	}
	key, err := schema.ParseMemberKey(waiting.RowKey)
	if err != nil {
		return false, err
	}
	chain := tracking.Mark{ID: waiting.Get(schema.TrackChainMark).Text(), Until: now.Add(c.marks)}
	e := tables.Entity{PartitionKey: waiting.PartitionKey, RowKey: waiting.RowKey}
	chain.SetChain(&e)
	if placed, err := commit.Place(ctx, c.tracking, tables.Merge(e, waiting.ETag)); !placed {
		return false, err
	}
	place := schema.Place{Month: month, Key: key}
	m := c.m.from(place, place)
	m.Mark = chain.ID
	return true, c.Put(ctx, m, 0)
}
