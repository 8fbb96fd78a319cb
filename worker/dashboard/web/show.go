package web

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web/internal/chart"
)

// chartPoints is the largest number of points that a chart draws.
const chartPoints = 480

// thin merges neighbouring points until they fit: minimum, maximum and mean.
func thin(s *model.Series) (points []chart.Point, counts []int64, window time.Duration) {
	if w, err := schema.ParseWindow(s.Window); err == nil {
		window = time.Duration(w)
	}
	by := (len(s.Points) + chartPoints - 1) / chartPoints
	for group := range slices.Chunk(s.Points, max(1, by)) {
		var sum chart.Point
		var n, weight int64
		for _, p := range group {
			v := cmp.Or(known(p.Mean), known(p.Value), known(p.Last))
			if v == nil {
				continue
			}
			low, high, by := *cmp.Or(known(p.Min), v), *cmp.Or(known(p.Max), v), max(1, p.Count)
			if weight == 0 {
				sum = chart.Point{Time: p.Time, Low: low, High: high}
			}
			sum.Low, sum.High = min(sum.Low, low), max(sum.High, high)
			sum.Value += *v * float64(by)
			weight += by
			n += max(p.Count, 1)
		}
		if weight > 0 {
			if sum.Value /= float64(weight); !finite(sum.Value) { // the sum overflowed
				sum.Value = sum.Low
			}
			points, counts = append(points, sum), append(counts, n)
		}
	}
	return points, counts, window * time.Duration(max(1, by))
}

