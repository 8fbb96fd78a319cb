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

	"furrow/tables/schema"
)

// A Follower knows the configuration that holds, as long as Run runs. It is safe
// for concurrent use.
type Follower struct {
	Every time.Duration // between two looks at storage, give or take a fifth; zero means Pace

	store   Store
	process presence
	log     *slog.Logger

	looking sync.Mutex // held while storage is asked
	looked  time.Time  // when it was last asked
	refused int64      // the newest generation that this program cannot use

	mu      sync.Mutex
	current Loaded
	changed chan struct{} // closed when current has become another
}

// Pace is how often a Follower asks storage for a newer generation: 260,000 requests
// a month, each of one row at most, which is about one US cent on Azure.
const Pace = 10 * time.Second

// ErrNewer says that a generation is not to be had yet, or not by this program.
var ErrNewer = errors.New("a newer configuration is needed")

// NewFollower follows from a configuration on that was loaded before. While it runs,
// it keeps the row of the process in storage, unless the process has no name: it then
// reads what others write, and nobody waits for it.
func NewFollower(s Store, first Loaded, p schema.Process, log *slog.Logger) *Follower {
	return &Follower{store: s, process: presence{table: s.Table, process: p}, log: log, current: first,
		changed: make(chan struct{})}
}

// Current is the newest configuration that was loaded, and a channel that is closed
// when there is a newer one.
func (f *Follower) Current() (Loaded, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current, f.changed
}

// Run asks storage again and again until ctx ends, and returns nil then. What cannot
// be read is asked for again, and what cannot be used is logged: the configuration
// stays as it is. Several Runs of one Follower ask no more often than one.
func (f *Follower) Run(ctx context.Context) error {
	failing, every := false, cmp.Or(f.Every, Pace)
	f.process.begin()
	defer f.process.end(ctx)
	for {
		if err := f.process.say(ctx); err != nil && !failing && ctx.Err() == nil {
			f.log.WarnContext(ctx, "process not registered", "error", err)
		}
		if sleep(ctx, every*4/5+rand.N(every*2/5)) != nil {
			return nil
		}
		err := f.lookAfter(ctx, every/2)
		if err != nil && !failing && ctx.Err() == nil {
			f.log.WarnContext(ctx, "configuration unavailable", "error", err)
		}
		failing = err != nil
	}
}

// Look asks storage for a newer generation, and loads it. Its error is of storage.
func (f *Follower) Look(ctx context.Context) error {
	f.looking.Lock()
	defer f.looking.Unlock()
	return f.look(ctx)
}

// lookAfter looks unless somebody has done so in the last span of time.
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
		f.log.ErrorContext(ctx, "configuration not usable by this version", "generation", stored.Generation, "stays",
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

// reachEvery bounds how often jobs that need a generation ask storage for it.
const reachEvery = time.Second

// Reach sees to it that a generation or a newer one is loaded. The error is ErrNewer
// where storage does not have it, or this program cannot use it.
func (f *Follower) Reach(ctx context.Context, generation int64) error {
	came := time.Now()
	f.looking.Lock()
	defer f.looking.Unlock()
	var err error
	if current, _ := f.Current(); current.Generation < generation && f.looked.Before(came) {
		if err = sleep(ctx, reachEvery-time.Since(f.looked)); err == nil {
			err = f.look(ctx)
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

// sleep waits for d, or until ctx ends, which is its error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
