package model

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

const (
	trickleEvery = 30 * time.Second // a page of records is read again while somebody watches
	retryAfter   = 5 * time.Second
)

// keepRecords reads the records of all devices once somebody looks, and from then on
// again and again, slowly and while somebody watches: a device that was moved or renamed is
// shown as it was for a while, and its own page mends that.
func (s *Store) keepRecords(ctx context.Context) {
	for s.watched.wait(ctx) {
		err := s.allRecords(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		s.log.WarnContext(ctx, "the records of devices cannot be read; they are tried again", "error", err)
		s.watched.ended(err)
		pause(ctx, retryAfter)
	}
	s.index.loaded()
	close(s.loaded)
	pause(ctx, trickleEvery)
	next := tables.Continuation{}
	for s.watched.wait(ctx) {
		for page, err := range s.table(s.c.Names.Devices()).Rows(ctx, recordsQuery(tables.Range{}, next)) {
			next = tables.Continuation{}
			if err == nil {
				s.takeRecords(page.Rows)
				next = page.Next
			}
			break // one page at a time
		}
		pause(ctx, trickleEvery)
	}
}

func (s *Store) allRecords(ctx context.Context) error {
	for page, err := range s.table(s.c.Names.Devices()).Rows(ctx, recordsQuery(tables.Range{}, tables.Continuation{})) {
		if errors.Is(err, tables.ErrNoTable) {
			return nil
		}
		if err != nil {
			return err
		}
		s.takeRecords(page.Rows)
	}
	return nil
}

// recordsQuery leaves out the tokens, which are most of a record.
func recordsQuery(r tables.Range, from tables.Continuation) tables.Query {
	return tables.Query{Range: r, From: from, Select: []string{"Month", "Tenant", "Site", "Lat", "Lon", "Labels", "Readings", "Status"}}
}

// takeRecords takes in rows of devices. One that cannot be read is passed: its own
// page says what is wrong with it.
func (s *Store) takeRecords(rows []tables.Entity) {
	all := make([]recorded, 0, len(rows))
	for _, e := range rows {
		if d, err := schema.DeviceOf(e); err == nil {
			all = append(all, recorded{d, e.Get("Labels").Text()})
		}
	}
	s.index.records(all)
}

// pause waits, and no longer than ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// mostGets is how many new devices are looked up one by one.
const mostGets = 20

// addRecords reads the records of devices that are new in the fleet. Where there
// are many, the range that they lie in is read instead.
func (s *Store) addRecords(ctx context.Context, new []schema.Member) error {
	if len(new) == 0 {
		return nil
	}
	table := s.table(s.c.Names.Devices())
	if len(new) <= mostGets {
		for _, m := range new {
			e, err := table.Get(ctx, string(m.Device), schema.DeviceRow)
			switch {
			case err == nil:
				s.takeRecords([]tables.Entity{e})
			case errors.Is(err, tables.ErrNoTable) || errors.Is(err, tables.ErrNotFound):
				s.index.add(m)
			default:
				return err
			}
		}
		return nil
	}
	slices.SortFunc(new, func(a, b schema.Member) int { return strings.Compare(string(a.Device), string(b.Device)) })
	between := tables.Range{Partitions: tables.Keys{From: string(new[0].Device), To: string(new[len(new)-1].Device)}}
	for page, err := range table.Rows(ctx, recordsQuery(between, tables.Continuation{})) {
		if err != nil && !errors.Is(err, tables.ErrNoTable) {
			return err
		}
		s.takeRecords(page.Rows)
	}
	for _, m := range new {
		s.index.add(m)
	}
	return nil
}

// add adds a device that has no record, if it is not there.
func (x *index) add(m schema.Member) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, known := x.at[string(m.Device)]; !known {
		x.device(string(m.Device), m.Tenant, m.Month)
		x.touch()
	}
}
