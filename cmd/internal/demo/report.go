package demo

import (
	"maps"
	"slices"
	"time"

	"furrow/cmd/internal/demo/check"
	"furrow/cmd/internal/simulate"
	"furrow/sas/device"
	"furrow/tables/schema"
	"furrow/worker/price"
)

// A Report is how it went. As JSON, members may be added, and none changes.
type Report struct {
	OK       bool            `json:"ok"` // the check has found no difference, and nothing lost or doubled
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
	Jobs     []Jobs          `json:"jobs"`
	Work     Work            `json:"operations"`
	Cost     Cost            `json:"costPerMonth"`
}

// Readings are how many there were.
type Readings struct {
	Accepted int `json:"accepted"` // storage has said so to the devices
	Folded   int `json:"folded"`   // they are in every output that they have to be in
	// of them, those that came when their device had been folded further
	Late     int64                   `json:"late"`
	Rejected int                     `json:"rejected"` // of them, those with something in them that was rejected
	Lost     int                     `json:"lost"`
	Doubled  int                     `json:"doubled"`
	SetAside map[device.Reason]int64 `json:"setAside"` // by the devices, which reported why
	Tokens   int64                   `json:"tokens"`
	Requests int64                   `json:"requests"` // in which they came
}

// Jobs are those of a kind. What a worker that was killed did in its last seconds is
// left out: nobody was told.
type Jobs struct {
	Kind     string `json:"kind"`
	Messages int64  `json:"messages"` // that were done
	Devices  int64  `json:"devices"`  // that they were about: a job each
}

// Work is what a run took in which every device had one new reading.
type Work struct {
	Batch     int                `json:"batch"` // devices that a message carries
	Devices   int64              `json:"devices"`
	Rows      int64              `json:"rows"`
	PerDevice map[string]float64 `json:"perDeviceByKind"`
}

// A Cost is what this fleet would cost a month on Azure, in US dollars, with a reading
// of each device and a run every minute.
type Cost struct {
	Runs     float64            `json:"runs"`
	ByKind   map[string]float64 `json:"runsByKind"`
	Writes   float64            `json:"writes"`  // of the devices, one by one
	Storage  float64            `json:"storage"` // of a month's readings and outputs, for a month
	StoredGB float64            `json:"storedGB"`
	Total    float64            `json:"total"`
	Prices   price.Prices       `json:"prices"`
}

// readings are how many there were, by what devices were told and the check has found.
func (d *Demo) readings(sum simulate.Summary, c check.Result, late int64) Readings {
	_, told := d.receipts.Told()
	return Readings{Accepted: told, Folded: max(0, c.Readings-c.Waiting-c.Lost), Late: late, Rejected: c.Rejected,
		Lost: c.Lost, Doubled: c.Doubled,
		SetAside: sum.SetAside, Tokens: sum.Tokens, Requests: d.receipts.Inserts}
}

// cadence is the default, and that of the readings for which a cost is told.
const cadence = time.Minute

// cost is what the work would cost for so many devices.
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
