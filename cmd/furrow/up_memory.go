package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// upMemory is how much memory a furrow up takes before garbage is collected more
// often than paceCollector has it. On a machine that is too busy, garbage would grow to
// several times of what lives: 1.8 GB beside 14 busy loops.
const upMemory = 300 << 20

// keepMemory holds garbage within upMemory until ctx ends. Where more than that lives, as
// of a large fleet, the limit grows with it, or nothing but collecting would be done.
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

// memoryLimit leaves room for garbage of half of what lives.
func memoryLimit(live int64) int64 {
	const reserve = upMemory / 8
	if live < upMemory-reserve {
		return upMemory
	}
	return live + live/2
}
