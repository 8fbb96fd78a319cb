package model

import (
	"context"
	"slices"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

const (
	trickleInterval = 30 * time.Second // between two pages of records that are read again
	retryAfter      = 5 * time.Second
)

// keepRecords reads the records of all devices when the dashboard is first used, and then again page by
// page while it is used. A record that changed is shown as it was for a while, but not on its own page.
func (s *Store) keepRecords(ctx context.Context) {
	for s.watch.wait(ctx) {
		err := s.allRecords(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		s.log.WarnContext(ctx, "device records cannot be read; trying again", "error", err)
		s.watch.ended(err)
		pause(ctx, retryAfter)
	}
	s.index.loaded()
	close(s.loaded)
	pause(ctx, trickleInterval)
	next := tables.Continuation{}
	for s.watch.wait(ctx) {
		for page, err := range s.table(s.c.Names.Devices()).Rows(ctx, recordsQuery(tables.Range{}, next)) {
			next = tables.Continuation{}
			if err == nil {
				s.takeRecords(page.Rows)
				next = page.Next
			}
			break // one page at a time
		}
		pause(ctx, trickleInterval)
	}
}

func (s *Store) allRecords(ctx context.Context) error { return s.recordsIn(ctx, tables.Range{}) }

func (s *Store) recordsIn(ctx context.Context, r tables.Range) error {
	for page, err := range s.table(s.c.Names.Devices()).Rows(ctx, recordsQuery(r, tables.Continuation{})) {
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		s.takeRecords(page.Rows)
	}
	return nil
}

// recordsQuery leaves out the tokens, which are the largest part of a record.
func recordsQuery(r tables.Range, from tables.Continuation) tables.Query {
	return tables.Query{Range: r, From: from, Select: []string{"Month", "Tenant", "Site", "Lat", "Lon", "Labels",
		"Readings", "Status"}}
}

// takeRecords puts records into the index. The device's page shows one that cannot be read.
func (s *Store) takeRecords(rows []tables.Entity) {
	all := make([]recorded, 0, len(rows))
	for _, e := range rows {
		if d, err := schema.DeviceOf(e); err == nil {
			all = append(all, recorded{d, e.Get("Labels").Text()})
		}
	}
	s.index.records(all)
}

// maxGets is how many new devices are looked up one by one.
const maxGets = 20

// addRecords reads the records of new devices; of many, the whole range that they lie in.
func (s *Store) addRecords(ctx context.Context, added []schema.Member) error {
	if n := len(added); n > maxGets {
		slices.SortFunc(added, func(a, b schema.Member) int { return strings.Compare(string(a.Device), string(b.Device)) })
		between := tables.Keys{From: string(added[0].Device), To: string(added[n-1].Device)}
		if err := s.recordsIn(ctx, tables.Range{Partitions: between}); err != nil {
			return err
		}
	}
	for _, m := range added {
		if len(added) <= maxGets {
			e, err := s.one(ctx, s.c.Names.Devices(), string(m.Device), schema.DeviceRow)
			if err != nil {
				return err
			}
			if e != nil {
				s.takeRecords([]tables.Entity{*e})
			}
		}
		s.index.add(m)
	}
	return nil
}

// add adds a device that has no record, unless it is known.
func (x *index) add(m schema.Member) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, known := x.at[string(m.Device)]; !known {
		x.device(string(m.Device), m.Tenant, m.Month)
		x.touch()
	}
}
