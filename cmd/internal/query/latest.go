package query

import (
	"context"
	"iter"

	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
)

// Newest is the newest value of each sensor of a device.
type Newest struct {
	Device schema.DeviceID
	Values []latest.Value
}

// Latest are the newest values of the scope's devices: by tenant, month and device.
func (s Source) Latest(ctx context.Context, q Question) iter.Seq2[Record, error] {
	return limited(func(yield func(Record, error) bool) {
		for e, err := range schema.Joined(ahead(ctx, s.latestRanges(q)), schema.LatestOutput) {
			var n Newest
			if err == nil {
				n, err = q.newest(e)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(n.Values) > 0 && !yield(n, nil) {
				return
			}
		}
	}, q.Limit)
}

func (q Question) newest(e tables.Entity) (Newest, error) {
	n := Newest{Device: schema.DeviceID(e.RowKey)}
	for _, p := range q.sensors(e) {
		v, err := latest.ParseValue(p.Name, p.Value.Text())
		if err != nil {
			return n, err
		}
		n.Values = append(n.Values, v)
	}
	return n, nil
}

func (s Source) latestRanges(q Question) iter.Seq2[read, error] {
	return func(yield func(read, error) bool) {
		if q.Scope.homes == nil {
			yield(read{s.latest(), q.query(tables.Range{Partitions: schema.OfTenant(q.Scope.tenant)})}, nil)
			return
		}
		for _, h := range q.Scope.homes {
			p := schema.LatestPartition{Tenant: h.tenant, Month: h.month}
			part := tables.Range{Partitions: tables.Is(p.String()), Rows: q.Scope.ids}
			if d := q.Scope.device; d != nil {
				part.Rows = schema.LatestRows(d.Device, d.Device)
			}
			if !yield(read{s.latest(), q.query(part)}, nil) {
				return
			}
		}
	}
}

// NewestTime is when the newest value of a device is from; zero where it has
// none, and for scopes of several devices.
func (s Source) NewestTime(ctx context.Context, scope Scope) (newest tables.Ticks, err error) {
	if scope.device == nil {
		return 0, nil
	}
	for r, err := range s.Latest(ctx, Question{Scope: scope}) {
		if err != nil {
			return 0, err
		}
		for _, v := range r.(Newest).Values {
			newest = max(newest, v.At)
		}
	}
	return newest, nil
}
