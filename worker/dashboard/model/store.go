package model

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// Config is what a Store is made of.
type Config struct {
	Tables    *tables.Client // whose OnOperation should tell CountTable, or no answer knows what it cost
	Queues    *worker.Client // nil: backlogs are not known
	Names     schema.Names
	Pipelines []Pipeline
	// Newer gives the pipelines of a newer configuration, and whether there is one;
	// nil: Pipelines stay. It is asked every 10 s, while somebody looks.
	Newer func(context.Context) ([]Pipeline, bool, error)

	// Silent is how old the newest value of a device may be until the device counts
	// as silent; zero means DefaultSilent.
	Silent time.Duration
	// Every is how often storage is asked for what is new, while somebody looks; zero
	// means 3 s.
	Interval time.Duration
	Log      *slog.Logger // nil means slog.Default()
}

// DefaultSilent is when a device counts as silent where nothing else is said.
const DefaultSilent = 15 * time.Minute

// A Pipeline is what pages have to know of one.
type Pipeline struct {
	Name    schema.Pipeline
	Cadence time.Duration
	Latest  bool            // it writes the newest values
	Windows []schema.Window // of its rollups; none where it writes none
	Sensors jobs.Sensors
	Units   map[string]string // by sensor, of those that have one
}

// A Store answers what pages ask. It is safe for concurrent use.
type Store struct {
	c       Config
	log     *slog.Logger
	index   *index
	grounds *grounds
	watched *watch
	loaded  chan struct{} // closed when all records were read once
	rounds  rounds
	meter   meter
	current atomic.Pointer[[]Pipeline] // of the newest configuration that is known

	whos      cache[who]
	devices   cache[deviceRead]
	series    cache[[]bucketOf]
	pipelines cache[pipelineRead]
	days      cache[tenantDay]
	todays    cache[today]
}

// New is a Store. It knows nothing before Run has begun.
func New(c Config) *Store {
	c.Silent, c.Interval = cmp.Or(c.Silent, DefaultSilent), cmp.Or(c.Interval, pollInterval)
	s := &Store{c: c, log: cmp.Or(c.Log, slog.Default()), index: newIndex(), watched: newWatch(2 * c.Interval), loaded: make(chan struct{})}
	s.grounds = &grounds{index: s.index, every: layerFor}
	s.rounds = newRounds(s)
	s.current.Store(&c.Pipelines)
	return s
}

// configured are the pipelines that are known now. They change between two calls
// where a newer configuration holds.
func (s *Store) configured() []Pipeline { return *s.current.Load() }

// Run keeps the index until ctx ends, and returns nil then.
func (s *Store) Run(ctx context.Context) error {
	ctx = within(ctx, &s.meter)
	var both sync.WaitGroup
	both.Go(func() { s.keepRecords(ctx) })
	both.Go(func() { s.rounds.run(ctx) })
	both.Wait()
	return nil
}

// Changed is closed when something has changed that maps and lists show.
func (s *Store) Changed() <-chan struct{} { return s.index.changes() }

// PerMinute is how many storage operations there were in the last minute, of all
// answers and in the background.
func (s *Store) PerMinute() int { return s.meter.perMinute(time.Now()) }

// unit is that of a sensor, as the first pipeline that knows it says.
func (s *Store) unit(sensor string) string {
	for _, p := range s.configured() {
		if u := p.Units[sensor]; u != "" {
			return u
		}
	}
	return ""
}

func (s *Store) table(name string) *tables.Table { return s.c.Tables.Table(name) }
