package model

import (
	"context"
)

// A Listed device is one of a list as a row of an answer.
type Listed struct {
	Row
	Sensor string `json:"sensor,omitempty" column:"sensor"` // of the value
	Unit   string `json:"unit,omitempty" column:"unit"`
}

// listedAtOnce is how many devices are looked up at a time for an Export.
const listedAtOnce = 5_000

// Listed returns the devices of a list as rows.
func (ls *Lists) Listed(ctx context.Context, q ListQuery) (Export, error) {
	limit := q.Limit
	q.Limit = min(limit, listedAtOnce)
	list, err := ls.Devices(ctx, q)
	if err != nil {
		return Export{}, err
	}
	q.Tenant, q.Sensor = scoped(ctx, q.Tenant), list.Sensor
	out := &struct {
		Bounds
		Extent
	}{Bounds: Bounds{Limit: limit}}
	units := ls.accounts.Configured().units()
	rows := func(yield func(any, error) bool) {
		for err == nil {
			for _, row := range list.Devices {
				if out.Count++; !yield(Listed{row, list.Sensor, units(row.Model).UnitOf(list.Sensor)}, nil) {
					return
				}
			}
			out.Next = list.Next
			q.After, q.Limit = list.Next, min(limit-int(out.Count), listedAtOnce)
			if q.After == "" || q.Limit == 0 || out.Ends() {
				return
			}
			if err = ctx.Err(); err == nil {
				if q.Filter, err = ls.decider.decide(ctx, q.Filter); err == nil {
					list, err = ls.list(q)
				}
			}
		}
		yield(nil, err)
	}
	return Export{Answer: out, Row: Listed{}, Rows: rows}, nil
}
