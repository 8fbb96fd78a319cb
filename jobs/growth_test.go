package jobs_test

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
)

// A scale is how large a fleet is in each respect.
type scale struct{ devices, tenants, months, sensors, days int }

// A cost is what a run takes, for each device.
type cost struct {
	operations, bytes float64 // of the wire
	allocated         float64 // bytes, by the embedded storage as well
	processor         time.Duration
}

// costs returns what runs cost when no device has sent anything, when all have, and when all rest. All devices have
// sent once on each of the days before.
func (s scale) costs(t *testing.T) map[string]cost {
	t.Helper()
	n := newNightOf(t, s, 0)
	at := evening
	send := func(token time.Duration) {
		for d := range n.devices {
			n.send(d, at, token)
		}
	}
	n.audits, n.p.Cadence = true, 12*time.Hour // with runs in few hours, audits would seal nothing
	for range s.days {
		send(25 * time.Hour)
		n.run(at.Add(time.Minute))
		n.run(at.Add(12 * time.Hour))
		at = at.Add(24 * time.Hour)
	}
	n.audits, n.p.Cadence = false, time.Minute
	send(time.Hour)
	n.run(at.Add(time.Minute))
	found := map[string]cost{}
	measure := func(what string) {
		at = at.Add(time.Minute)
		found[what] = n.cost(at)
	}
	at = at.Add(time.Minute)
	measure("idle")
	send(0)
	measure("active")
	for range 5 {
		at = at.Add(time.Hour)
		n.run(at)
	}
	measure("resting")
	return found
}

// cost does a run, and returns what it cost.
func (n *night) cost(at time.Time) cost {
	n.t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	operations, bytes, began := n.operations.Load(), n.bytes.Load(), processorTime(n.t)
	n.run(at)
	devices := float64(len(n.devices))
	took := processorTime(n.t) - began
	runtime.ReadMemStats(&after)
	return cost{float64(n.operations.Load()-operations) / devices, float64(n.bytes.Load()-bytes) / devices,
		float64(after.TotalAlloc-before.TotalAlloc) / devices, took / time.Duration(devices)}
}

func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestADeviceCostsTheSameInAFleetOfAnySize: for each tenfold of devices, of tenants and months with as many devices in
// each, and of days of history, a device costs at most 1.15 times as many operations and bytes of a run; with more
// sensors, each value does. The long test has a hundredfold, and the same law for memory that is allocated.
func TestADeviceCostsTheSameInAFleetOfAnySize(t *testing.T) {
	effort.Alone(t)
	times := 10
	if effort.Long() {
		times = 100
	}
	for _, c := range []struct {
		what         string
		small, large scale
	}{
		{"devices", scale{100, 1, 1, 3, 1}, scale{100 * times, 1, 1, 3, 1}},
		{"tenants", scale{30, 1, 1, 3, 1}, scale{30 * times, times, 1, 3, 1}},
		{"months", scale{30, 1, 1, 3, 1}, scale{30 * times, 1, times, 3, 1}},
		{"sensors", scale{30, 1, 1, 2, 1}, scale{30, 1, 1, 2 * times, 1}},
		{"days", scale{10, 1, 1, 3, 10}, scale{10, 1, 1, 3, 10 * times}},
	} {
		t.Run(c.what, func(t *testing.T) {
			if !effort.Long() { // which measures what others allocate, too
				t.Parallel()
			}
			small, large := c.small.costs(t), c.large.costs(t)
			for _, run := range []string{"idle", "active", "resting"} {
				a, b, most := small[run], large[run], math.Pow(1.15, math.Log10(float64(times)))
				t.Log(line(c.what, run, a, b))
				if c.what == "sensors" && run != "resting" {
					most *= float64(times)
				}
				if b.operations > a.operations*most || b.bytes > a.bytes*most || effort.Long() && b.allocated > a.allocated*most {
					t.Errorf("%d times as many %s: a device that is %s costs too much", times, c.what, run)
				}
			}
		})
	}
}

// TestADeviceCostsWhatIsDocumented, in the table "What each device costs" of reference/limits.md.
func TestADeviceCostsWhatIsDocumented(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	found := scale{1000, 1, 1, 3, 1}.costs(t)
	text := string(must.Have(os.ReadFile("../cmd/furrow/reference/limits.md"))(t))
	for run, name := range map[string]string{"resting": "that rests", "idle": "that may have sent something and has not",
		"active": "that has sent a reading"} {
		_, row, _ := strings.Cut(text, "| a run, of a device "+name+" | ")
		var operations, bytes float64
		row, _, _ = strings.Cut(strings.ReplaceAll(row, ",", ""), "\n")
		if _, err := fmt.Sscanf(row, "%f | %f |", &operations, &bytes); err != nil {
			t.Fatalf("%s: %q: %v", run, row, err)
		}
		c := found[run]
		if c.operations > operations || c.operations < .8*operations || c.bytes > bytes || c.bytes < .9*bytes {
			t.Errorf("%s: %.3f operations and %.0f bytes; %g and %g are documented", run, c.operations, c.bytes, operations,
				bytes)
		}
	}
}

// line returns a line about two costs.
func line(what, run string, a, b cost) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%-8s %-8s", what, run)
	for _, f := range []struct {
		name string
		a, b float64
	}{{"operations", a.operations, b.operations}, {"bytes", a.bytes, b.bytes}, {"allocated", a.allocated, b.allocated},
		{"µs", float64(a.processor.Microseconds()), float64(b.processor.Microseconds())}} {
		fmt.Fprintf(&text, "  %s %.4g to %.4g (%.2f)", f.name, f.a, f.b, f.b/f.a)
	}
	return text.String()
}
