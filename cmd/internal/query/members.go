package query

import (
	"context"
	"errors"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// member finds a device by its record. One that was put into the fleet without
// a record is looked for in month after month.
func (s Source) member(ctx context.Context, id schema.DeviceID) (schema.Member, error) {
	e, err := s.devices().Get(ctx, string(id), schema.DeviceRow)
	if err == nil {
		d, err := schema.DeviceOf(e)
		return d.Member(), err
	}
	if !absent(err) {
		return schema.Member{}, err
	}
	for month, err := range s.months(ctx) {
		if err != nil {
			return schema.Member{}, err
		}
		if e, err = s.fleet().Get(ctx, month, string(id)); err == nil {
			return schema.MemberOf(e)
		}
		if !absent(err) {
			return schema.Member{}, err
		}
	}
	return schema.Member{}, s.unknown(ctx, string(id))
}

// members are the devices that keys name, by their records, in the order of their
// ids; where there is no record, those of the fleet, month by month.
func (s Source) members(ctx context.Context, keys tables.Keys, size int) iter.Seq2[schema.Member, error] {
	return func(yield func(schema.Member, error) bool) {
		some, more := false, true
		records := tables.Query{Range: tables.Range{Partitions: keys}, Select: []string{"Month", "Tenant", "Readings"}, Size: size}
		for e, err := range entities(s.devices().Rows(ctx, records)) {
			some = true
			if more = yieldMember(yield, e, err, recordMember); !more {
				return
			}
		}
		if some {
			return
		}
		for month, err := range s.months(ctx) {
			if err != nil {
				yield(schema.Member{}, err)
				return
			}
			rows := tables.Query{Range: tables.Range{Partitions: tables.Is(month), Rows: keys}, Size: size}
			for e, err := range entities(s.fleet().Rows(ctx, rows)) {
				if !yieldMember(yield, e, err, schema.MemberOf) {
					return
				}
			}
		}
	}
}

func recordMember(e tables.Entity) (schema.Member, error) {
	d, err := schema.DeviceOf(e)
	return d.Member(), err
}

func yieldMember(yield func(schema.Member, error) bool, e tables.Entity, err error, read func(tables.Entity) (schema.Member, error)) bool {
	var m schema.Member
	if err == nil {
		m, err = read(e)
	}
	return yield(m, err) && err == nil
}

// entities are the rows of pages. A table that does not exist has none.
func entities(pages iter.Seq2[tables.Page, error]) iter.Seq2[tables.Entity, error] {
	return func(yield func(tables.Entity, error) bool) {
		for page, err := range pages {
			if errors.Is(err, tables.ErrNoTable) {
				return
			}
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
