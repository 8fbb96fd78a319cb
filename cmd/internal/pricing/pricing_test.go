package pricing

import (
	"math"
	"testing"
)

func TestQueuesCostMoreThanTablesAndObjectsMost(t *testing.T) {
	p := Azure()
	counts := map[string]int64{"tables query": 10_000, "tables transaction": 20_000, "queues get": 10_000, "objects put object": 10_000, "objects look at object": 10_000, "moons seen": 5}
	total, byKind := p.Operations(counts)
	for name, want := range map[string]float64{"tables query": 0.00036, "tables transaction": 0.00072, "queues get": 0.004, "objects put object": 0.05, "objects look at object": 0.004, "moons seen": 0} {
		if got, is := byKind[name]; !is || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s cost %v, want %v", name, got, want)
		}
	}
	if want := 0.00036*3 + 0.004*2 + 0.05; math.Abs(total-want) > 1e-12 {
		t.Errorf("all cost %v, want %v", total, want)
	}
	if p.Source == "" || p.Region == "" || p.AsOf == "" {
		t.Errorf("nobody knows where these are from: %+v", p)
	}
}
