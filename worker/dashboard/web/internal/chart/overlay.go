package chart

import "math"

// overlays returns the drawings of the overlays. It makes room for an axis on the right if one has another unit.
func (d *drawing) overlays() (all []*drawing) {
	for _, o := range d.Overlays {
		if !d.sharesAxis(o.Unit) {
			d.edge = d.size.Width - left
		}
	}
	for _, o := range d.Overlays {
		c := d.Chart
		c.Unit, c.Points, c.Overlays = o.Unit, drawable(o.Points), nil
		all = append(all, &drawing{Chart: c, size: d.size, edge: d.edge, low: math.Inf(1), high: math.Inf(-1)})
	}
	for _, o := range all { // one axis includes all lines of its unit
		for _, p := range o.Points {
			for _, q := range append(all, d) {
				if q == o || q.sharesAxis(o.Unit) {
					q.low, q.high = min(q.low, p.Value), max(q.high, p.Value)
				}
			}
		}
	}
	return all
}

// sharesAxis reports whether values of a unit have the axis of the drawing. Without units nobody knows.
func (d *drawing) sharesAxis(unit string) bool { return unit != "" && unit == d.Unit }

// scaleAs measures an overlay, or takes the scale of the chart if it has the same unit.
func (d *drawing) scaleAs(chart *drawing) {
	if chart.sharesAxis(d.Unit) {
		d.low, d.high, d.step = chart.low, chart.high, chart.step
		return
	}
	d.measure()
}
