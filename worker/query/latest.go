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
func (f Fleet) Latest(ctx context.Context, q Question) iter.Seq2[Newest, error] {
	parts := schema.Joined(inOrder(ctx, f.latestRanges(q)), schema.LatestOutput)
	return limited(afterSkipped(q.Scope, decoded(f.latest(), parts, outputs(q.newest))), q.Limit)
}

func (q Question) newest(e tables.Entity, report report) (Newest, bool) {
	row, err := schema.ParseLatestRow(e.RowKey)
	if err != nil {
		report("", err)
		return Newest{}, false
	}
	n := Newest{Device: row.Device}
	for _, p := range q.sensors(e) {
		v, err := latest.ParseValue(p.Name, p.Value.Text())
		if err != nil {
			report(p.Name, err)
			continue
		}
		n.Values = append(n.Values, v)
	}
	return n, len(n.Values) > 0
}

func (f Fleet) latestRanges(q Question) iter.Seq2[read, error] {
	return func(yield func(read, error) bool) {
		if q.Scope.ofTenant() {
			yield(read{f.latest(), q.query(tables.Range{Partitions: schema.OfTenant(q.Scope.tenant)})}, nil)
			return
		}
		for _, home := range q.Scope.homes {
			part := tables.Range{Partitions: tables.Is(home.String()), Rows: q.Scope.ids}
			if d := q.Scope.device; d != nil {
				part.Rows = schema.LatestRows(d.Device, d.Device)
			}
			if !yield(read{f.latest(), q.query(part)}, nil) {
				return
			}
		}
	}
}

// NewestTime is the time of a device's newest value; zero where it has none, and for
// scopes of several devices.
func (f Fleet) NewestTime(ctx context.Context, scope Scope) (newest tables.Ticks, err error) {
	if scope.device == nil {
		return 0, nil
	}
	for n, err := range f.Latest(ctx, Question{Scope: scope}) {
		if err != nil && !isUnreadable(err) {
			return 0, err
		}
		for _, v := range n.Values {
			newest = max(newest, v.At)
		}
	}
	return newest, nil
}
