package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func start() time.Time { return time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC) }

func draw(t *testing.T, c Chart) string {
	t.Helper()
	text := c.SVG(Size{860, 300}, "wide")
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	for _, word := range []string{"NaN", "Inf", "%!", "style="} {
		if strings.Contains(text, word) {
			t.Errorf("the chart says %s", word)
		}
	}
	return text
}

func TestEveryChartIsWellFormedAndWithinItsSize(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	hour := start().Add(time.Hour)
	charts := []Chart{
		{}, {From: start(), To: start()}, {Title: `<&">`, Desc: `]]>`, Unit: `"<`, From: start(), To: hour},
		{From: start(), To: hour, Points: []Point{{Time: start()}}},
		{From: start(), To: hour, Points: []Point{{Time: start(), Value: 7, Low: 7, High: 7}}, Bars: true},
		{From: start(), To: hour, Points: []Point{{Time: start(), Value: 1e300, Low: -1e300, High: 1e300}}},
		{From: start(), To: hour, Points: []Point{{Time: start(), Value: 1e-300, Low: 0, High: 1e-300}}},
		{From: start(), To: hour, Points: []Point{{Time: start(), Value: math.MaxFloat64, Low: -math.MaxFloat64,
			High: math.MaxFloat64}, {Time: hour}}},
		{From: start(), To: hour, Points: []Point{{Time: start(), Value: 1e15 + 1, Low: 1e15 + 1, High: 1e15 + 1}}},
		{From: start().AddDate(-50, 0, 0), To: hour, Points: []Point{{Time: start()}}},
	}
	for range 200 {
		c := Chart{From: start(), To: start().Add(time.Duration(r.Int64N(int64(400 * day)))),
			Window: time.Duration(r.IntN(2)) * time.Minute, Bars: r.IntN(3) == 0}
		for range r.IntN(50) {
			v := (r.Float64() - 0.5) * math.Pow(10, float64(r.IntN(20)-10))
			c.Points = append(c.Points, Point{Time: c.From.Add(time.Duration(r.Float64() * float64(c.To.Sub(c.From)))), Value: v,
				Low: v - r.Float64(), High: v + r.Float64()})
		}
		charts = append(charts, c)
	}
	y := regexp.MustCompile(`[ML][\d.]+ (-?[\d.]+)`)
	for _, c := range charts {
		for _, m := range y.FindAllStringSubmatch(draw(t, c), -1) {
			if v, err := strconv.ParseFloat(m[1], 64); err != nil || v < top-1 || v > 300-bottom+1 {
				t.Errorf("a point at y=%s of %+v", m[1], c)
			}
		}
	}
}

func TestAxisHasRoundNumbersAroundAllPoints(t *testing.T) {
	text := draw(t, Chart{From: start(), To: start().Add(day), Window: time.Hour, Unit: "V",
		Points: []Point{{start(), 3.31, 3.02, 3.68}, {start().Add(time.Hour), 3.3, 3.1, 3.5}}})
	for _, want := range []string{">3.0<", ">3.8 V<", ">06:00<", ">21 Nov<"} {
		if !strings.Contains(text, want) {
			t.Errorf("the chart has no %s: %s", want, text)
		}
	}
}

// TestGapsStayOpen expects no line over a time without readings, and a dot for a lone point.
func TestGapsStayOpen(t *testing.T) {
	c := Chart{From: start(), To: start().Add(day), Window: time.Hour}
	for _, h := range []int{0, 1, 2, 9, 20, 21} {
		c.Points = append(c.Points, Point{start().Add(time.Duration(h) * time.Hour), 1, 0, 2})
	}
	line := regexp.MustCompile(`class="line" d="([^"]*)"/><path class="dots" d="([^"]*)"`).FindStringSubmatch(draw(t, c))
	if line == nil || strings.Count(line[1], "M") != 2 || strings.Count(line[2], "M") != 1 {
		t.Errorf("the line is %v", line)
	}
}

// TestSlowDevicesAreConnectedLines has a device that sends every 20 minutes, in windows of one, and pauses once.
func TestSlowDevicesAreConnectedLines(t *testing.T) {
	c := Chart{From: start(), To: start().Add(day), Window: time.Minute}
	for i := range 30 {
		if i < 10 || i > 13 {
			c.Points = append(c.Points, Point{start().Add(time.Duration(i) * 20 * time.Minute), 1, 0, 2})
		}
	}
	line := regexp.MustCompile(`class="line" d="([^"]*)"/><path class="dots" d="([^"]*)"`).FindStringSubmatch(draw(t, c))
	if line == nil || strings.Count(line[1], "M") != 2 || line[2] != "" {
		t.Errorf("the line is %v", line)
	}
}

// TestOverlaysHaveTheirUnitsAxis has one line of the chart's unit, and two of another one with an axis on the right.
func TestOverlaysHaveTheirUnitsAxis(t *testing.T) {
	points := func(v float64) []Point {
		return []Point{{start(), v, v, v}, {start().Add(time.Hour), v + 1, v + 1, v + 1}}
	}
	text := draw(t, Chart{From: start(), To: start().Add(2 * time.Hour), Unit: "°C", Points: points(20),
		Overlays: []Overlay{
			{"°C", points(30)}, {"%", points(80)}, {"%", points(50)}, {"hPa", nil}}})
	for _, want := range []string{`class="line o1"`, `class="line o2"`, `class="line o3"`, `class="values right"`,
		">32 °C<", ">90 %<"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%d times %s in %s", strings.Count(text, want), want, text)
		}
	}
}

// TestTimelineHasEachState expects a bar of at least a pixel for each span, and none outside of the time.
func TestTimelineHasEachState(t *testing.T) {
	line := Timeline{From: start(), To: start().Add(day), Spans: []Span{{start(), start().Add(time.Millisecond), `<open>`,
		"s0"},
		{start().Add(time.Hour), start().Add(2 * day), "shut", "s1"}, {start().Add(-2 * time.Hour), start().Add(-time.Hour),
			"old", "s2"}}}
	text := line.SVG(Size{860, 100}, "wide")
	if strings.Count(text, "<rect") != 2 || !strings.Contains(text, `width="1.0"`) || !strings.Contains(text,
		"&lt;open&gt;") {
		t.Error(text)
	}
}

// TestTicksAreFewAndRound tries spans from a second to fifty years.
func TestTicksAreFewAndRound(t *testing.T) {
	for span := time.Second; span < 50*366*day; span = span*3/2 + time.Millisecond {
		for _, n := range []int{2, 5, 12} {
			all, _ := ticks(start(), start().Add(span), n)
			if len(all) > n+1 {
				t.Errorf("%s: %d ticks instead of %d", span, len(all), n)
			}
		}
	}
}

// TestNarrowAxesHaveTwoTicks tries the spans that the pages offer, beginning at any time, as wide as a phone.
func TestNarrowAxesHaveTwoTicks(t *testing.T) {
	for _, span := range []time.Duration{time.Hour, 6 * time.Hour, day, 7 * day, 30 * day, 365 * day} {
		for i := range 100 {
			from := start().Add(time.Duration(i) * 7 * time.Hour)
			if all, _ := ticks(from, from.Add(span), 3); len(all) < 2 {
				t.Errorf("%s from %s: %d ticks", span, from, len(all))
			}
		}
	}
}
