package web

import (
	"fmt"
	"math"
	"net/url"
	"strings"

	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web/internal/earth"
)

// The still map is for browsers without scripts: an image of the base map, with marks that link to a closer map or
// to a device.

// stillScale is pixels per unit of the projection.
const stillScale = 1200 / earth.Width

func stillPoint(lon, lat float64) (x, y float64) {
	x, y = earth.Project(lon, lat)
	return (x + earth.Width/2) * stillScale, (earth.Height/2 - y) * stillScale
}

// stillGround draws the base map as SVG, without details smaller than a pixel.
func stillGround(outlines []byte) ([]byte, error) {
	o, err := earth.Decode(outlines)
	if err != nil {
		return nil, fmt.Errorf("world.bin: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 %.0f"><style>`+
		`path{fill:none;stroke-linejoin:round}.s{fill:#dde7ec}.l{fill:#f6f4ee;stroke:#b3c0c6;stroke-width:.6}.b{stroke:#d3d3cb;stroke-width:.5}`+
		`@media(prefers-color-scheme:dark){.s{fill:#10171d}.l{fill:#232c34;stroke:#3f4c57}.b{stroke:#38434d}}</style>`, earth.Height*stillScale)
	var edge earth.Line
	for lat := int32(-90); lat <= 90; lat += 3 {
		edge = append(edge, [2]int32{180 * earth.Grain, lat * earth.Grain})
	}
	for lat := int32(90); lat >= -90; lat -= 3 {
		edge = append(edge, [2]int32{-180 * earth.Grain, lat * earth.Grain})
	}
	stillPath(&b, "s", []earth.Line{edge}, "z")
	stillPath(&b, "l", o.Land, "z")
	stillPath(&b, "b", o.Borders, "")
	b.WriteString(`</svg>`)
	return []byte(b.String()), nil
}

func stillPath(b *strings.Builder, class string, lines []earth.Line, end string) {
	fmt.Fprintf(b, `<path class="%s" d="`, class)
	for _, l := range lines {
		var at [2]float64
		var part strings.Builder
		n := 0
		for _, p := range l {
			x, y := stillPoint(float64(p[0])/earth.Grain, float64(p[1])/earth.Grain)
			switch {
			case n == 0:
				fmt.Fprintf(&part, "M%.1f %.1f", x, y)
			case math.Hypot(x-at[0], y-at[1]) > 0.9:
				fmt.Fprintf(&part, "L%.1f %.1f", x, y)
			default:
				continue
			}
			at = [2]float64{x, y}
			n++
		}
		if n > 2 || n == 2 && end == "" {
			b.WriteString(part.String() + end)
		}
	}
	b.WriteString(`"/>`)
}

// A stillMark is a group of devices, or a device where it has a State.
type stillMark struct {
	Address, Title, Class string
	State                 model.State
	X, Y, R               float64
}

func (p MapPage) Still() (marks []stillMark) {
	dot := p.stillView()[2] / 220
	for _, c := range p.Map.Clusters {
		if onEarth(&c.Lat, &c.Lon) {
			x, y := stillPoint(c.Lon, c.Lat)
			marks = append(marks, stillMark{p.Closer(c), clusterText(c, p.Map.Unit), rampClass(c.Mean, p.Map.Scale), "", x, y,
				dot * (1 + math.Log10(float64(max(1, c.N))))})
		}
	}
	for _, d := range p.Map.Devices {
		if onEarth(&d.Lat, &d.Lon) {
			x, y := stillPoint(d.Lon, d.Lat)
			title := d.Device + ": " + value(d.Value, p.Map.Unit) + ", " + string(d.State)
			class := "none"
			if number, is := d.Value.(float64); is {
				class = rampClass(&number, p.Map.Scale)
			}
			marks = append(marks, stillMark{"/devices/" + url.PathEscape(d.Device), title, class, stateClass(d.State),
				x - dot*1.5, y - dot*1.5, dot * 3})
		}
	}
	return marks
}

// StillBox returns the part of the still map that is shown, as a viewBox of SVG.
func (p MapPage) StillBox() string {
	v := p.stillView()
	return fmt.Sprintf("%.3f %.3f %.3f %.3f", v[0], v[1], v[2], v[3])
}

func (p MapPage) stillView() [4]float64 {
	if p.BBox != nil && p.BBox.OnEarth() {
		return stillView(*p.BBox)
	}
	return [4]float64{0, 0, 1200, earth.Height * stillScale}
}

// stillView returns the left, the top, the width and the height of the part that shows a box, with the aspect
// ratio of the whole.
func stillView(box model.Box) [4]float64 {
	x0, y0 := math.Inf(1), math.Inf(1)
	x1, y1 := math.Inf(-1), math.Inf(-1)
	for _, lon := range []float64{box[0], box[2]} {
		for _, lat := range []float64{box[1], box[3]} {
			x, y := stillPoint(lon, lat)
			x0, x1, y0, y1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y)
		}
	}
	width := max((x1-x0)*1.2, (y1-y0)*1.2*earth.Width/earth.Height, 0.01)
	height := width * earth.Height / earth.Width
	return [4]float64{(x0 + x1 - width) / 2, (y0 + y1 - height) / 2, width, height}
}
