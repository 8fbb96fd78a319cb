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

// metered returns a context, and what notes the storage operations within it and the rows that were read.
func (e *Extent) metered(ctx context.Context, rows *atomic.Int64) (_ context.Context, end func()) {
	ctx, meter := metered(ctx)
	before := e.Operations
	return ctx, func() { e.Operations, e.RowsRead = before+int(meter.Load()), rows.Load() }
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
