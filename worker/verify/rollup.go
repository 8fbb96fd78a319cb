package verify

import (
	"context"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Rollup is the rollups of a pipeline, and the buckets and reports that are made with them.
type Rollup struct {
	Windows  []schema.Window
	Reported []schema.Window // of these, those that are reported
	By       []schema.By     // of reports
}

const rollupsTable = "rollups"

func (o Rollup) tables() (all []string) {
	if len(o.Windows) > 0 {
		all = append(all, rollupsTable)
	}
	if len(o.Reported) > 0 {
		all = append(all, schema.BucketsTable)
	}
	return all
}

// begin prepares to compare the buckets of rollups and of reports.
func (o Rollup) begin(ctx context.Context, p *pipe) error {
	room := roomOfBuckets / max(1, len(o.Windows))
	for _, w := range o.Windows {
		s := &series{output: "rollups " + w.String(), table: Rollups, window: w, count: sumsCounted,
			fresh: func(tables.Ticks) bucket { return &sums{sensors: map[string]*sum{}, left: room} }}
		if err := s.begin(p, p.rowsOf(ctx, rollupsTable, w)); err != nil {
			return err
		}
	}
	for _, w := range longest(o.Reported, p.Values) {
		p.checks = append(p.checks, &reported{output: "buckets " + w.String(), window: w, room: room})
	}
	return nil
}

// longest returns the longest window, or all if values are compared.
func longest(windows []schema.Window, values bool) []schema.Window {
	if values || len(windows) == 0 {
		return windows
	}
	return []schema.Window{slices.Max(windows)}
}

// home verifies window after window, day after day.
func (o Rollup) home(ctx context.Context, h *home, p Pipeline) error {
	if err := h.strangersOfDays(ctx, p, rollupsTable, o.Windows); err != nil {
		return err
	}
	for _, w := range longest(o.Reported, h.Values) {
		of := schema.RollupPartition{Tenant: h.at.Tenant, Window: w, Month: h.at.Month}
		for key, err := range partitionsOf(ctx, h.Client.Table(h.Names.Output(schema.BucketsTable)), of, h.From, h.To) {
			if err != nil {
				return err
			}
			found, err := o.reportsOf(ctx, h, p, w, key.Day)
			if err != nil {
				return err
			}
			h.found.Differences = append(h.found.Differences, found...)
		}
	}
	return nil
}

// reportsOf compares the reports of a day. A job writes the buckets of devices before it leaves a mark with its
// commit, so where nothing explains a difference, it waits longer and longer, and looks again.
func (o Rollup) reportsOf(ctx context.Context, h *home, p Pipeline, w schema.Window, day schema.Day) (
	[]Difference, error) {
	for n := 1; ; n++ {
		look := home{Config: h.Config, at: h.at}
		if err := look.reports(ctx, p, o.By, w, day); err != nil {
			return nil, err
		}
		if n == looks || look.found.Unexplained() == 0 {
			h.found.Looks = max(h.found.Looks, n)
			return look.found.Differences, nil
		}
		h.pause(n)
	}
}

func (o Rollup) cost(values bool, days int64, busy load) (c cost) {
	c.device = days * int64(len(o.Windows))
	// The fleet beside those that are not empty.
	c.home = (days + busy.days) * int64(len(longest(o.Windows, values)))
	for _, w := range longest(o.Reported, values) {
		c.device += busy.buckets(w)
		c.home += days + busy.buckets(w)*int64(1+len(o.By))
	}
	for _, w := range o.Windows {
		if w <= schema.Minute {
			c.pages++
		}
	}
	return c
}
