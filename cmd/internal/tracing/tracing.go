// Package tracing exports traces of runs by OTLP, as the standard variables OTEL_* configure it.
//
// A run is one trace, whichever processes take part: the IDs of its trace and of its first span follow from the
// account, the pipeline and the slot, which every message has anyway. So messages need nothing more, and retries, parts
// of batches, audits and deliveries are found in the trace of their run.
package tracing

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"furrow/jobs"
	"furrow/worker"
)

// A Tracer exports spans. A nil Tracer does nothing, and costs nothing.
type Tracer struct {
	fleet    string
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Wanted reports whether the environment asks for traces: it names an endpoint, or the exporter otlp.
func Wanted() bool {
	exporter := os.Getenv("OTEL_TRACES_EXPORTER")
	if exporter == "none" || os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return false
	}
	return exporter == "otlp" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
		os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// New returns a Tracer for the runs of a fleet, or nil if none is Wanted. The name of the account, the prefix of its
// names, and service.namespace identify the fleet. A collector that is not there loses spans, and stops nobody.
func New(ctx context.Context, account, prefix, version string, log *slog.Logger) (*Tracer, error) {
	if !Wanted() {
		return nil, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := os.Getenv(name); p != "" && p != "http/protobuf" {
			return nil, fmt.Errorf("%s is %q: furrow sends traces by http/protobuf alone", name, p)
		}
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "furrow"),
		attribute.String("service.version", version)), resource.WithHost(), resource.WithProcessPID(),
		resource.WithFromEnv())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("traces: %w", err), exporter.Shutdown(ctx))
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about), sdk.WithIDGenerator(ids{}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces not sent", "error", err) }))
	namespace, _ := about.Set().Value("service.namespace")
	return &Tracer{strings.Join([]string{namespace.AsString(), account, prefix}, " "), provider,
		provider.Tracer("furrow")}, nil
}

// flushFor bounds how long a stopping process waits for a collector.
const flushFor = 5 * time.Second

// Close exports what is left.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushFor)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // OpenTelemetry logs what it cannot send
}

// Slot exports the first span of a run: that its master job was put, or that the slot was skipped.
func (t *Tracer) Slot(ctx context.Context, s worker.Slot) {
	if t == nil || s.Outcome == worker.SlotTaken || s.Outcome == worker.SlotRepaired {
		return
	}
	_, span := t.first(ctx, jobs.Message{Pipeline: s.Run.Pipeline, Run: s.Run.Slot})
	if span.SetAttributes(attribute.String("furrow.slot.outcome", s.Outcome.String())); s.Run.Skipped != "" {
		span.SetStatus(codes.Error, s.Run.Skipped)
	}
	span.End()
}

// first starts the first span of a message's run. Only the scheduler ends it, so that it is exported once: others use
// it as the parent of theirs, and the sampler decides on it as it has decided there.
func (t *Tracer) first(ctx context.Context, m jobs.Message) (context.Context, trace.Span) {
	ctx = context.WithValue(ctx, runKey{}, sha256.Sum256(fmt.Appendf(nil, "%s %s %s", t.fleet, m.Pipeline, m.Run)))
	return t.tracer.Start(ctx, "run "+string(m.Pipeline), trace.WithNewRoot(),
		trace.WithTimestamp(m.Run.Time()), trace.WithAttributes(attribute.String("furrow.pipeline", string(m.Pipeline)),
			attribute.String("furrow.run", m.Run.Time().Format(time.RFC3339Nano))))
}

// Job starts the span of a delivery of a message. Call end when its job has ended.
func (t *Tracer) Job(ctx context.Context, m jobs.Message) (_ context.Context, end func(jobs.Result, error)) {
	if t == nil {
		return ctx, ended
	}
	ctx, _ = t.first(ctx, m)
	ctx, span := t.tracer.Start(ctx, string(m.Kind), trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(about(m)...))
	return ctx, func(r jobs.Result, err error) {
		span.SetAttributes(attribute.Int("furrow.devices", r.Devices), attribute.Int("furrow.rows", r.Rows),
			attribute.Int("furrow.months", r.Months), attribute.Int("furrow.batches", r.Batches),
			attribute.Int("furrow.failed", len(r.Failed)), attribute.Int("furrow.late", r.Late))
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

func ended(jobs.Result, error) {}

func about(m jobs.Message) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String("furrow.pipeline", string(m.Pipeline)),
		attribute.Int("furrow.attempts", m.Attempts), attribute.Bool("furrow.catchup", m.CatchUp())}
	switch m.Kind {
	case jobs.Month, jobs.Group:
		all = append(all, attribute.String("furrow.month", m.Month.String()))
	case jobs.Device, jobs.Audit:
		all = append(all, attribute.String("furrow.first", m.First.String()),
			attribute.String("furrow.last", m.Last.String()))
	case jobs.Deliver:
		all = append(all, attribute.String("furrow.target", string(m.Target)))
	}
	return all
}
