package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/jobs/latest"
	"furrow/jobs/rate"
	"furrow/jobs/rules"
	"furrow/sas"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/dashboard/model"
)

// Pages tell a dashboard what the current configuration is.
type Pages struct {
	clients *Clients
	Stored  *generations.Follower // of the configuration
	only    []string              // names of the pipelines that are shown; none means all
	first   []model.Pipeline
}

// Pages returns those of a configuration and the ones after it, with the pipelines that have these names, or with all.
func (c *Clients) Pages(g generations.Loaded, log *slog.Logger, names ...string) (Pages, error) {
	first, err := viewed(g, names)
	p := Pages{c, generations.NewFollower(c.Generations(), g, schema.Process{}, log), names, first}
	if err != nil {
		return p, err
	}
	if len(p.first) < len(names) {
		return p, fmt.Errorf("%w: not all of %s are in the configuration", ErrNoPipeline, strings.Join(names, ", "))
	}
	return p, nil
}

// Account returns an account whose pipelines the pages show.
func (p Pages) Account(name string) model.Account {
	return model.Account{Name: name, Tables: p.clients.Tables, Queues: p.clients.Queues, Names: p.clients.Names,
		Pipelines: p.first, Newer: p.newer, Stated: p.clients.stated, DiskFull: p.clients.DiskFull}
}

// stated returns the intervals that enrollments state.
func (c *Clients) stated(ctx context.Context) (map[schema.EnrollmentID]time.Duration, error) {
	return (&sas.Enrollments{Table: c.Tables.Table(c.Names.Enrollments())}).StatedIntervals(ctx)
}

// newer looks for a newer configuration.
func (p Pages) newer(ctx context.Context) ([]model.Pipeline, bool, error) {
	was, _ := p.Stored.Current()
	err := p.Stored.Look(ctx)
	is, _ := p.Stored.Current()
	all, unread := viewed(is, p.only)
	return all, is.Generation > was.Generation, errors.Join(err, unread)
}

// Acting returns all pipelines of the current configuration, for acts.
func (p Pages) Acting() ([]admin.Pipeline, error) {
	is, _ := p.Stored.Current()
	f, err := p.clients.Fleet(is)
	if err != nil {
		return nil, err
	}
	return f.Acting()
}

// LaterPages are those of an account that the dashboard can do without: its configuration is read as soon as it can be.
type LaterPages struct {
	clients *Clients
	load    func(context.Context) (generations.Loaded, error)
	log     *slog.Logger
	only    []string
	read    atomic.Pointer[Pages]
}

// LaterPages returns pages of the configuration that load returns, with those of the pipelines that have these names,
// or with all.
func (c *Clients) LaterPages(
	load func(context.Context) (generations.Loaded, error), log *slog.Logger, names ...string,
) *LaterPages {
	return &LaterPages{clients: c, load: load, log: log, only: names}
}

// Account returns an account without pipelines, which follow.
func (l *LaterPages) Account(name string) model.Account {
	return model.Account{Name: name, Tables: l.clients.Tables, Queues: l.clients.Queues, Names: l.clients.Names,
		Newer: l.newer, Stated: l.clients.stated, DiskFull: l.clients.DiskFull}
}

func (l *LaterPages) newer(ctx context.Context) ([]model.Pipeline, bool, error) {
	if p := l.read.Load(); p != nil {
		return p.newer(ctx)
	}
	g, err := l.load(ctx)
	if err != nil {
		return nil, false, err
	}
	p, err := l.clients.Pages(g, l.log, l.only...)
	if err != nil && !errors.Is(err, ErrNoPipeline) {
		return nil, false, err
	}
	l.read.Store(&p)
	return p.first, true, nil
}

// Acting returns all pipelines of the current configuration, for acts.
func (l *LaterPages) Acting() ([]admin.Pipeline, error) {
	p := l.read.Load()
	if p == nil {
		return nil, fmt.Errorf("the configuration in the storage account %s was not read yet", l.clients.Account.Name)
	}
	return p.Acting()
}

// viewed returns the pipelines of a configuration for the dashboard: those with the names, or all.
func viewed(g generations.Loaded, names []string) (all []model.Pipeline, err error) {
	for _, p := range g.Config.Pipelines {
		if len(names) == 0 || slices.Contains(names, string(p.Name)) {
			v := viewedPipeline(g.Config, p)
			if g.Stored > 0 {
				v.Stored = g.Stored.Time()
			}
			if p.Retains() { // the others know what is kept, too
				if v.Keep, err = p.Keeps(); err != nil {
					return nil, err
				}
			}
			all = append(all, v)
		}
	}
	return all, nil
}

func viewedPipeline(c *config.Config, p config.Pipeline) model.Pipeline {
	v := model.Pipeline{Name: p.Name, Cadence: p.Cadence, Sensors: p.Meant(), Unit: p.Unit,
		Model: func(d schema.Member) string { return c.Model(d).Name },
		Every: func(d schema.Member) time.Duration { return c.Model(d).Every }, Reports: p.Reported(), Budget: p.Budget,
		Verifies: p.Verify != nil, Windows: p.Rollups()}
	if p.Reports != nil {
		v.By = p.Reports.By
	}
	for _, processor := range p.Processors {
		v.Latest = v.Latest || processor.Writes(latest.Processor.Tables[0])
		v.Archive = v.Archive || processor.Marks
		v.Rates = v.Rates || processor.Writes(rate.Table)
		v.Rules = v.Rules || processor.Writes(rules.Table)
	}
	if v.Rules {
		v.Watches = watched(c.Rules)
	}
	return v
}

// watched returns the rules of a configuration for the dashboard.
func watched(all []rules.Rule) (shown []model.Rule) {
	for i := range all {
		r := &all[i]
		one := model.Rule{Name: string(r.Name), Kind: r.When.Name(), When: r.When.String(), Match: config.RuleMatch(r),
			Severity: string(r.Severity), Tenants: r.Match.Tenant, Sensor: r.Sensor()}
		if len(r.Match.Enrollment) == 0 {
			one.Watches = func(d schema.Member, model string) bool {
				return r.Watches(d) && (len(r.Match.Model) == 0 || slices.Contains(r.Match.Model, model))
			}
		}
		if k, is := r.When.(*rules.Threshold); is {
			one.Limits = k.Limit.Numbers
		}
		for _, target := range r.Notify {
			one.Notify = append(one.Notify, string(target))
		}
		shown = append(shown, one)
	}
	return shown
}

// Acting returns the pipelines of a fleet, for acts.
func (f *Fleet) Acting() (all []admin.Pipeline, err error) {
	for _, p := range f.Pipelines {
		one, err := f.ActingOn(p)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// ActingOn returns a pipeline, for acts.
func (f *Fleet) ActingOn(p config.Pipeline) (admin.Pipeline, error) {
	built, err := f.Jobs(p)
	return admin.Pipeline{Pipeline: built, Queue: f.Queue(p)}, err
}
