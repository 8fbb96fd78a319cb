package chart

import (
	"fmt"
	"html"
	"time"
)

// A Band is a time in which something holds, over the whole height of a chart. Its class is that of its colours; the
// page has a symbol for each, with the ID of the class behind i-.
type Band struct {
	From, To time.Time
	Class    string
	Title    string
}

// bandsOfTime draws each band as an area, a bar along its top, and its symbol where it begins.
func (d *drawing) bandsOfTime() {
	const bar, symbol = 3, 12
	for _, b := range d.Bands {
		x, to := max(left, d.x(b.From)), min(float64(d.edge), d.x(b.To))
		if to < left || x > float64(d.edge) {
			continue
		}
		width := max(2, to-x)
		fmt.Fprintf(&d.out, `<g class="incident %s"><title>%s</title><rect class="area" x="%.1f" y="%d" width="%.1f" `+
			`height="%d"/><rect class="edge" x="%.1f" y="%d" width="%.1f" height="%d"/>`, html.EscapeString(b.Class),
			html.EscapeString(b.Title), x, top, width, d.size.Height-top-bottom, x, top, width, bar)
		x = min(x+1, float64(d.edge-symbol))
		fmt.Fprintf(&d.out, `<circle class="under" cx="%.1f" cy="%d" r="%d"/><use class="glyph %s" href="#i-%s" x="%.1f" `+
			`y="%d" width="%d" height="%d"/></g>`, x+symbol/2, top+bar+1+symbol/2, symbol/2+2, html.EscapeString(b.Class),
			html.EscapeString(b.Class), x, top+bar+1, symbol, symbol)
	}
}
