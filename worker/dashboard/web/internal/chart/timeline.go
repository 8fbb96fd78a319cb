package chart

import (
	"fmt"
	"html"
	"time"
)

// A Timeline is the states of something over time.
type Timeline struct {
	Title, Desc string // for screen readers
	From, To    time.Time
	Spans       []Span
	Bands       []Band
}

// A Span is a time with one state, whose colour is a class.
type Span struct {
	From, To time.Time
	State    string
	Class    string
}

// SVG draws each span as a bar. A span shorter than a pixel is a pixel wide.
func (t Timeline) SVG(s Size, class string) string {
	c := Chart{Title: t.Title, Desc: t.Desc, From: t.From, To: t.To, Bands: t.Bands}
	d := drawing{Chart: c, size: s, edge: s.Width - right}
	d.begin(class)
	d.timeAxis()
	d.out.WriteString(`<g class="spells">`)
	for _, p := range t.Spans {
		x, to := max(left, d.x(p.From)), min(float64(d.edge), d.x(p.To))
		if to < x {
			continue
		}
		fmt.Fprintf(&d.out, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"><title>%s</title></rect>`, p.Class, x,
			top+4, max(1, to-x), s.Height-bottom-top-8, html.EscapeString(p.State))
	}
	d.out.WriteString(`</g>`)
	d.bandsOfTime()
	d.out.WriteString(`</svg>`)
	return d.out.String()
}
