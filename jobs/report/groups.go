package report

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"furrow/jobs/rollup"
	"furrow/tables/schema"
)

// Groups joins the devices of one bucket by what they have in common.
type Groups struct {
	By  []schema.By
	all map[groupKey]*group
}

type groupKey struct {
	by   schema.By
	name string
}

// Add adds a device's bucket to the groups that its placement says. Devices come in their order.
func (g *Groups) Add(at schema.Placement, values map[string]rollup.Timed, stored schema.Stored) {
	if len(values) == 0 && stored.Rows == 0 {
		return
	}
	for _, by := range g.By {
		name, is := by.Of(at.Site, at.Labels)
		if !is {
			continue
		}
		key := groupKey{by, name}
		if g.all[key] == nil {
			if g.all == nil {
				g.all = map[groupKey]*group{}
			}
			g.all[key] = &group{by: by, name: name, sensors: map[string]*Aggregate{}, rest: map[string]bool{}}
		}
		g.all[key].add(values, stored)
	}
}

// sorted returns the groups in the order of By and names.
func (g *Groups) sorted() []*group {
	return slices.SortedFunc(maps.Values(g.all), func(a, b *group) int {
		return cmp.Or(slices.Index(g.By, a.by)-slices.Index(g.By, b.by), cmp.Compare(a.name, b.name))
	})
}

// A Line is what a report says of one sensor of a group.
type Line struct {
	By     schema.By
	Group  string // empty by tenant
	Sensor string
	Aggregate
}

// Lines yields the reports in the order of groups and sensors.
func (g *Groups) Lines() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for _, one := range g.sorted() {
			one.trim()
			for _, sensor := range slices.Sorted(maps.Keys(one.sensors)) {
				if !yield(Line{one.by, one.name, sensor, *one.sensors[sensor]}) {
					return
				}
			}
		}
	}
}
