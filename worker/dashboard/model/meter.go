package model

import (
	"context"
	"sync/atomic"

	"furrow/tables"
	"furrow/worker"
)

type meterKey struct{}

// metered returns a context and the counter of its storage operations.
func metered(ctx context.Context) (context.Context, *atomic.Int64) {
	n := new(atomic.Int64)
	return context.WithValue(ctx, meterKey{}, n), n
}

// CountTable is the OnOperation of a Store's tables.Client.
func CountTable(ctx context.Context, _ tables.Operation) { count(ctx) }

// CountQueue is the OnOperation of a Store's worker.Client.
func CountQueue(ctx context.Context, _ worker.Operation) { count(ctx) }

func count(ctx context.Context) {
	if n, ok := ctx.Value(meterKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
}
