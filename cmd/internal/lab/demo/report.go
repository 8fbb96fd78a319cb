package demo

import (
	"maps"
	"slices"
	"time"

	"furrow/cmd/internal/lab/demo/check"
	"furrow/sas/device"
	"furrow/tables/schema"
	"furrow/worker/price"
)

// A Report is the result of a demo. Its JSON is stable: members may be added, and none changes.
type Report struct {
	OK       bool            `json:"ok"` // the check found no difference, and nothing lost or doubled
	Seconds  float64         `json:"seconds"`
	Storage  string          `json:"storage"` // URL of the Table service
	Own      bool            `json:"ownStorage"`
	Tenants  []schema.Tenant `json:"tenants"`
	Months   []schema.Month  `json:"months"` // in which devices were deployed
	Devices  int             `json:"devices"`
	Readings Readings        `json:"readings"`
	Check    check.Result    `json:"check"`
	Takeover Takeover        `json:"takeover"`
	Revoked  Revoked         `json:"revoked"`
	Alarm    Alarm           `json:"alarm"`
	Jobs     []Jobs          `json:"jobs"`
	Work     Work            `json:"operations"`
	Cost     Cost            `json:"costPerMonth"`
}

// Readings counts the readings of a demo.
type Readings struct {
	Accepted int                     `json:"accepted"` // acknowledged by storage
	Folded   int                     `json:"folded"`   // in every output
	Late     int64                   `json:"late"`     // arrived after a later reading of their device was folded
	Rejected int                     `json:"rejected"` // with a value that was rejected
	Lost     int                     `json:"lost"`
	Doubled  int                     `json:"doubled"`
	SetAside map[device.Reason]int64 `json:"setAside"` // by the devices, which reported why
	Tokens   int64                   `json:"tokens"`
	Requests int64                   `json:"requests"` // that inserted them
}

// Jobs counts the jobs of a kind. The last seconds of the killed worker are missing: it could not report them.
type Jobs struct {
	Kind     string `json:"kind"`
	Messages int64  `json:"messages"` // done
	Devices  int64  `json:"devices"`  // in these messages
}

// Work counts the operations of a run in which every device had one new reading.
type Work struct {
	Batch     int                `json:"batch"` // devices per message
	Devices   int64              `json:"devices"`
	Rows      int64              `json:"rows"`
	PerDevice map[string]float64 `json:"perDeviceByKind"`
}

// A Cost is what this fleet would cost a month on Azure, in US dollars, with a reading of each device and a run
// every minute.
type Cost struct {
	Runs     float64            `json:"runs"`
	ByKind   map[string]float64 `json:"runsByKind"`
	Writes   float64            `json:"writes"`  // of the devices, one request per reading
	Storage  float64            `json:"storage"` // of a month's readings and outputs, for a month
	StoredGB float64            `json:"storedGB"`
	Total    float64            `json:"total"`
	Prices   price.Prices       `json:"prices"`
}

// cadence of readings and runs for which costs are computed.
const cadence = time.Minute

func (w Work) cost(devices int, c check.Result) Cost {
	cost := Cost{ByKind: map[string]float64{}, Prices: price.Azure()}
	readings := float64(devices) * float64(price.Month/cadence)
	for kind, n := range w.PerDevice {
		cost.ByKind[kind] = n * readings * cost.Prices.Operation(kind)
	}
	for _, kind := range slices.Sorted(maps.Keys(cost.ByKind)) { // sums of doubles depend on the order
		cost.Runs += cost.ByKind[kind]
	}
	cost.Writes = cost.Prices.Operation("tables insert") * readings
	if c.Readings > 0 {
		cost.StoredGB = float64(c.Bytes+c.OutputBytes) / float64(c.Readings) * readings / price.GB
	}
	cost.Storage = cost.StoredGB * cost.Prices.TableGB
	cost.Total = cost.Runs + cost.Writes + cost.Storage
	return cost
}