func known(v *float64) *float64 {
	if v == nil || !finite(*v) {
		return nil
	}
	return v
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// seriesChart draws a series twice, for wide and for narrow screens; the styles show one.
func seriesChart(
	title string, s *model.Series, overlays []*model.Series, bands []chart.Band,
	limits []float64,
) template.HTML {
	points, _, window := thin(s)
	desc := "No readings in this time."
	if len(points) > 0 {
		low, high := points[0].Low, points[0].High
		for _, p := range points {
			low, high = min(low, p.Low), max(high, p.High)
		}
		desc = fmt.Sprintf("From %s to %s UTC it lies between %s and %s; the table below has the numbers.",
			s.From.UTC().Format("2 Jan 15:04"), s.To.UTC().Format("2 Jan 15:04"), value(low, s.Unit), value(high, s.Unit))
	}
	c := chart.Chart{Title: title, Desc: desc, Unit: s.Unit, From: s.From, To: s.To, Window: window, Points: points,
		Bands: bands, Limits: limits}
	for _, o := range overlays {
		more, _, _ := thin(o)
		c.Overlays = append(c.Overlays, chart.Overlay{Unit: o.Unit, Points: more})
	}
	return both(c, 300)
}

// stateColours is how many states have a colour of their own.
const stateColours = 8

// stateClasses returns the colours of states, in the order in which they first appear; the others share the last.
func stateClasses(s *model.Series) (classes map[string]string, order []string) {
	classes = map[string]string{}
	for _, span := range s.States {
		if _, known := classes[span.State]; !known {
			classes[span.State] = fmt.Sprint("s", min(len(order), stateColours-1))
			order = append(order, span.State)
		}
	}
	return classes, order
}

// statesChart draws the states of a text sensor over time.
func statesChart(title string, s *model.Series, bands []chart.Band) template.HTML {
	classes, order := stateClasses(s)
	t := chart.Timeline{Title: title, From: s.From, To: s.To, Bands: bands,
		Desc: fmt.Sprintf("%d states; the table below has their times.", len(order))}
	for _, span := range s.States {
		t.Spans = append(t.Spans, chart.Span{From: span.From, To: span.To, State: span.State, Class: classes[span.State]})
	}
	return template.HTML(t.SVG(chart.Size{Width: 860, Height: 100}, "wide") +
		t.SVG(chart.Size{Width: 350, Height: 100}, "narrow"))
}

type stateKey struct{ Class, State string }

// stateKeys returns what the colours of a timeline mean, as far as they differ.
func stateKeys(s *model.Series) (keys []stateKey) {
	classes, order := stateClasses(s)
	for i, state := range order {
		if i == stateColours-1 && len(order) > stateColours {
			return append(keys, stateKey{classes[state], fmt.Sprintf("%d others", len(order)-i)})
		}
		keys = append(keys, stateKey{classes[state], state})
	}
	return keys
}

func both(c chart.Chart, height int) template.HTML {
	return template.HTML(c.SVG(chart.Size{Width: 860, Height: height}, "wide") +
		c.SVG(chart.Size{Width: 350, Height: height * 4 / 5}, "narrow"))
}

// windowText describes the windows of a series, and how many of them a point of the chart merges.
func windowText(s *model.Series) string {
	long := cmp.Or(map[string]string{"1m": "a minute", "1h": "an hour", "1d": "a day"}[s.Window], s.Window)
	if by := (len(s.Points) + chartPoints - 1) / chartPoints; by > 1 {
		return fmt.Sprintf("%s, %d of them per point", long, by)
	}
	return long
}

func windowMillis(s *model.Series) int64 {
	_, _, window := thin(s)
	return window.Milliseconds()
}

// seriesRows returns the rows of the table below a chart. There are hundreds: written by a template, they take half of
// the time of a device's page (BenchmarkRender).
func seriesRows(s *model.Series) template.HTML {
	points, counts, _ := thin(s)
	var b strings.Builder
	for i, p := range points {
		fmt.Fprintf(&b, `<tr data-t="%d"><th scope="row">%s</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>`+"\n",
			p.Time.UnixMilli(), when(p.Time), number(p.Value), number(p.Low), number(p.High), count(counts[i]))
	}
	return template.HTML(b.String())
}

// shownRuns is the number of runs that a chart spans.
const shownRuns = 30

// runsChart draws the last runs of a pipeline: seconds, readings, operations or lag.
func runsChart(p model.PipelineStatus, what string) template.HTML {
	cadence := time.Duration(max(1, p.CadenceSeconds) * float64(time.Second))
	c := chart.Chart{Title: what + " of the last runs of " + p.Pipeline, Window: cadence, Bars: what != "lag"}
	for _, r := range slices.Backward(p.Runs) {
		v, known := 0.0, r.Skipped == ""
		switch what {
		case "seconds":
			v, c.Unit = r.Seconds, "s"
		case "readings":
			v = float64(r.Readings)
		case "operations":
			v = float64(total(r.Operations))
		case "lag":
			c.Unit = "s"
			if known = known && r.LagSeconds != nil; known {
				v = *r.LagSeconds
			}
		}
		c.To = r.Slot.Add(cadence)
		if known && finite(v) {
			c.Points = append(c.Points, chart.Point{Time: r.Slot, Value: v, Low: v, High: v})
		}
	}
	c.From = c.To.Add(-shownRuns * cadence)
	if len(c.Points) > 0 {
		last := c.Points[len(c.Points)-1].Value
		c.Desc = fmt.Sprintf("%d runs, the last with %s; the table below has the numbers.", len(c.Points),
			value(last, c.Unit))
	}
	return template.HTML(c.SVG(chart.Size{Width: 350, Height: 130}, "small"))
}

func total(m map[string]int64) int64 {
	var sum int64
	for _, n := range m {
		sum += n
	}
	return sum
}

type costLine struct {
	Kind    string
	Dollars float64
	Share   int // of the largest, in percent
}

func costs(c *model.Cost) []costLine {
	var lines []costLine
	for kind, dollars := range c.ByKind {
		lines = append(lines, costLine{Kind: kind, Dollars: dollars})
	}
	slices.SortFunc(lines, func(a, b costLine) int {
		return cmp.Or(cmp.Compare(b.Dollars, a.Dollars),
			cmp.Compare(a.Kind, b.Kind))
	})
	for i := range lines {
		lines[i].Share = share(lines[i].Dollars, lines[0].Dollars)
	}
	return lines
}

func share(part, whole any) int {
	p, _ := strconv.ParseFloat(fmt.Sprint(part), 64)
	w, _ := strconv.ParseFloat(fmt.Sprint(whole), 64)
	if part := 100 * p / w; w > 0 && part > 0 {
		return int(min(100, part))
	}
	return 0
}

// incidentsChart draws how many incidents opened in each hour.
func incidentsChart(n *model.IncidentCounts) template.HTML {
	c := chart.Chart{Title: "Incidents by hour", Window: time.Hour, Bars: true, From: n.From,
		To: n.From.Add(time.Duration(len(n.Hours)) * time.Hour)}
	sum := 0
	for i, count := range n.Hours {
		sum += count
		v := float64(count)
		c.Points = append(c.Points, chart.Point{Time: n.From.Add(time.Duration(i) * time.Hour), Value: v, Low: v, High: v})
	}
	c.Desc = fmt.Sprintf("%s opened in %d hours.", plural(sum, "incident"), len(n.Hours))
	return template.HTML(c.SVG(chart.Size{Width: 540, Height: 170}, "wide") +
		c.SVG(chart.Size{Width: 350, Height: 150}, "narrow"))
}
