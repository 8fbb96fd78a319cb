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
)

// A Source is where a pool gets its messages; a Queue is one.
type Source interface {
	Get(ctx context.Context, n int, lease time.Duration) ([]*Lease, error)
	GetCatchup(ctx context.Context, n int, lease time.Duration) ([]*Lease, error)
	Depth(ctx context.Context) (int, error)        // live messages, including those that are leased or delayed
	CatchupDepth(ctx context.Context) (int, error) // the same of catch-up
	// Fresh receives when a catch-up message was put; it may be nil.
	Fresh() <-chan struct{}
	Poison(ctx context.Context, p Poisoned) error
}

// DefaultLease is how long a message is held without being renewed, and so how
// long the work of a worker that died lies idle.
const DefaultLease = 30 * time.Second

// A Pool gets messages and runs their jobs, each under a lease. It may be used
// once, and not be copied.
type Pool struct {
	Source Source

	// Work does the job that a message asks for. Its context ends when the pool
	// stops or the lease is lost; it must then return soon. It may save its
	// progress by giving the message with it to save; attempts begin anew where
	// that differs from what was saved before. An error in whose chain
	// jobs.ErrUnreadable is sends the message to the poison queue at once.
	Work func(ctx context.Context, m jobs.Message, save func(context.Context, jobs.Message) error) error

	Name  string        // of this worker, in the poison queue; empty is fine
	Size  int           // most jobs in flight; 0 means 32
	Lease time.Duration // 0 means DefaultLease; whole seconds
	// for jobs to return, and then for messages to be given back, when the pool stops; 0 means 10 s
	Grace time.Duration
	// longest pause between two looks into an empty queue, three times that for catch-up, and 5/6 of a
	// lease at most; 0 means 30 s
	Idle        time.Duration
	Pause       time.Duration // before a job that failed is tried again, doubling each time; 0 means 5 s
	MaxAttempts int           // failures after which a message is poison, not counting those of a busy storage; 0 means 5
	OnResult    func(Result)  // is told of the end of every message, from many goroutines; nil means nobody is
	Log         *slog.Logger  // nil means slog.Default()
	Outcomes    Outcomes      // how messages have ended so far

	limit limit
	room  room
	idle  atomic.Int64 // what SetIdle has set; zero: Idle holds
}

// SetIdle changes Idle of a pool that runs.
func (p *Pool) SetIdle(d time.Duration) { p.idle.Store(int64(d)) }

// longestIdle is the Idle that holds now.
func (p *Pool) longestIdle() time.Duration { return cmp.Or(time.Duration(p.idle.Load()), p.Idle) }

// Idle pauses: the first one after a queue was found empty, and how many times
// longer than Idle the longest is for the catch-up queue. Its work can wait, and
// what this process puts there is seen at once.
const (
	shortest      = 100 * time.Millisecond
	catchupSlower = 3
)

// Run works until ctx ends, and returns nil when every job has returned and
// every message is finished or given back. A job that does not heed its context
// keeps Run waiting; its message comes again once the lease is over.
func (p *Pool) Run(ctx context.Context) error {
	if p.Source == nil || p.Work == nil {
		return errors.New("pool: Source and Work are both needed")
	}
	p.setDefaults()
	ctx = context.WithValue(ctx, poolKey{}, p)
	var running sync.WaitGroup
	defer running.Wait()
	for _, l := range p.lanes(&running) {
		running.Go(func() { l.run(ctx) })
	}
	return nil
}

func (p *Pool) setDefaults() {
	p.Size = cmp.Or(p.Size, 32)
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

// InFlight is how many jobs are running.
func (p *Pool) InFlight() int { return p.room.running() }

// heed looks whether an error says that storage is busy. Where nobody tells
// Answered, these are the only answers that count.
func (p *Pool) heed(err error) {
	if errors.Is(err, tables.ErrBusy) {
		p.limit.answered(true)
	}
}

// end records the end of a message's time here.
func (p *Pool) end(r Result) {
	p.Outcomes.count(r.Outcome)
	p.limit.answered(false) // that of the message's end; a busy one has been counted
	if p.OnResult != nil {
		p.OnResult(r)
	}
}

// outliving is a context that ends d after ctx does.
func outliving(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		sleep(longer, d)
		cancel()
	})
	return longer, func() { stop(); cancel() }
}
