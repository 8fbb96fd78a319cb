package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// upMemory is the memory of furrow up beyond which garbage is collected more often than by paceCollector. On an
// overloaded machine, garbage would otherwise grow to several times the live heap: 1.8 GB beside 14 busy loops.
const upMemory = 300 << 20

// keepMemory limits memory to upMemory until ctx ends. If a large fleet needs more, the limit grows with the live
// heap, or the process would do nothing but collect garbage.
func keepMemory(ctx context.Context) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for ticks := time.NewTicker(time.Second); ; {
		metrics.Read(live)
		debug.SetMemoryLimit(memoryLimit(int64(live[0].Value.Uint64())))
		select {
		case <-ticks.C:
		case <-ctx.Done():
			ticks.Stop()
			return
		}
	}
}

// memoryLimit leaves room for garbage of half the live heap.
func memoryLimit(live int64) int64 {
	const reserve = upMemory / 8
	if live < upMemory-reserve {
		return upMemory
	}
	return live + live/2
}
