package estimate

import (
	"math"
	"testing"
	"time"
)

// TestOthersChargeForBlocksAndDevices: what they charge, computed by hand from their price lists.
func TestOthersChargeForBlocksAndDevices(t *testing.T) {
	for _, test := range []struct {
		fleet     Fleet
		request   int // bytes
		units     string
		hub, core float64
	}{
		// 14.4 million messages a day, and 438 a month
		{Fleet{Devices: 10_000, Every: time.Minute, AtOnce: 1}, 300, "3 x S2", 750, 438 * (.08 + .30)},
		// the same readings in a tenth of the requests, of 4.9 KB each: two blocks of 4 KB, one of 5 KB
		{Fleet{Devices: 10_000, Every: time.Minute, AtOnce: 10}, 5000, "8 x S1", 200, 43.8 * (.08 + .30)},
		{Fleet{Devices: 10_000, Every: time.Minute, AtOnce: 10}, 5121, "8 x S1", 200, 43.8 * (.08 + .60)},
		// few messages, but a hub has a million devices
		{Fleet{Devices: 30_000_000, Every: 365 * time.Hour, AtOnce: 1}, 300, "30 x S1", 750, 60 * .38},
		{Fleet{Devices: 30_000_000, Every: 30 * time.Minute, AtOnce: 1}, 300, "240 x S2", 60_000, 43_800 * .38},
	} {
		hub, core := test.fleet.iotHub(test.request), test.fleet.iotCore(test.request)
		if hub.Of != test.units || hub.Total != test.hub || math.Abs(core.Total-test.core) > .01*test.core {
			t.Errorf("%+v with %d bytes: %+v and %+v", test.fleet, test.request, hub, core)
		}
	}
}
