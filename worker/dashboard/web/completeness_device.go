package web

import (
	"cmp"
	"slices"

	"furrow/worker/answers"
	"furrow/worker/query"
)

// A DeviceDay is how complete a day of a device is.
type DeviceDay struct {
	Day    string
	Number *answers.GapDay   // nil: no reading of the day has a number, or not all were read
	Stored int64             // readings
	Known  bool              // Stored is
	Folded []query.FoldedDay // by pipeline, in the order of the answer; without a Day where it has none

	lacks int64 // readings that are missing, late, or to be folded again
}

// Days returns the last days of the device, the worst first. Today's readings that no run has come to are no lack.
func (p DevicePage) Days() (all []DeviceDay) {
	days := map[string]*DeviceDay{}
	named := func(name string) *DeviceDay {
		if days[name] == nil {
			days[name] = &DeviceDay{Day: name, Folded: make([]query.FoldedDay, len(p.Answer.Pipelines))}
		}
		return days[name]
	}
	if p.Gaps != nil && !p.Gaps.Some {
		for _, g := range p.Gaps.Days {
			d := named(g.Day)
			d.Number, d.Stored, d.Known, d.lacks = &g, g.Readings+g.Unnumbered, true, g.Missing
		}
	}
	for i, of := range p.Answer.Pipelines {
		for _, f := range of.Days {
			if f != (query.FoldedDay{Day: f.Day}) || days[f.Day] != nil {
				named(f.Day).Folded[i] = f
			}
		}
	}
	today := p.Now.Format("2006-01-02")
	for _, d := range days {
		d.count(d.Day < today)
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b DeviceDay) int {
		return cmp.Or(cmp.Compare(b.lacks, a.lacks), cmp.Compare(b.Day, a.Day))
	})
	return all
}

// count counts what is stored and what lacks. What a pipeline has folded is stored, also where the numbers were read
// before. A pipeline that has sealed the day has forgotten its count.
func (d *DeviceDay) count(over bool) {
	sealed := slices.ContainsFunc(d.Folded, func(f query.FoldedDay) bool { return f.Sealed })
	d.Known = d.Known || !sealed && len(d.Folded) > 0
	for _, f := range d.Folded {
		d.Stored = max(d.Stored, f.Rows)
	}
	for _, f := range d.Folded {
		if f.Again || over && d.Lacks(f) {
			d.lacks += d.Stored - f.Rows
		}
	}
}

// Lacks reports whether a pipeline has folded fewer readings than are stored.
func (d DeviceDay) Lacks(f query.FoldedDay) bool {
	return d.Known && f.Day != "" && !f.Sealed && f.Rows < d.Stored
}
