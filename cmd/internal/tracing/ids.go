package tracing

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"
)

// runKey is the key of a run's hash in the context of its first span.
type runKey struct{}

// ids gives the first span of a run the IDs that follow from the run, and other spans random ones.
type ids struct{}

func (ids) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if hash, ok := ctx.Value(runKey{}).([32]byte); ok {
		copy(t[:], hash[:16])
		copy(s[:], hash[16:])
		return t, s
	}
	rand.Read(t[:]) // never fails
	rand.Read(s[:])
	return t, s
}

func (ids) NewSpanID(context.Context, trace.TraceID) (s trace.SpanID) {
	rand.Read(s[:])
	return s
}
