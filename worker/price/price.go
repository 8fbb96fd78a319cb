// Package price computes what storage operations cost on Azure in a month.
package price

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Prices are the prices of a region and redundancy, in US dollars.
type Prices struct {
	Source     string `json:"source"`
	Region     string `json:"region"`
	Redundancy string `json:"redundancy"`
	AsOf       string `json:"asOf"` // when they were looked up

	// For 10,000 operations. A transaction is one, however many rows it has.
	Tables      float64 `json:"tablesPer10000"`
	Queues      float64 `json:"queuesPer10000"`
	ObjectWrite float64 `json:"objectWritesPer10000"`
	ObjectRead  float64 `json:"objectReadsPer10000"`

	TableGB float64 `json:"tablesPerGBMonth"`
}

// Azure returns the pay-as-you-go prices of a general purpose v2 account with hot blobs.
// They differ a little between years and regions, so use them for estimates.
func Azure() Prices {
	return Prices{
		Source: "azure.microsoft.com/pricing/details/storage (tables, queues, blobs)",
		Region: "West Europe and East US", Redundancy: "LRS", AsOf: "2026-07",
		Tables: 0.00036, Queues: 0.004, ObjectWrite: 0.05, ObjectRead: 0.004,
		TableGB: 0.045,
	}
}

// Month is the average length of a month.
const Month = 365 * 24 * time.Hour / 12

// GB is the unit of storage prices, in bytes.
const GB = 1 << 30

func (p Prices) String() string {
	return fmt.Sprintf("%s, %s, %s, of %s", p.Source, p.Region, p.Redundancy, p.AsOf)
}

// Operation returns the price of one operation by its name in the figures of runs, such as
// "tables query"; zero for an unknown name.
func (p Prices) Operation(name string) float64 {
	const tenThousand = 10_000
	service, kind, _ := strings.Cut(name, " ")
	switch {
	case service == "tables":
		return p.Tables / tenThousand
	case service == "queues":
		return p.Queues / tenThousand
	case service == "objects" && (kind == "look at object" || kind == "get object"):
		return p.ObjectRead / tenThousand
	case service == "objects" && kind == "delete object": // free, as the price list says
	case service == "objects":
		return p.ObjectWrite / tenThousand
	}
	return 0
}

// Monthly extrapolates operations that were counted within some time to a month. It returns
// their cost by kind and in total.
func (p Prices) Monthly(operations map[string]int64, in time.Duration) (byKind map[string]float64, total float64) {
	byKind = map[string]float64{}
	if in <= 0 {
		return byKind, 0
	}
	for _, name := range slices.Sorted(maps.Keys(operations)) { // sums of doubles depend on the order
		byKind[name] = p.Operation(name) * float64(operations[name]) * float64(Month) / float64(in)
		total += byKind[name]
	}
	return byKind, total
}
