package estimate

import (
	"fmt"
	"math"

	"furrow/worker/price"
)

// An Elsewhere is what a service of somebody else would cost that takes the same readings in, and does no more: it
// neither keeps nor processes them.
type Elsewhere struct {
	Service string  `json:"service"`
	Of      string  `json:"of"`    // what it consists of
	Total   float64 `json:"total"` // dollars a month
	Prices  string  `json:"prices"`
}

// elsewhere returns what other services would cost a fleet whose requests have so many bytes.
func (f Fleet) elsewhere(request int) []Elsewhere {
	return []Elsewhere{f.iotHub(request), f.iotCore(request)}
}

// hubUnits are units of Azure IoT Hub: the dollars of a month, and the blocks of 4 KB that one takes in a day. See
// learn.microsoft.com, "Reference - IoT Hub quotas and throttling", for what they take.
var hubUnits = []struct {
	tier          string
	dollars, each float64
}{{"S1", 25, 400_000}, {"S2", 250, 6_000_000}, {"S3", 2500, 300_000_000}}

// hubDevices is how many devices a hub may have. Each hub has at least one unit.
const hubDevices = 1_000_000

// iotHub returns the cheapest units of one tier.
func (f Fleet) iotHub(request int) (cheapest Elsewhere) {
	hubs := math.Ceil(float64(f.Devices) / hubDevices)
	blocks := f.requests() / days * math.Ceil(float64(request)/(4<<10))
	for _, u := range hubUnits {
		units := max(hubs, math.Ceil(blocks/u.each))
		if total := units * u.dollars; cheapest.Total == 0 || total < cheapest.Total {
			cheapest = Elsewhere{"Azure IoT Hub", fmt.Sprintf("%.0f x %s", units, u.tier), total,
				"azure.microsoft.com/pricing/details/iot-hub, as quoted without a date"}
		}
	}
	return cheapest
}

// Dollars of AWS IoT Core for a million minutes of connection, and for a million blocks of 5 KB that Basic Ingest
// hands to a rule with one action; messages through its broker cost 70 cents to a dollar more.
const (
	coreMinutes = 0.08
	coreBlocks  = 0.15 + 0.15
)

// iotCore has each request take a connection for a minute, which is the least.
func (f Fleet) iotCore(request int) Elsewhere {
	millions := f.requests() / 1e6
	return Elsewhere{"AWS IoT Core", "Basic Ingest with one action, and a minute of connection each time",
		millions * (coreMinutes + coreBlocks*math.Ceil(float64(request)/(5<<10))),
		"aws.amazon.com/iot-core/pricing, us-east-1, as quoted in 2026-07"}
}

// requests returns how many requests with readings all devices send in a month.
func (f Fleet) requests() float64 {
	return float64(f.Devices) * float64(price.Month) / float64(f.sends())
}
