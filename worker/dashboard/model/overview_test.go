package model

import (
	"math"
	"testing"
	"time"

	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/query"
)

// TestOverviewCountsWhatTheListShows compares each number with the list of the same filter.
func TestOverviewCountsWhatTheListShows(t *testing.T) {
	r := seeded(t)
	s := crowd(r, 900)
	for range 40 {
		f := someFilter(r)
		got := s.Maps.overview(f)
		counts := map[State]int{}
		list := must.Have(s.Lists.list(ListQuery{Filter: f, Limit: MaxListed}))(t)
		placed := 0
		for _, d := range list.Devices {
			counts[d.State]++
			if d.Lat != nil {
				placed++
			}
		}
		want := Overview{Devices: list.Total, New: counts[Unheard], Silent: counts[Silent], Held: counts[Held],
			Revoked: counts[Revoked],
			Placed:  placed}
		if got != want {
			t.Errorf("%+v: %+v, want %+v", f, got, want)
		}
	}
}

// TestLagGrowsWhileNoRunEnds has a pipeline whose last run that is done was two minutes ago.
func TestLagGrowsWhileNoRunEnds(t *testing.T) {
	slot := tables.TicksOf(time.Now().Add(-2 * time.Minute))
	run := worker.RunFigures{Run: schema.Run{Slot: slot}, Workers: schema.WorkerFigures{Rows: 120,
		Jobs: map[string]int64{"master done": 1}}}
	p := Pipeline{Cadence: 30 * time.Second, Settle: 10 * time.Second}
	first := paceOf(p, []worker.RunFigures{run}, nil)
	if first == nil || first.perMinute != 240 || !first.folded.Equal(slot.Time().Add(-10*time.Second)) {
		t.Fatalf("the pace is %+v", first)
	}
	if now := paceOf(p, nil, first); now != first {
		t.Errorf("without runs the pace is %+v", now)
	}
	s := crowd(seeded(t), 100)
	s.Accounts.all[0].poller.pace.Store(first)
	out, err := s.Maps.Overview(t.Context(), Filter{})
	if err != nil || out.LagSeconds == nil || *out.LagSeconds < 120 || *out.LagSeconds > 150 {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err = s.Maps.Overview(t.Context(), Filter{Tenant: "t1"}); err != nil || out.LagSeconds != nil {
		t.Errorf("of a tenant: %+v, %v", out, err)
	}
}

// TestOneBrokenValueLeavesTheColoursToTheOthers has few devices, where the 98th percentile is the greatest value.
func TestOneBrokenValueLeavesTheColoursToTheOthers(t *testing.T) {
	for _, n := range []int{4, 20, 200} {
		samples := []float64{1e300, -math.MaxFloat64}
		for i := range n {
			samples = append(samples, 20+float64(i%10))
		}
		if low, high := middle(samples); low < 20 || high > 29 || low >= high {
			t.Errorf("of %d values the scale is %g to %g", n, low, high)
		}
	}
	for _, few := range [][]float64{{7}, {7, 9}, {7, 7, 7}} {
		last := few[len(few)-1]
		if low, high := middle(few); low != 7 || high != last {
			t.Errorf("of %v the scale is %g to %g", few, low, high)
		}
	}
}

// TestScaleIsOfWhatIsInView has two towns, one hot and one cold.
func TestScaleIsOfWhatIsInView(t *testing.T) {
	s := New(Config{Accounts: make([]Account, 1)})
	s.Accounts.all[0].poller.complete.Store(true)
	for i := range 20 {
		cold := i%2 == 0
		place, v := schema.Position{Lat: 50, Lon: 10 + float64(i)/1000}, 30+float64(i)
		if cold {
			place.Lat, v = -50, -float64(i)
		}
		month := schema.Month{Year: 2026, Month: 1}
		id := schema.DeviceID(deviceID(i))
		s.Accounts.index.records(0, []schema.Device{{ID: id, Tenant: "t", Month: month, Position: &place}})
		s.Accounts.index.newest(0, schema.LatestPartition{Tenant: "t", Month: month},
			[]query.Newest{{Device: id, Values: []latest.Value{numberAt(time.Now(), "temperature", v)}}})
	}
	for lat, want := range map[float64][2]float64{50: {31, 49}, -50: {-18, 0}} {
		m := s.Maps.mapAt(MapQuery{Box: Box{0, lat - 1, 20, lat + 1}, Zoom: 8, Sensor: "temperature"}, time.Now())
		if m.InView != 10 || m.Scale == nil || *m.Scale != want {
			t.Errorf("at %g: %+v, want %v", lat, m.Scale, want)
		}
	}
}
