package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/service"
)

// A Source supplies a pool with messages, such as a Queue.
type Source interface {
	Get(ctx context.Context, n int, lease time.Duration) ([]*Lease, error)
	GetCatchup(ctx context.Context, n int, lease time.Duration) ([]*Lease, error)
	Depth(ctx context.Context) (int, error)        // live messages, including those that are leased or delayed
	CatchupDepth(ctx context.Context) (int, error) // the same for catch-up messages
	// Fresh receives after live or catch-up messages were put here. The channels may be nil.
	Fresh() (live, catchup <-chan struct{})
	Poison(ctx context.Context, p Poisoned) error
}

// DefaultLease is how long a message is held without being renewed, and so how long the work of a dead worker waits.
const DefaultLease = 30 * time.Second

// DefaultSize is how many jobs a pool does at a time, at most.
const DefaultSize = 32

// A Pool receives messages and runs their jobs, each under a lease. It can be run once, and must not be copied.
type Pool struct {
	Source Source

	// Work does the job of a message. Its context ends when the pool stops or the lease is lost; Work must then return
	// soon. It may save its progress by calling save with the changed message, which resets the count of attempts. An
	// error that wraps jobs.ErrUnreadable sends the message to the poison queue at once.
	Work func(ctx context.Context, m jobs.Message, save jobs.Save) error

	Name  string        // of this worker, for the poison queue; may be empty
	Size  int           // maximum jobs in flight; 0 means DefaultSize
	Lease time.Duration // 0 means DefaultLease; whole seconds
	// Grace is the time for jobs to return, and then for messages to be given back, when the pool stops; 0 means 10 s.
	Grace time.Duration
	// Idle is the longest pause between two looks into an empty queue; 0 means 30 s. It is three times as long for
	// catch-up, and at most 5/6 of a lease.
	Idle        time.Duration
	Pause       time.Duration           // before a failed job is tried again, doubling each time; 0 means 5 s
	MaxAttempts int                     // failures that make a message poison, besides those of busy storage; 0 means 5
	OnResult    func(Result)            // if not nil, is called after every message, from many goroutines
	Log         *slog.Logger            // nil means slog.Default()
	Outcomes    service.Counts[Outcome] // how messages have ended so far

	limit limit
	room  room
	idle  atomic.Int64 // set by SetIdle; zero: use Idle
	asks  asks
}

// SetIdle changes Idle of a running pool.
func (p *Pool) SetIdle(d time.Duration) { p.idle.Store(int64(d)) }

// longestIdle returns the Idle in force.
func (p *Pool) longestIdle() time.Duration { return cmp.Or(time.Duration(p.idle.Load()), p.Idle) }

// The first pause after an empty queue, and how many times longer than Idle the longest one is for the catch-up queue.
// That work can wait. What this process puts into either queue is noticed at once.
const (
	shortest      = 100 * time.Millisecond
	catchupSlower = 3
)

// Run works until ctx ends, and returns nil when every job has returned and every message is finished or given back. A
// job that ignores its context keeps Run waiting; its message comes again when the lease ends.
func (p *Pool) Run(ctx context.Context) error {
	if p.Source == nil || p.Work == nil {
		return errors.New("pool: Source and Work are both needed")
	}
	p.setDefaults()
	ctx = context.WithValue(ctx, poolKey{}, p)
	var running sync.WaitGroup
	defer close(p.asks.ended())
	defer running.Wait()
	for _, l := range p.lanes(&running) {
		running.Go(func() { l.run(ctx) })
	}
	return nil
}

func (p *Pool) setDefaults() {
	p.Size = cmp.Or(p.Size, DefaultSize)
	p.Lease = cmp.Or(p.Lease, DefaultLease)
	p.Grace = cmp.Or(p.Grace, 10*time.Second)
	p.Idle = cmp.Or(p.Idle, 30*time.Second)
	p.Pause = cmp.Or(p.Pause, 5*time.Second)
	p.MaxAttempts = cmp.Or(p.MaxAttempts, 5)
	if p.Log == nil {
		p.Log = slog.Default()
	}
	p.limit.fill(p.Size)
	p.room.open(p.limit.now, p.Lease)
}

// InFlight returns how many jobs are running.
func (p *Pool) InFlight() int { return p.room.running() }

// countBusy counts an error that says that storage is busy. If nobody calls Answered, only these answers count.
func (p *Pool) countBusy(err error) {
	if errors.Is(err, tables.ErrBusy) {
		p.limit.answered(true)
	}
}

// recordResult records the result of a delivery.
func (p *Pool) recordResult(r Result) {
	p.Outcomes.Add(r.Outcome)
	p.limit.answered(false) // the answer that ended the message; a busy one is already counted
	if p.OnResult != nil {
		p.OnResult(r)
	}
}

// outliving returns a context that ends d after ctx.
func outliving(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		sleep(longer, d)
		cancel()
	})
	return longer, func() { stop(); cancel() }
}
