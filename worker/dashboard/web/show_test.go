package web

import (
	"math"
	"testing"
	"time"

	"furrow/worker/dashboard/model"
)

func at(i int) time.Time {
	return time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Minute)
}

func TestThinnedSeriesKeepsPeaksCountAndMean(t *testing.T) {
	s := &model.Series{Window: "1m", From: at(0), To: at(2000)}
	var sum float64
	for i := range 2000 {
		mean := float64(i % 7)
		low, high := mean-1, mean+1
		switch i {
		case 777:
			high = 1000
		case 1999:
			low = -1000
		}
		sum += mean
		s.Points = append(s.Points, model.Point{Time: at(i), Count: 1, Mean: &mean, Min: &low, Max: &high})
	}
	points, counts, window := thin(s)
	if len(points) > chartPoints || window != 5*time.Minute {
		t.Errorf("%d points of %s", len(points), window)
	}
	low, high, mean, n := math.Inf(1), math.Inf(-1), 0.0, int64(0)
	for i, p := range points {
		low, high = min(low, p.Low), max(high, p.High)
		mean += p.Value * float64(counts[i])
		n += counts[i]
	}
	if low != -1000 || high != 1000 || n != 2000 || math.Abs(mean-sum) > 1e-6 {
		t.Errorf("from %g to %g, %d readings, sum %g instead of %g", low, high, n, mean, sum)
	}
}

func TestWindowsAreNamed(t *testing.T) {
	for window, long := range map[string]string{"1h": "an hour", "15m": "15m"} {
		for points, want := range map[int]string{chartPoints: long, chartPoints + 1: long + ", 2 of them per point"} {
			if got := windowText(&model.Series{Window: window, Points: make([]model.Point, points)}); got != want {
				t.Errorf("%d windows of %s are windows of %q; want %q", points, window, got, want)
			}
		}
	}
}

func TestThinDropsInvalidNumbers(t *testing.T) {
	nan, inf, one := math.NaN(), math.Inf(1), 1.0
	s := &model.Series{Window: "raw", Points: []model.Point{{Time: at(0), Value: &nan}, {Time: at(1), Value: &inf},
		{Time: at(2)}, {Time: at(3), Value: &one}, {Time: at(4), Mean: &one, Max: &inf, Min: &nan}}}
	points, _, _ := thin(s)
	if len(points) != 2 || points[0].Value != 1 || points[1].High != 1 || points[1].Low != 1 {
		t.Errorf("points %+v", points)
	}
}

func TestLongNamesBreakAfterSeparators(t *testing.T) {
	for s, want := range map[string]string{"": "", "a": "a", "a:b-c": "a:<wbr>b-<wbr>c", "<i>:&": "&lt;i&gt;:<wbr>&amp;",
		"x.": "x."} {
		if got := string(breaking(s)); got != want {
			t.Errorf("%q is %q instead of %q", s, got, want)
		}
	}
}

func TestNumbersAndDurationsAreReadable(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 21.53: "21.5", -0.25: "−0.25", 5.678: "5.68", 12345: "12\u202f345",
		100: "100", 1e12: "1e12", -40: "−40", 0.00001: "1e−5", math.NaN(): "–"} {
		if got := number(v); got != want {
			t.Errorf("%g is %q instead of %q", v, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0\u202fs", 61 * time.Second: "61\u202fs",
		9960 * time.Millisecond: "10\u202fs", 3 * time.Minute: "3\u202fmin", 36 * time.Hour: "36\u202fh",
		-50 * time.Hour: "2\u202fdays"} {
		if got := span(d); got != want {
			t.Errorf("%s is %q instead of %q", d, got, want)
		}
	}
}
