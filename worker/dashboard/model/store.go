package model

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/retain"
	"furrow/tables/commands"
	"furrow/tables/schema"
	"furrow/tables/shares"
	"furrow/worker/cost"
	"furrow/worker/query"
)

// Config configures a Store.
type Config struct {
	Accounts []Account // of the fleet; at least one

	// Silent is the age of a device's newest reading from which it counts as silent; zero means DefaultSilent.
	Silent time.Duration
	// Interval is the time between two polls; zero means 3 s.
	Interval time.Duration
	Log      *slog.Logger // nil: slog.Default()
}

// DefaultSilent is the default of Config.Silent.
const DefaultSilent = 15 * time.Minute

// A Pipeline is what the model knows of a configured pipeline. What it can show follows from what the
// pipeline's processors write.
type Pipeline struct {
	Name    schema.Pipeline
	Cadence time.Duration
	Latest  bool                              // a processor writes newest values
	Rates   bool                              // a processor writes rates
	Rules   bool                              // a processor opens and closes incidents
	Windows []schema.Window                   // sizes of the rollups that a processor writes
	Reports []schema.Window                   // those of them that are reported
	By      []schema.By                       // what is reported together
	Sensors func(schema.Member) *fold.Sensors // what a device's rows mean; nil: nothing is known
	Unit    func(sensor string) string        // nil: none is known
	Model   func(schema.Member) string        // name of a device's model; nil: there are none
	Budget  float64                           // US dollars a month of all pipelines; zero: none
	Keep    []retain.Keep                     // what it deletes; none: it folds
	Archive bool                              // it keeps tables of the readings
	// Verifies says that the scheduler verifies samples of the devices.
	Verifies bool
}

// A Store answers queries about a fleet. It is safe for concurrent use.
type Store struct {
	c        Config
	accounts []*account
	log      *slog.Logger
	index    *index
	layers   *memo[*layer]
	ground   *ground
	census   *memo[sensed]
	open     openSet
	watch    *watch

	deciding     *shares.Shares // of conditions
	decidingTime time.Duration

	owners    cache[owner]
	devices   cache[deviceRead]
	series    cache[points]
	states    cache[stateSpans]
	pipelines cache[pipelineRead]
	days      cache[tenantDay]
	gaps      cache[RecentGaps]
	todays    cache[today]
	summaries cache[summed]
	costs     cache[cost.Costs]
	retained  cache[retained]
	archives  cache[Archive]
	verified  cache[verified]
	budgets   cache[*Budget]
	compares  cache[Outliers]
	counted   cache[[]query.Incident] // of a tenant's day
	ofDevice  cache[[]query.Incident]
	told      cache[commands.All]
}

// New returns a Store. It reads nothing in the background before Run.
func New(c Config) *Store {
	c.Silent, c.Interval = cmp.Or(c.Silent, DefaultSilent), cmp.Or(c.Interval, pollInterval)
	s := &Store{c: c, log: cmp.Or(c.Log, slog.Default()),
		index: newIndex(len(c.Accounts)), deciding: newDeciding(), decidingTime: decidingTime,
		open:   openSet{of: map[tenantIn]*tenantOpen{}},
		watch:  newWatch(2*c.Interval, len(c.Accounts)),
		owners: newCache[owner](), devices: newCache[deviceRead](), series: newCache[points](),
		states:    newCache[stateSpans](),
		pipelines: newCache[pipelineRead](), days: newCache[tenantDay](), gaps: newCache[RecentGaps](),
		summaries: newCache[summed](), costs: newCache[cost.Costs](), retained: newCache[retained](),
		archives: newCache[Archive](), verified: newCache[verified](),
		budgets:  newCache[*Budget](),
		compares: newCache[Outliers](), told: newCache[commands.All](),
		todays: newCache[today](), counted: newCache[[]query.Incident](), ofDevice: newCache[[]query.Incident]()}
	s.layers, s.census = newMemo[*layer](s.index, maxLayers, layerAge), newMemo[sensed](s.index, maxCensus, censusAge)
	for i, a := range c.Accounts {
		s.accounts = append(s.accounts, newAccount(s, i, a))
	}
	s.index.modelOf = func(in uint16, m schema.Member) string { return s.accounts[in].modelOf(m) }
	return s
}

// Run keeps the index up to date until ctx ends. It always returns nil.
func (s *Store) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, a := range s.accounts {
		all.Go(func() { a.keepUp(ctx, s) })
	}
	all.Wait()
	return nil
}

// Changed returns a channel that is closed at the next change of the map or of a list.
func (s *Store) Changed() <-chan struct{} { return s.index.changes() }

// units returns a model that knows the units of sensors and remembers them, for the many rows of an answer.
func (s *Store) units() *query.Model {
	known := map[string]string{}
	return &query.Model{Unit: func(sensor string) string {
		unit, is := known[sensor]
		if !is {
			unit = s.unit(sensor)
			known[sensor] = unit
		}
		return unit
	}}
}

// unit returns the unit of a sensor from the first pipeline that has one.
func (s *Store) unit(sensor string) string {
	if sensor, is := Rated(sensor); is {
		return s.unit(sensor) + perHour
	}
	for _, p := range s.configured() {
		if p.Unit == nil {
			continue
		}
		if u := p.Unit(sensor); u != "" {
			return u
		}
	}
	return ""
}
