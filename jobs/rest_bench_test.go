package jobs_test

import (
	"strconv"
	"testing"
	"time"
)

// BenchmarkResting does runs in which all devices rest, which is what a plan costs: reading the fleet beside the
// tracking table.
func BenchmarkResting(b *testing.B) {
	for _, devices := range []int{1000, 10_000} {
		b.Run(strconv.Itoa(devices), func(b *testing.B) {
			n := newNight(b, devices, 0)
			for d := range devices {
				n.send(d, evening, time.Second)
			}
			at := evening
			for range 5 {
				at = at.Add(time.Minute)
				n.run(at)
			}
			read := n.bytes.Load()
			b.ReportAllocs()
			for b.Loop() {
				at = at.Add(time.Second)
				if looks := n.run(at); looks > 0 {
					b.Fatalf("%d looks at devices that rest", looks)
				}
			}
			all := float64(b.N * devices)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/all, "ns/device")
			b.ReportMetric(float64(n.bytes.Load()-read)/all, "wire-B/device")
		})
	}
}
