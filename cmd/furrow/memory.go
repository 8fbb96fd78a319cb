package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"furrow/cmd/internal/roles"
)

// Memory in bytes beyond which garbage is collected more often than by paceCollector. On an overloaded machine, garbage
// would otherwise grow to several times the live heap: to 1.8 GB in furrow up beside 14 busy loops, to 540 MB in an
// endpoint that 20,000 devices ask at once.
const (
	upMemory     = 190 << 20
	tokenMemory  = 200 << 20
	workerMemory = 200 << 20
)

// paceCollector lets garbage grow to four times the live heap unless GOGC is set. A server's live heap is small,
// because Pebble keeps its cache elsewhere, so Go's default would collect dozens of times a second.
func paceCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// limitMemory returns a role that sets a soft limit of memory until its context ends, unless GOMEMLIMIT sets one. If a
// large fleet or many connections need more, the limit grows with the live heap and the stacks, or the process would do
// nothing but collect garbage.
func limitMemory(memory int64) func(context.Context) error {
	return func(ctx context.Context) error {
		if os.Getenv("GOMEMLIMIT") != "" {
			return nil
		}
		is := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
		for ticks := time.NewTicker(time.Second); ; {
			metrics.Read(is)
			debug.SetMemoryLimit(memoryLimit(memory, int64(is[0].Value.Uint64()), int64(is[1].Value.Uint64())))
			select {
			case <-ticks.C:
			case <-ctx.Done():
				ticks.Stop()
				return nil
			}
		}
	}
}

// whileLimited runs something that may end by itself, with a limit of memory for as long.
func whileLimited(ctx context.Context, memory int64, run func(context.Context) error) error {
	limiting, stop := context.WithCancel(ctx)
	defer stop()
	return roles.Together(ctx,
		func(context.Context) error { return limitMemory(memory)(limiting) },
		func(ctx context.Context) error {
			defer stop()
			return run(ctx)
		})
}

// memoryLimit returns a limit of at least memory that leaves room for garbage of half the live heap beside the stacks.
func memoryLimit(memory, live, stacks int64) int64 { return max(memory, live+live/2+stacks) }
