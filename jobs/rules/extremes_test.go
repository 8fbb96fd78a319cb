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
