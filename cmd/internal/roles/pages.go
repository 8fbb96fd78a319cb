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
	"furrow/jobs/rules"
	"furrow/sas"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/dashboard/model"
)

// Pages tell a dashboard what the current configuration of an account is. Until it was read, there are no pipelines.
type Pages struct {
	clients *Clients
	file    config.File // that holds where no configuration is stored
	log     *slog.Logger
	only    []string // names of the pipelines that are shown; none means all
	stored  atomic.Pointer[generations.Follower]
}

// Pages returns those of the account, with the pipelines that have these names, or with all.
func (c *Clients) Pages(file config.File, log *slog.Logger, names ...string) *Pages {
	return &Pages{clients: c, file: file, log: log, only: names}
}

// Open reads the configuration, which has to have all pipelines that are shown. Pages that are not opened read it as
// soon as that is possible, and show what it has.
func (p *Pages) Open(ctx context.Context) error {
	all, _, err := p.newer(ctx)
	if err == nil && len(all) < len(p.only) {
		err = fmt.Errorf("%w: not all of %s are in the configuration", ErrNoPipeline, strings.Join(p.only, ", "))
	}
	return err
}

// Stored returns what follows the configuration; nil until that was read.
func (p *Pages) Stored() *generations.Follower { return p.stored.Load() }

// Account returns an account whose pipelines the pages show.
func (p *Pages) Account(name string) model.Account {
	a := model.Account{Name: name, Tables: p.clients.Tables, Queues: p.clients.Queues, Names: p.clients.Names,
		Newer: p.newer, Stated: p.clients.stated, DiskFull: p.clients.DiskFull}
	if f := p.Stored(); f != nil {
		is, _ := f.Current()
		a.Pipelines, _ = viewed(is, p.only) // Open has seen its error
	}
	return a
}

// stated returns the intervals that enrollments state.
func (c *Clients) stated(ctx context.Context) (map[schema.EnrollmentID]time.Duration, error) {
	return (&sas.Enrollments{Table: c.Tables.Table(c.Names.Enrollments())}).StatedIntervals(ctx)
}

// newer reads the configuration, or looks for a newer one.
func (p *Pages) newer(ctx context.Context) ([]model.Pipeline, bool, error) {
	f := p.Stored()
	if f == nil {
		g, err := p.clients.Generations().Holding(ctx, p.file)
		if err != nil {
			return nil, false, err
		}
		all, err := viewed(g, p.only)
		if err == nil {
			p.stored.Store(generations.NewFollower(p.clients.Generations(), g, schema.Process{}, p.log))
		}
		return all, err == nil, err
	}
	was, _ := f.Current()
	err := f.Look(ctx)
	is, _ := f.Current()
	all, unread := viewed(is, p.only)
	return all, is.Generation > was.Generation, errors.Join(err, unread)
}

// Acting returns all pipelines of the current configuration, for acts.
func (p *Pages) Acting() ([]admin.Pipeline, error) {
	stored := p.Stored()
	if stored == nil {
		return nil, fmt.Errorf("the configuration in the storage account %s was not read yet", p.clients.Account.Name)
	}
	is, _ := stored.Current()
	f, err := p.clients.Fleet(is)
	if err != nil {
		return nil, err
	}
	return f.Acting()
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
	v := model.Pipeline{Name: p.Name, Cadence: p.Cadence, Settle: p.Settle, Sensors: p.Meant(), Unit: p.Unit,
		Model: func(d schema.Member) string { return c.Model(d).Name },
		Every: func(d schema.Member) time.Duration { return c.Model(d).Every }, Reports: p.Reported(), Budget: p.Budget,
		Verifies: p.Verify != nil, Windows: p.Rollups()}
	if p.Reports != nil {
		v.By = p.Reports.By
	}
	for _, processor := range p.Processors {
		v.Tables = append(v.Tables, processor.Tables...)
		v.Archive = v.Archive || processor.Marks
	}
	if v.Writes(rules.Table) {
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
