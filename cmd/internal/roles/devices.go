package roles

import (
	"context"
	"iter"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// Which says which devices of a fleet are meant. Everything that is not empty
// must hold.
type Which struct {
	Device schema.DeviceID
	Prefix string // of the id
	Tenant schema.Tenant
}

// Members are the devices that are meant: those that are named by their ids in the
// order of these, and others month by month. No more is read than their range.
func (f *Fleet) Members(ctx context.Context, which Which) iter.Seq2[schema.Member, error] {
	if which.Device != "" || which.Prefix != "" {
		return f.byID(ctx, which)
	}
	return func(yield func(schema.Member, error) bool) {
		var rows tables.Keys
		if which.Tenant != "" {
			rows = schema.MembersOf(which.Tenant)
		}
		for month, err := range f.months(ctx) {
			if err != nil {
				yield(schema.Member{}, err)
				return
			}
			for e, err := range f.rows(ctx, f.Names.Fleet(), tables.Query{Range: tables.Range{Partitions: tables.Is(month), Rows: rows}}) {
				var m schema.Member
				if err == nil {
					m, err = schema.MemberOf(e)
				}
				if !yield(m, err) || err != nil {
					return
				}
			}
		}
	}
}

// byID are the devices that are meant, by their records.
func (f *Fleet) byID(ctx context.Context, which Which) iter.Seq2[schema.Member, error] {
	return func(yield func(schema.Member, error) bool) {
		keys, err := schema.IDsWithPrefix(which.Prefix)
		if which.Device != "" {
			keys = tables.Is(string(which.Device))
		}
		if err != nil {
			yield(schema.Member{}, err)
			return
		}
		for e, err := range f.rows(ctx, f.Names.Devices(), tables.Query{Range: tables.Range{Partitions: keys}}) {
			var d schema.Device
			if err == nil {
				d, err = schema.DeviceOf(e)
			}
			meant := (which.Tenant == "" || d.Tenant == which.Tenant) && strings.HasPrefix(string(d.ID), which.Prefix)
			if (err != nil || meant) && !yield(d.Member(), err) || err != nil {
				return
			}
		}
	}
}

// months are the partitions of the fleet, each found with one request.
func (f *Fleet) months(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for last := ""; ; {
			found := false
			for e, err := range f.rows(ctx, f.Names.Fleet(), tables.Query{Range: schema.Memberships(last), Size: 1, Select: []string{"PartitionKey"}}) {
				if err != nil {
					yield("", err)
					return
				}
				last, found = e.PartitionKey, true
				break
			}
			if !found || !yield(last, nil) {
				return
			}
		}
	}
}

// rows are the rows of a query, one by one.
func (f *Fleet) rows(ctx context.Context, table string, q tables.Query) iter.Seq2[tables.Entity, error] {
	return func(yield func(tables.Entity, error) bool) {
		for page, err := range f.Tables.Table(table).Rows(ctx, q) {
			if err != nil {
				yield(tables.Entity{}, err)
				return
			}
			for _, e := range page.Rows {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Held are the devices of a pipeline that fail, with their reasons. It reads the
// tracking rows, a thousand at a time.
func (f *Fleet) Held(ctx context.Context, p schema.Pipeline, prefix string) iter.Seq2[schema.Track, error] {
	return func(yield func(schema.Track, error) bool) {
		q := tables.Query{Filter: schema.TracksFailing(), Select: schema.TrackProperties()}
		for e, err := range f.rows(ctx, f.Names.Partitions(p), q) {
			var h schema.Track
			if err == nil {
				h, err = schema.TrackOf(e)
			}
			if (err != nil || h.Failing() && strings.HasPrefix(string(h.Place.Device()), prefix)) && !yield(h, err) || err != nil {
				return
			}
		}
	}
}
