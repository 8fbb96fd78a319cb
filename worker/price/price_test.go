package price_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"furrow/worker/price"
)

func TestQueuesAndObjectsCostMoreThanTables(t *testing.T) {
	prices := price.Azure()
	table := prices.Operation("tables query")
	for operation, want := range map[string]float64{"tables transaction": 1, "queues get": 11, "objects put object": 140,
		"objects look at object": 11, "objects list objects": 140} {
		if got := prices.Operation(operation) / table; math.Abs(got-want) > 2 {
			t.Errorf("%s costs %.1f times a table operation, want about %v", operation, got, want)
		}
	}
	for _, free := range []string{"objects delete object", "dreams seen"} {
		if got := prices.Operation(free); got != 0 {
			t.Errorf("%s costs %v", free, got)
		}
	}
}

func TestNoTimeCostsNothing(t *testing.T) {
	if byKind, total := price.Azure().Monthly(map[string]int64{"tables query": 5}, 0); len(byKind) != 0 || total != 0 {
		t.Errorf("operations in no time cost %v, %v", byKind, total)
	}
}

func Example() {
	// A run a minute, each with 10,000 table and 600 queue operations.
	_, dollars := price.Azure().Monthly(map[string]int64{"tables query": 10_000, "queues get": 600}, time.Minute)
	fmt.Printf("$%.2f a month\n", dollars)
	// Output: $26.28 a month
}
