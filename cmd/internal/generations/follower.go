package generations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"furrow/cmd/internal/setup"
	"furrow/tables/schema"
)

// A Follower polls storage for newer configurations while Run runs. It is safe for concurrent use.
type Follower struct {
	Every time.Duration // between two polls, give or take a fifth; zero: Pace

	store   Store
	process presence
	log     *slog.Logger

	looking sync.Mutex // held while reading storage
	looked  time.Time  // when storage was last read
	refused int64      // the newest generation that this program cannot use

	mu      sync.Mutex
	current Loaded
	changed chan struct{} // closed when current changes
}

// Pace is how often a Follower polls: 260,000 requests a month of one row at most, about one US cent on Azure.
const Pace = 10 * time.Second

// ErrNewer means that a generation is not stored yet, or that this program cannot use it.
var ErrNewer = errors.New("a newer configuration is needed")

// NewFollower returns a Follower that begins with a loaded configuration. While it runs, it keeps the row of the
// process in storage. A process without a name has no row: it only reads, and nobody has to wait for it.
func NewFollower(s Store, first Loaded, p schema.Process, log *slog.Logger) *Follower {
	return &Follower{store: s, process: presence{table: s.Table, process: p}, log: log, current: first,
		changed: make(chan struct{})}
}

// Current returns the newest loaded configuration, and a channel that is closed when there is a newer one.
func (f *Follower) Current() (Loaded, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current, f.changed
}

// Run polls storage until ctx ends, and returns nil then. It retries what cannot be read, and logs a configuration that
// it cannot use; both leave the current one as it is. Several Runs of one Follower poll no more often than one.
func (f *Follower) Run(ctx context.Context) error {
	failing, every := false, cmp.Or(f.Every, Pace)
	f.process.begin()
	defer f.process.remove(ctx)
	for {
		if err := f.process.writeIfDue(ctx); err != nil && !failing && ctx.Err() == nil {
			f.log.WarnContext(ctx, "process not registered", "error", err)
		}
		if !setup.Pause(ctx, every*4/5+rand.N(every*2/5)) {
			return nil
		}
		err := f.lookAfter(ctx, every/2)
		if err != nil && !failing && ctx.Err() == nil {
			f.log.WarnContext(ctx, "configuration unavailable", "error", err)
		}
		failing = err != nil
	}
}

// Look reads storage for a newer generation, and loads it. It fails only if storage does.
func (f *Follower) Look(ctx context.Context) error { return f.lookAfter(ctx, 0) }

// lookAfter is Look unless storage was read in the last span of time.
func (f *Follower) lookAfter(ctx context.Context, span time.Duration) error {
	f.looking.Lock()
	defer f.looking.Unlock()
	if time.Since(f.looked) < span {
		return nil
	}
	return f.look(ctx)
}

func (f *Follower) look(ctx context.Context) error {
	f.looked = time.Now()
	current, _ := f.Current()
	stored, found, err := f.store.Newest(ctx, max(current.Generation, f.refused))
	if err != nil || !found {
		return err
	}
	loaded, err := Read(stored)
	if err != nil {
		f.refused = stored.Generation
		f.log.ErrorContext(ctx, "configuration not usable by this version", "generation", stored.Generation, "current",
			current.Generation, "error", err)
		return nil
	}
	f.log.InfoContext(ctx, "configuration changed", "generation", loaded.Generation, "was", current.Generation, "by",
		stored.By, "change", stored.Change)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current = loaded
	close(f.changed)
	f.changed = make(chan struct{})
	return nil
}

// reachEvery is the shortest interval at which jobs that need a generation read storage.
const reachEvery = time.Second

// Reach loads a generation or a newer one. It fails with ErrNewer if storage does not have it, or this program cannot
// use it.
func (f *Follower) Reach(ctx context.Context, generation int64) error {
	came := time.Now()
	f.looking.Lock()
	defer f.looking.Unlock()
	var err error
	if current, _ := f.Current(); current.Generation < generation && f.looked.Before(came) {
		select {
		case <-time.After(reachEvery - time.Since(f.looked)):
			err = f.look(ctx)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	current, _ := f.Current()
	switch {
	case current.Generation >= generation:
		return nil
	case err != nil:
		return fmt.Errorf("%w: generation %d, and this worker has %d: %w", ErrNewer, generation, current.Generation, err)
	case f.refused >= generation:
		return fmt.Errorf("%w: generation %d, which this version cannot use", ErrNewer, generation)
	}
	return fmt.Errorf("%w: generation %d, and this worker has %d", ErrNewer, generation, current.Generation)
}
