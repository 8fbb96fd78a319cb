package worker

import (
	"sync"
	"time"
)

// A room shares the places for jobs between live and catch-up work. Live work comes first: catch-up gets a place only
// while the last look has found the live queue empty, and at most half of all places. If live work leaves no place for
// a whole lease, catch-up gets a single one, so that it never stops.
type room struct {
	full func() int // places at this moment
	long time.Duration

	mu    sync.Mutex
	taken [2]int           // by jobs, and by gets under way
	jobs  int              // by jobs alone
	quiet bool             // the last look at the live queue found fewer messages than it asked for
	last  time.Time        // when catch-up last had a look, or a job
	freed [2]chan struct{} // holds a token when a place may be free
	ended chan struct{}    // holds a token when a job has ended
}

// The kinds of work that take places.
const (
	live = iota
	catchup
)

func (r *room) open(full func() int, long time.Duration) {
	r.full, r.long, r.last, r.ended = full, long, time.Now(), make(chan struct{}, 1)
	r.freed = [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
}

// reserve reserves up to most places for a get, and returns how many. Call settle afterwards. If live work gets none,
// it is the next to get one.
func (r *room) reserve(who, most int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := max(0, min(most, r.free(who)))
	r.taken[who] += n
	if who == live && n == 0 {
		r.quiet = false
	}
	return n
}

func (r *room) free(who int) int {
	full := r.full()
	left := full - r.taken[live] - r.taken[catchup]
	// One place is kept for catch-up work that has waited for long.
	waited := r.taken[catchup] == 0 && time.Since(r.last) >= r.long
	switch {
	case who == live && waited:
		return left - 1
	case who == live:
		return left
	case r.quiet:
		return min(left, max(1, full/2)-r.taken[catchup])
	case waited:
		return min(left, 1)
	}
	return 0
}

// settle frees the places that a get did not need. A failed get counts as one that found nothing.
func (r *room) settle(who, asked, got int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken[who] -= asked - got
	r.jobs += got
	if who == live {
		r.quiet = got < asked
	} else {
		r.last = time.Now()
	}
	r.tellFreed()
}

// leave frees the place of a job that has ended.
func (r *room) leave(who int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken[who]--
	r.jobs--
	if who == catchup {
		r.last = time.Now()
	}
	r.tellFreed()
	poke(r.ended)
}

func (r *room) tellFreed() {
	for _, freed := range r.freed {
		poke(freed)
	}
}

// takenBy returns how many places live or catch-up work has taken.
func (r *room) takenBy(who int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken[who]
}

func (r *room) running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs
}
