// Package price says what storage operations cost on Azure: of a fleet that was
// watched for a while, what it would cost for a month.
package price

import (
	"strings"
	"time"
)

// Source is where the prices are from. They are those of locally redundant storage
// in US dollars, which differ little between the large regions; the numbers that
// bills are made of are on azure.microsoft.com: "Azure Table Storage pricing",
// "Azure Queue Storage pricing" and "Azure Blob Storage pricing".
const Source = "Azure retail prices of locally redundant, hot storage, West Europe and East US, as of July 2026"

// Month is an average one.
const Month = 365 * 24 * time.Hour / 12

// Dollars for a gigabyte that is kept for a month.
const (
	TableGigabyte = 0.045
	QueueGigabyte = 0.045
)

// A Price is that of a kind of operation. A transaction of many rows is one.
type Price struct {
	Service string  // tables, queues or objects
	Kind    string  // of operation; empty: all others of the service
	Each    float64 // dollars
}

// Table is all prices. Of a service, the kinds come before what holds for the rest.
func Table() []Price {
	const tenThousand = 10_000
	return []Price{
		{"tables", "", 0.00036 / tenThousand},
		{"queues", "", 0.004 / tenThousand},
		{"objects", "look at object", 0.004 / tenThousand},
		{"objects", "", 0.05 / tenThousand}, // whatever writes
	}
}

// Of is the price of an operation as the figures of runs name it, such as "tables
// query"; zero where it is not known.
func Of(operation string) float64 {
	service, kind, _ := strings.Cut(operation, " ")
	for _, p := range Table() {
		if p.Service == service && (p.Kind == kind || p.Kind == "") {
			return p.Each
		}
	}
	return 0
}

// Monthly is what operations cost in a month that were counted in some time, by
// kind and in all.
func Monthly(operations map[string]int64, in time.Duration) (byKind map[string]float64, total float64) {
	byKind = map[string]float64{}
	if in <= 0 {
		return byKind, 0
	}
	for operation, n := range operations {
		dollars := Of(operation) * float64(n) * float64(Month) / float64(in)
		byKind[operation] = dollars
		total += dollars
	}
	return byKind, total
}
