// Package price says what storage operations cost on Azure: of a fleet that was
// watched for a while, what it would cost for a month.
package price

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Prices are those of a region and redundancy, in US dollars.
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

// Azure are the pay-as-you-go prices of a general purpose v2 account with hot blobs.
// They change little over the years, and a little from region to region: what they
// give is an estimate and not a bill.
func Azure() Prices {
	return Prices{
		Source: "azure.microsoft.com/pricing/details/storage (tables, queues, blobs)",
		Region: "West Europe and East US", Redundancy: "LRS", AsOf: "2026-07",
		Tables: 0.00036, Queues: 0.004, ObjectWrite: 0.05, ObjectRead: 0.004,
		TableGB: 0.045,
	}
}

// Month is an average one.
const Month = 365 * 24 * time.Hour / 12

// GB is what storage is counted in.
const GB = 1 << 30

func (p Prices) String() string {
	return fmt.Sprintf("%s, %s, %s, of %s", p.Source, p.Region, p.Redundancy, p.AsOf)
}

// Operation is the price of one, named by its service and kind as the figures of runs
// name it, such as "tables query"; zero where it is not known.
func (p Prices) Operation(name string) float64 {
	const tenThousand = 10_000
	service, kind, _ := strings.Cut(name, " ")
	switch {
	case service == "tables":
		return p.Tables / tenThousand
	case service == "queues":
		return p.Queues / tenThousand
	case service == "objects" && kind == "look at object":
		return p.ObjectRead / tenThousand
	case service == "objects":
		return p.ObjectWrite / tenThousand
	}
	return 0
}

// Monthly is what operations cost in a month that were counted in some time, by
// kind and in all.
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
