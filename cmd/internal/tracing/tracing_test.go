package tracing

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// received serves OTLP, has the environment name it, and returns what it was sent, once all Tracers are closed.
func received(t *testing.T) func() []*otlp.Span {
	t.Helper()
	var all []*otlp.Span
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err = errors.Join(err, proto.Unmarshal(body, &request)); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				all = append(all, scope.Spans...)
			}
		}
	}))
	t.Cleanup(s.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	return func() []*otlp.Span { return all }
}

func newTracer(t *testing.T) *Tracer {
	t.Helper()
	tracer, err := New(t.Context(), "contoso", "", "v1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

func messages() []jobs.Message {
	run := tables.TicksOf(time.Date(2026, 11, 20, 9, 17, 0, 0, time.UTC))
	month := schema.Month{Year: 2026, Month: time.November, Shard: 3}
	place := schema.Place{Month: month, Key: "contoso!a"}
	return []jobs.Message{
		{Kind: jobs.Master, Pipeline: "live", Run: run},
		{Kind: jobs.Month, Pipeline: "live", Run: run, Month: month},
		{Kind: jobs.Device, Pipeline: "live", Run: run, First: place, Last: place},
	}
}

// TestRunIsOneTraceOfManyProcesses: the scheduler and each worker know the trace by the slot alone.
func TestRunIsOneTraceOfManyProcesses(t *testing.T) {
	spans := received(t)
	scheduler := newTracer(t)
	scheduler.Slot(t.Context(), worker.Slot{Run: schema.Run{Pipeline: "live", Slot: messages()[0].Run},
		Outcome: worker.SlotEnqueued})
	scheduler.Close()
	for _, m := range messages() {
		each := newTracer(t)
		_, end := each.Job(t.Context(), m)
		end(jobs.Result{}, nil)
		each.Close()
	}
	next := newTracer(t)
	m := messages()[0]
	m.Run = m.Run.Add(time.Minute)
	_, end := next.Job(t.Context(), m)
	end(jobs.Result{}, errors.New("storage is away"))
	next.Close()

	got := spans()
	if len(got) != 5 {
		t.Fatalf("%d spans; want that of the run, three of its jobs, and one of another run", len(got))
	}
	root := got[0]
	if root.Name != "run live" || len(root.ParentSpanId) > 0 {
		t.Errorf("the first span is %v", root)
	}
	for i, kind := range []string{"master", "month", "device"} {
		s := got[i+1]
		if s.Name != kind || string(s.TraceId) != string(root.TraceId) || string(s.ParentSpanId) != string(root.SpanId) {
			t.Errorf("the span of %s is %v, and that of its run %v", kind, s, root)
		}
	}
	if other := got[4]; string(other.TraceId) == string(root.TraceId) || other.Status.GetMessage() != "storage is away" {
		t.Errorf("a failed job of another run has the span %v", other)
	}
}

// TestSamplerDecidesOnWholeRuns: either all processes export their part of a run, or none does.
func TestSamplerDecidesOnWholeRuns(t *testing.T) {
	spans := received(t)
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
	a, b := newTracer(t), newTracer(t)
	const runs = 64
	for i := range runs {
		for _, m := range messages() {
			m.Run = m.Run.Add(time.Duration(i) * time.Minute)
			for _, tracer := range []*Tracer{a, b} {
				_, end := tracer.Job(t.Context(), m)
				end(jobs.Result{}, nil)
			}
		}
	}
	a.Close()
	b.Close()
	of := map[string]int{}
	for _, s := range spans() {
		of[string(s.TraceId)]++
	}
	for trace, n := range of {
		if n != 2*len(messages()) {
			t.Errorf("%d spans of run %x; want %d", n, trace, 2*len(messages()))
		}
	}
	if len(of) < runs/4 || len(of) > runs*3/4 {
		t.Errorf("%d of %d runs were sampled; want about half", len(of), runs)
	}
}

func TestTracesThatAreOffCostNothing(t *testing.T) {
	for _, off := range []map[string]string{
		{}, {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		t.Run("", func(t *testing.T) {
			for name, value := range off {
				t.Setenv(name, value)
			}
			tracer := newTracer(t)
			if tracer != nil {
				t.Fatalf("it is on with %v", off)
			}
			m, ctx, slot := messages()[2], context.Background(), worker.Slot{Outcome: worker.SlotEnqueued}
			if n := testing.AllocsPerRun(100, func() {
				_, end := tracer.Job(ctx, m)
				end(jobs.Result{}, nil)
				tracer.Slot(ctx, slot)
			}); n != 0 {
				t.Errorf("%v allocations of a job", n)
			}
			tracer.Close()
		})
	}
}

func TestOtherProtocolIsRefused(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if _, err := New(t.Context(), "contoso", "", "v1", slog.New(slog.DiscardHandler)); err == nil {
		t.Error("spans are sent by another protocol than the one asked for")
	}
}
