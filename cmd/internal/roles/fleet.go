// Package roles runs the schedulers and the workers of a fleet's pipelines, and tells a dashboard what they are.
package roles

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/cmd/internal/tracing"
	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/processors"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/query"
)

// A Fleet is an account with the pipelines that work on it.
type Fleet struct {
	Tables    *tables.Client
	Queues    *worker.Client
	Archive   *archive.Store  // nil if the account has no blobs
	Policies  *sas.Policies   // reconciled while a scheduler runs; nil leaves that to the endpoints
	Early     *worker.Early   // asks schedulers for runs between slots; may be nil
	Tracer    *tracing.Tracer // of runs; may be nil
	Names     schema.Names
	Pipelines []config.Pipeline
	Log       *slog.Logger
	Roots     func() *x509.CertPool // of receivers of notifications, as in Clients

	Generation int64                 // of the stored configuration with these Pipelines; zero: it is not stored
	Format     int64                 // in which jobs write, as schema.Format
	Stored     *generations.Follower // of newer configurations; nil: the pipelines never change
	only       []string              // names of the selected pipelines; none means all
}

// ErrNoPipeline means that the configuration has no pipeline of that name.
var ErrNoPipeline = errors.New("no such pipeline")

// Select drops all pipelines but those with these names. No names means all.
func (f *Fleet) Select(names ...string) error {
	if len(names) == 0 {
		return nil
	}
	var chosen []config.Pipeline
	for _, name := range names {
		i := slices.IndexFunc(f.Pipelines, func(p config.Pipeline) bool { return string(p.Name) == name })
		if i < 0 {
			return fmt.Errorf("%w: %q", ErrNoPipeline, name)
		}
		chosen = append(chosen, f.Pipelines[i])
	}
	f.Pipelines, f.only = chosen, names
	return nil
}

// pipelineNames returns the names for a log.
func (f *Fleet) pipelineNames() string {
	var names []string
	for _, p := range f.Pipelines {
		names = append(names, string(p.Name))
	}
	return strings.Join(names, ",")
}

// Create creates the tables, queues and containers of the fleet that do not exist.
func (f *Fleet) Create(ctx context.Context) error {
	names := processors.Tables(f.Names)
	for _, p := range f.Pipelines {
		names = append(names, f.Names.Partitions(p.Name))
		if err := f.Queue(p).Create(ctx); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := f.Tables.Table(name).Create(ctx); err != nil {
			return err
		}
	}
	if err := schema.StateLayout(ctx, f.Tables.Table(f.Names.Fleet())); err != nil {
		return err
	}
	if f.Archive == nil || !slices.ContainsFunc(f.Pipelines, config.Pipeline.Archives) {
		return nil
	}
	return f.Archive.Create(ctx)
}

// IgnoreCanceled returns err, or nil if err only says that ctx has ended.
func IgnoreCanceled(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// Queue returns the queue of a pipeline.
func (f *Fleet) Queue(p config.Pipeline) *worker.Queue { return f.Queues.Queue(f.Names, p.Name) }

// Reader returns a reader of the fleet's tables.
func (f *Fleet) Reader() query.Fleet { return query.Fleet{Tables: f.Tables, Names: f.Names} }

// Runs returns the table of runs.
func (f *Fleet) Runs() worker.Runs { return worker.Runs{Table: f.Tables.Table(f.Names.Runs())} }

// Jobs returns a pipeline for its jobs.
func (f *Fleet) Jobs(p config.Pipeline) (*jobs.Pipeline, error) {
	p.Format = f.Format
	built, err := p.Build(f.Tables, f.Names, f.Archive)
	if built != nil {
		built.Generation, built.Notifier.Generation = f.Generation, f.Generation
		built.Notifier.Roots = f.Roots
		built.Notifier.Itself = func(ctx context.Context, now tables.Ticks) (schema.Member, error) {
			d, err := f.itself(ctx, p.Name, now)
			return d.Member(), err
		}
		if f.Queues != nil {
			built.Notifier.Enqueue = f.Queues.PutText
		}
	}
	return built, err
}
