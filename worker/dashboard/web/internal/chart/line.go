package chart

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func (d *drawing) pieces() [][]Point {
	apart := d.gap()
	var all [][]Point
	begin := 0
	for i := 1; i < len(d.Points); i++ {
		if d.Points[i].Time.Sub(d.Points[i-1].Time) > apart {
			all = append(all, d.Points[begin:i])
			begin = i
		}
	}
	return append(all, d.Points[begin:])
}

// gap returns how far apart points may be and still be joined: three times their median distance, which is the
// device's usual interval, or that of the windows if the device sends more often.
func (d *drawing) gap() time.Duration {
	var apart []time.Duration
	for i := 1; i < len(d.Points); i++ {
		apart = append(apart, d.Points[i].Time.Sub(d.Points[i-1].Time))
	}
	if len(apart) == 0 {
		return 0
	}
	slices.Sort(apart)
	return 3 * max(time.Second, apart[len(apart)/2])
}

// middle returns the position of a point: the middle of its window.
func (d *drawing) middle(p Point) float64 {
	return max(left, min(float64(d.edge), d.x(p.Time.Add(d.Window/2))))
}

func (d *drawing) band() {
	var path strings.Builder
	for _, piece := range d.pieces() {
		if len(piece) < 2 {
			if p := piece[0]; p.Low < p.High {
				fmt.Fprintf(&path, "M%.1f %.1fV%.1fh2V%.1fz", d.middle(p)-1, d.y(p.Low), d.y(p.High), d.y(p.Low))
			}
			continue
		}
		for i, p := range piece {
			fmt.Fprintf(&path, "%s%.1f %.1f", letter(i), d.middle(p), d.y(p.High))
		}
		for _, p := range slices.Backward(piece) {
			fmt.Fprintf(&path, "L%.1f %.1f", d.middle(p), d.y(p.Low))
		}
		path.WriteString("z")
	}
	if slices.ContainsFunc(d.Points, func(p Point) bool { return p.Low < p.High }) {
		fmt.Fprintf(&d.out, `<path class="band" d="%s"/>`, path.String())
	}
}

func (d *drawing) line(class string) {
	var path, dots strings.Builder
	for _, piece := range d.pieces() {
		if len(piece) == 1 { // the line's round end makes it a dot
			fmt.Fprintf(&dots, "M%.1f %.1fh.01", d.middle(piece[0]), d.y(piece[0].Value))
			continue
		}
		for i, p := range piece {
			fmt.Fprintf(&path, "%s%.1f %.1f", letter(i), d.middle(p), d.y(p.Value))
		}
	}
	fmt.Fprintf(&d.out, `<path class="%s" d="%s"/><path class="%s" d="%s"/>`, class, path.String(),
		strings.Replace(class, "line", "dots", 1), dots.String())
}

func letter(i int) string {
	if i == 0 {
		return "M"
	}
	return "L"
}

func (d *drawing) bars() {
	base := d.y(0)
	d.out.WriteString(`<g class="bars">`)
	for _, p := range d.Points {
		from, to := max(left, d.x(p.Time)), min(float64(d.edge), d.x(p.Time.Add(d.Window)))
		if to <= from {
			continue
		}
		width := max(1, (to-from)*0.8)
		height := max(0.5, base-d.y(max(0, p.Value)))
		fmt.Fprintf(&d.out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f"/>`, (from+to-width)/2, base-height,
			width, height, min(1.5, width/2))
	}
	d.out.WriteString(`</g>`)
}
