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

// keys are the row keys of the fleet that can be meant.
func (w Which) keys() (tables.Keys, error) {
	if w.Device != "" {
		return tables.Is(string(w.Device)), nil
	}
	return schema.IDsWithPrefix(w.Prefix)
}

func (w Which) meets(m schema.Member) bool {
	return (w.Tenant == "" || m.Tenant == w.Tenant) && strings.HasPrefix(string(m.Device), w.Prefix)
}

// Members are the devices that are meant, month by month, in the order of their
// ids. Of each month only the range of the ids is read.
func (f *Fleet) Members(ctx context.Context, which Which) iter.Seq2[schema.Member, error] {
	return func(yield func(schema.Member, error) bool) {
		keys, err := which.keys()
		if err != nil {
			yield(schema.Member{}, err)
			return
		}
		for month, err := range f.months(ctx) {
			if err != nil {
				yield(schema.Member{}, err)
				return
			}
			for e, err := range f.rows(ctx, f.Names.Fleet(), tables.Query{Range: tables.Range{Partitions: tables.Is(month), Rows: keys}}) {
				var m schema.Member
				if err == nil {
					m, err = schema.MemberOf(e)
				}
				if (err != nil || which.meets(m)) && !yield(m, err) || err != nil {
					return
				}
			}
		}
	}
}

// months are the partitions of the fleet, each found with one request.
func (f *Fleet) months(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for last := ""; ; {
			found := false
			for e, err := range f.rows(ctx, f.Names.Fleet(), tables.Query{Range: tables.PartitionsAfter(last), Size: 1, Select: []string{"PartitionKey"}}) {
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
		keys, err := schema.IDsWithPrefix(prefix)
		if err != nil {
			yield(schema.Track{}, err)
			return
		}
		q := tables.Query{Range: tables.Range{Rows: keys}, Filter: schema.TracksFailing(), Select: schema.TrackProperties()}
		for e, err := range f.rows(ctx, f.Names.Partitions(p), q) {
			var h schema.Track
			if err == nil {
				h, err = schema.TrackOf(e)
			}
			if (err != nil || h.Failing()) && !yield(h, err) || err != nil {
				return
			}
		}
	}
}
