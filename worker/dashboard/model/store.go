package model

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"furrow/tables/commands"
	"furrow/tables/schema"
	"furrow/worker/cost"
	"furrow/worker/limits"
	"furrow/worker/query"
)

// Config configures a Store.
type Config struct {
	Accounts []Account // of the fleet; at least one

	// Interval is the time between two polls; zero means 3 s.
	Interval time.Duration

	// ReadTimeout is how long storage has to answer what a request asks; zero means 15 s.
	ReadTimeout time.Duration
	Log         *slog.Logger // nil: slog.Default()
}

// A Store answers questions about a fleet: each of its parts, those of one subject. It is safe for concurrent use.
type Store struct {
	Accounts   *Accounts
	Sensors    *Census
	Owners     *Owners
	Devices    *Devices
	DeviceRows *DeviceRows
	FleetRows  *FleetRows
	Charts     *Charts
	Lists      *Lists
	Maps       *Maps
	Incidents  *IncidentAnswers
	Tenants    *Tenants
	Reports    *ReportAnswers
	Outliers   *OutlierAnswers
	Pipelines  *Pipelines
	Costs      *Costs
	Archives   *Archives
	Retentions *Retentions
	Verified   *Verified

	Configurations *Configurations

	decider *decider
}

// New returns a Store. It reads nothing in the background before Run.
func New(c Config) *Store {
	x, open := newIndex(), &openSet{of: map[tenantIn]*tenantOpen{}}
	interval := cmp.Or(c.Interval, pollInterval)
	all := &Accounts{index: x, watch: newWatch(2*interval, len(c.Accounts)), log: cmp.Or(c.Log, slog.Default()),
		clock: time.Now}
	for i, a := range c.Accounts {
		one := newAccount(i, a)
		one.poller = &poller{accounts: all, account: one, open: open, interval: interval, runs: newRunLog(one),
			parts: map[partKey]*part{}}
		all.all = append(all.all, one)
	}
	x.accounts = all.all
	sensors := &Census{all, newMemo[sensed](x, maxCensus, censusAge), false}
	limit := cmp.Or(c.ReadTimeout, readTimeout)
	s := &Store{Accounts: all, Sensors: sensors, decider: newDecider(all, sensors),
		Owners:  &Owners{all, newCache[owner](limit)},
		Tenants: &Tenants{all, newCache[today](limit)},
		Pipelines: &Pipelines{all, newCache[pipelineRead](limit), newCache[*Budget](limit),
			newCache[[]limits.Limit](limit)},
		Costs:      &Costs{all, newCache[cost.Costs](limit)},
		Retentions: &Retentions{all, newCache[retained](limit)},
		Verified:   &Verified{all, newCache[verified](limit)},
		Configurations: &Configurations{all, newCache[[]schema.Configuration](limit),
			newCache[schema.Configuration](limit)}}
	s.Devices = &Devices{all, s.Owners, newCache[deviceRead](limit), newCache[commands.All](limit)}
	s.Charts = &Charts{all, s.Devices, s.Sensors, newCache[points](limit), newCache[stateSpans](limit),
		newCache[tenantDay](limit)}
	s.DeviceRows = &DeviceRows{all, s.Devices, s.Sensors, s.decider, newCache[RecentGaps](limit)}
	s.FleetRows = &FleetRows{all, s.Sensors, s.decider}
	s.Lists = &Lists{all, s.Sensors, s.decider}
	s.Incidents = &IncidentAnswers{all, s.Owners, s.decider, open, newCache[[]query.Incident](limit),
		newCache[[]query.Incident](limit), newMemo[[]int](x, maxCensus, watchedAge)}
	s.Maps = &Maps{all, s.Sensors, s.Incidents, s.decider, newMemo[*layer](x, maxLayers, layerAge), nil}
	s.Reports = &ReportAnswers{all, s.Tenants, s.Sensors, newCache[summed](limit), newCache[Outliers](limit)}
	s.Outliers = &OutlierAnswers{all, s.Tenants, s.decider, newCache[tenantOutliers](limit),
		newCache[recentWindows](limit), newCache[map[schema.DeviceID]int](limit)}
	s.Archives = &Archives{all, s.Pipelines, newCache[Archive](limit)}
	return s
}

// Run keeps the index up to date until ctx ends. It always returns nil.
func (s *Store) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, a := range s.Accounts.all {
		all.Go(func() { a.keepUp(ctx) })
	}
	all.Wait()
	return nil
}

// Changed returns a channel that is closed at the next change of the map or of a list.
func (s *Store) Changed() <-chan struct{} {
	x := s.Accounts.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.changed
}
