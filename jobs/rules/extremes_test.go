package rules

import (
	"math"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
)

// TestCounterThatJumpedOnceIsWatchedOn: a wrong number counts in its span, and hides no rise that comes later.
func TestCounterThatJumpedOnceIsWatchedOn(t *testing.T) {
	for _, wrong := range []float64{1e20, 1e308, math.MaxFloat64} {
		b := newBench(t, rule("fast", &Rate{Sensor: "x", Over: time.Minute, Limit: Limit{Above: number64(100)}}))
		b.fold.sensors = &fold.Sensors{Counters: map[string]fold.Counter{"x": {}}}
		one := func(n int, x float64) {
			at := tables.TicksOf(start.Add(time.Duration(n) * 10 * time.Second))
			b.run(at, sample(at, "x", x))
		}
		for n := range 60 {
			x := float64(n)
			if n == 20 || n == 22 {
				x = wrong
			}
			one(n, x)
		}
		if n := len(b.all); n != 2 || b.all[0].At != at("200s") {
			t.Fatalf("%g: %s", wrong, b.said())
		}
		for n := range 10 {
			one(60+n, 60+50*float64(n))
		}
		if n := len(b.all); n != 3 || b.all[2].Value != "104" { // 160, and a minute before 56
			t.Errorf("%g, and then 50 in each reading: %s", wrong, b.said())
		}
	}
}

// TestZerosOfBothSignsAreStuck: a device that rounds -0.04 and 0.04 sends -0 and 0.
func TestZerosOfBothSignsAreStuck(t *testing.T) {
	b := newBench(t, rule("stuck", &Stuck{Sensor: "x", For: time.Minute}))
	for n := range 10 {
		at := tables.TicksOf(start.Add(time.Duration(n) * 10 * time.Second))
		b.run(at, sample(at, "x", math.Copysign(0, float64(n%2)-.5)))
	}
	b.want("stuck opened 1m0s (0)")
}

// TestLargeWholeNumbersAreTold: of times in milliseconds, the digits after the tenth matter, also to tell rules apart.
func TestLargeWholeNumbersAreTold(t *testing.T) {
	limit := func(f float64) Rule {
		return rule("due", &Threshold{Sensor: "x", Limit: Limit{Above: number64(f)}, For: 5 * time.Minute})
	}
	b := newBench(t, limit(1760000000100))
	b.run(at("1m"), sample(at("1m"), "x", 1760000000200.0))
	b.configure(limit(1760000000300))
	b.run(at("10m"))
	b.want()
	b.run(at("20m"), sample(at("11m"), "x", 1760000000400.0))
	b.want("due opened 16m0s (1760000000400)")
	if text := b.all[0].Text; text != "x is 1760000000400, above 1760000000300 for 5m" {
		t.Errorf("it says %q", text)
	}
}
