package worker

import (
	"sync"
	"time"
)

// A room shares the places for jobs between live and catch-up work. Live work
// comes first: catch-up gets a place only while the live queue is empty, as far
// as the last look has shown, and at most half of all. Where live work leaves no
// place for a whole lease, catch-up gets a single one, so that it goes on.
type room struct {
	full func() int // places at this moment
	long time.Duration

	mu    sync.Mutex
	taken [2]int           // by jobs, and by gets that are under way
	jobs  int              // the jobs alone
	quiet bool             // the last look at the live queue found fewer messages than it asked for
	last  time.Time        // that catch-up had a look, or a job
	freed [2]chan struct{} // holds one when a place may be free
	ended chan struct{}    // holds one when a job has ended
}

// Who takes a place.
const (
	live = iota
	catchup
)

func (r *room) open(full func() int, long time.Duration) {
	r.full, r.long, r.last, r.ended = full, long, time.Now(), make(chan struct{}, 1)
	r.freed = [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
}

// take takes up to most places for a get, and says how many; they are given
// back by settle. Live work that gets none is the next to get one.
func (r *room) take(who, most int) int {
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
	// One place is kept for catch-up that has waited for long.
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

// settle is told what a get for asked places has brought: the others are free
// again. A failed get counts as one that found nothing.
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
	r.tell()
}

// leave gives back the place of a job that has ended.
func (r *room) leave(who int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken[who]--
	r.jobs--
	if who == catchup {
		r.last = time.Now()
	}
	r.tell()
	poke(r.ended)
}

func (r *room) tell() {
	for _, freed := range r.freed {
		poke(freed)
	}
}

// of is how many places live or catch-up work has taken.
func (r *room) of(who int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken[who]
}

func (r *room) running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs
}
