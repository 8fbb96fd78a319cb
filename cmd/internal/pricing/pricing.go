// Package pricing is what Azure asks for storage, and what a fleet's operations come to.
package pricing

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Prices are those of one region and redundancy, in US dollars.
type Prices struct {
	Source     string `json:"source"`
	Region     string `json:"region"`
	Redundancy string `json:"redundancy"`
	AsOf       string `json:"asOf"` // the day on which they were looked up

	// For 10,000 operations. A transaction is one, however many rows it has.
	Tables      float64 `json:"tablesPer10000"`
	Queues      float64 `json:"queuesPer10000"`
	ObjectWrite float64 `json:"objectWritesPer10000"`
	ObjectRead  float64 `json:"objectReadsPer10000"`

	TableGB float64 `json:"tablesPerGBMonth"`
}

// Azure are Azure's pay-as-you-go prices of a general purpose v2 account. They change
// little over the years and a little from region to region: what they give is an
// estimate and not a bill.
func Azure() Prices {
	return Prices{
		Source: "azure.microsoft.com/pricing/details/storage (tables, queues, blobs)",
		Region: "East US", Redundancy: "LRS", AsOf: "2026-07-22",
		Tables: 0.00036, Queues: 0.004, ObjectWrite: 0.05, ObjectRead: 0.004,
		TableGB: 0.045,
	}
}

// Month is the average length of one.
const Month = 730 * time.Hour

// GB is what storage is counted in.
const GB = 1 << 30

// Operation is the price of one, named by its service and kind as figures name
// them: "tables query", "queues put", "objects put object". A service that is not known costs nothing.
func (p Prices) Operation(name string) float64 {
	service, kind, _ := strings.Cut(name, " ")
	each := 0.0
	switch {
	case service == "tables":
		each = p.Tables
	case service == "queues":
		each = p.Queues
	case service == "objects" && kind == "look at object":
		each = p.ObjectRead
	case service == "objects":
		each = p.ObjectWrite
	}
	return each / 10_000
}

// Operations is the price of many, and of each kind.
func (p Prices) Operations(counts map[string]int64) (total float64, byKind map[string]float64) {
	byKind = map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(counts)) { // sums of doubles depend on the order
		byKind[name] = p.Operation(name) * float64(counts[name])
		total += byKind[name]
	}
	return total, byKind
}
