// Package chart draws charts over time as SVG: a line with a band, or bars. Its elements have classes and no style
// attributes, which a strict content security policy forbids; the common chart libraries write style attributes.
package chart

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"
)

// A Chart is values over time.
type Chart struct {
	Title    string // for screen readers, like Desc
	Desc     string
	Unit     string
	From, To time.Time
	Window   time.Duration // of a point; 0: a point is a moment
	Points   []Point       // ordered by time
	Bars     bool          // instead of a line
	Overlays []Overlay
	Bands    []Band
	Limits   []float64 // that values should not pass; they are within the axis
}

// An Overlay is another line over the same time. One with the unit of the chart shares its axis. Others have scales of
// their own, the first of them with an axis on the right.
type Overlay struct {
	Unit   string
	Points []Point
}

// A Point is a value with its range. Low and High equal Value when there is none.
type Point struct {
	Time             time.Time
	Value, Low, High float64
}

// A Size is in CSS pixels.
type Size struct{ Width, Height int }

// Margins around the plot.
const (
	left, right, top, bottom = 46, 10, 8, 22
)

func (c Chart) SVG(s Size, class string) string {
	d := drawing{Chart: c, size: s, low: math.Inf(1), high: math.Inf(-1)}
	d.Points = drawable(c.Points)
	d.edge = s.Width - right
	overlays := d.overlays()
	d.measure()
	d.begin(class)
	d.axis("values", left-6, true)
	d.timeAxis()
	d.bandsOfTime()
	for _, v := range d.Limits {
		fmt.Fprintf(&d.out, `<path class="limit" d="M%d %.1fH%d"/>`, left, d.y(v), d.edge)
	}
	switch {
	case len(d.Points) == 0 && len(overlays) == 0:
		fmt.Fprintf(&d.out, `<text class="none" x="%d" y="%d">no readings in this time</text>`, (left+d.edge)/2,
			(top+s.Height-bottom)/2)
	case c.Bars:
		d.bars()
	default:
		d.band()
		d.line("line")
	}
	for i, o := range overlays {
		o.scaleAs(&d)
		o.line(fmt.Sprint("line o", i+1))
		other := func(o *drawing) bool { return !d.sharesAxis(o.Unit) }
		if other(o) && !slices.ContainsFunc(overlays[:i], other) {
			o.axis("values right", d.edge+6, false)
		}
		d.out.WriteString(o.out.String())
	}
	d.out.WriteString(`</svg>`)
	return d.out.String()
}

// drawable drops NaN and limits numbers, so that differences stay finite.
func drawable(points []Point) []Point {
	const most = 1e100
	var all []Point
	for _, p := range points {
		if math.IsNaN(p.Value) || math.IsNaN(p.Low) || math.IsNaN(p.High) {
			continue
		}
		for _, v := range []*float64{&p.Value, &p.Low, &p.High} {
			*v = max(-most, min(most, *v))
		}
		all = append(all, p)
	}
	return all
}

type drawing struct {
	Chart
	size      Size
	edge      int     // right end of the plot
	low, high float64 // of the value axis
	step      float64
	out       strings.Builder
}

// measure computes the value axis: round numbers that include every point.
func (d *drawing) measure() {
	for _, p := range d.Points {
		d.low, d.high = min(d.low, p.Low), max(d.high, p.High)
	}
	for _, v := range d.Limits {
		d.low, d.high = min(d.low, v), max(d.high, v)
	}
	switch {
	case d.Bars: // counts start at zero
		if d.low = 0; !(d.high > 0) {
			d.high = 1
		}
	case d.low > d.high:
		d.low, d.high = 0, 1
	case d.low == d.high:
		d.low, d.high = d.low-max(0.5, math.Abs(d.low)/100), d.high+max(0.5, math.Abs(d.high)/100)
	}
	d.step = round((d.high - d.low) / float64(max(2, (d.size.Height-top-bottom)/44)))
	if d.Bars && d.Unit == "" { // a count has no halves
		d.step = max(1, d.step)
	}
	d.low, d.high = math.Floor(d.low/d.step+1e-9)*d.step, math.Ceil(d.high/d.step-1e-9)*d.step
}

// round returns the smallest of 1, 2, 5, 10 … that is at least x.
func round(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, by := range []float64{1, 2, 5} {
		if by*power >= x*0.999999 {
			return by * power
		}
	}
	return 10 * power
}

func (d *drawing) x(t time.Time) float64 {
	width := float64(d.edge - left)
	return left + width*float64(t.Sub(d.From))/float64(max(1, d.To.Sub(d.From)))
}

func (d *drawing) y(v float64) float64 {
	height := float64(d.size.Height - top - bottom)
	return top + height*(1-(v-d.low)/(d.high-d.low))
}

// begin writes the head of a drawing.
func (d *drawing) begin(class string) {
	fmt.Fprintf(&d.out, `<svg class="chart %s" viewBox="0 0 %d %d" data-plot="%d %d %d %d" data-from="%d" data-to="%d" role="img" aria-label="%s">`,
		class, d.size.Width, d.size.Height, left, top, d.edge, d.size.Height-bottom, d.From.UnixMilli(), d.To.UnixMilli(),
		html.EscapeString(strings.TrimSuffix(d.Title, ".")+". "+d.Desc))
	fmt.Fprintf(&d.out, `<title>%s</title><desc>%s</desc>`, html.EscapeString(d.Title), html.EscapeString(d.Desc))
}

// axis draws round values beside the plot, and lines across it.
func (d *drawing) axis(class string, x int, lines bool) {
	fmt.Fprintf(&d.out, `<g class="%s">`, class)
	n := int(math.Round((d.high - d.low) / d.step))
	for i := range min(n, 40) + 1 {
		v := d.low + float64(i)*d.step
		label := Number(v, d.step)
		if i == n && d.Unit != "" && len([]rune(label))+len([]rune(d.Unit)) < 7 {
			label += " " + d.Unit
		}
		if lines {
			fmt.Fprintf(&d.out, `<path d="M%d %.1fH%d"/>`, left, d.y(v), d.edge)
		}
		fmt.Fprintf(&d.out, `<text x="%d" y="%.1f">%s</text>`, x, d.y(v)+4, html.EscapeString(label))
	}
	d.out.WriteString(`</g>`)
}

// Number formats v with the digits that steps of that size need.
func Number(v, step float64) string {
	if step == 0 || math.Abs(v) < step/1e6 {
		v = 0
	}
	if v == 0 && step >= 1 {
		return "0"
	}
	switch size := max(math.Abs(v), step); {
	case size >= 2e9:
		return fmt.Sprintf("%.3gG", v/1e9)
	case size >= 2e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case size >= 2e4:
		return fmt.Sprintf("%.3gk", v/1e3)
	case size < 1e-4:
		return fmt.Sprintf("%.1g", v)
	}
	digits := 0
	if step < 1 {
		digits = int(math.Ceil(-math.Log10(step) - 1e-9))
	}
	return strings.Replace(fmt.Sprintf("%.*f", digits, v), "-", "−", 1)
}
