package query

import (
	"context"
	"errors"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// member finds a device by its record.
func (s Source) member(ctx context.Context, id schema.DeviceID) (schema.Member, error) {
	e, err := s.devices().Get(ctx, string(id), schema.DeviceRow)
	if absent(err) {
		return schema.Member{}, s.unknown(ctx, string(id))
	}
	if err != nil {
		return schema.Member{}, err
	}
	return recordMember(e)
}

// members are the devices that keys name, by their records, in the order of their ids.
func (s Source) members(ctx context.Context, keys tables.Keys, size int) iter.Seq2[schema.Member, error] {
	return func(yield func(schema.Member, error) bool) {
		records := tables.Query{Range: tables.Range{Partitions: keys}, Size: size,
			Select: []string{"PartitionKey", "RowKey", "Month", "Tenant", "Readings", schema.FormatProperty}}
		for e, err := range entities(s.devices().Rows(ctx, records)) {
			var m schema.Member
			if err == nil {
				m, err = recordMember(e)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

func recordMember(e tables.Entity) (schema.Member, error) {
	d, err := schema.DeviceOf(e)
	return d.Member(), err
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
