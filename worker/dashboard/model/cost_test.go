package model

import (
	"runtime"
	"testing"
	"time"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/worker/dashboard/model/modeltest"
)

// TestTheIndexTakesFewBytesOfADevice holds the figure in the table "What each device costs" of reference/limits.md.
func TestTheIndexTakesFewBytesOfADevice(t *testing.T) {
	const devices, most = 10_000, 300
	used := func() float64 {
		runtime.GC()
		runtime.GC() // and what the first has freed
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := used()
	s := crowd(seeded(t), devices)
	each := (used() - before) / devices
	runtime.KeepAlive(s)
	if t.Logf("%.0f bytes", each); each > most {
		t.Errorf("%.0f bytes for each device; want at most %d", each, most)
	}
}

// TestPagesOfManyDevicesAskNothingOfStorage, as the same table says: the index has what they show.
func TestPagesOfManyDevicesAskNothingOfStorage(t *testing.T) {
	t.Parallel()
	const devices = 200
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, devices)
	s := over(t, f)
	f.Requests()
	if look(t, s); f.Requests() > devices/10 {
		t.Error("the index takes more than a request for each ten devices")
	}
	if look(t, s); f.Requests() > 1 {
		t.Error("a poll with nothing new takes more than one request")
	}
	for name, ask := range map[string]func() error{
		"a list": func() error { _, err := s.Lists.Devices(t.Context(), ListQuery{}); return err },
		"a search": func() error {
			_, err := s.Lists.Devices(t.Context(), ListQuery{Filter: Filter{Text: "d00"}})
			return err
		},
		"the map":      func() error { s.Maps.mapAt(MapQuery{Zoom: 4}, time.Now()); return nil },
		"the overview": func() error { _, err := s.Maps.Overview(t.Context(), Filter{}); return err },
	} {
		must.Succeed(t, ask())
		if n := f.Requests(); n > 0 {
			t.Errorf("%s takes %d requests", name, n)
		}
	}
}
