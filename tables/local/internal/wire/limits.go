package wire

import (
	"sync"
	"time"
)

// Azure's targets, per second
// (learn.microsoft.com/azure/storage/common/scalability-targets-standard-account, …/tables/scalability-targets).
const (
	maxAccount = 20_000 // entities, messages and other requests of an account
	maxPart    = 2_000  // entities of a partition, or messages of a queue
)

// Limits rehearse Azure's throttling: they refuse what is beyond its targets in the current second. The services of
// an account share them. A nil *Limits has no bounds.
type Limits struct {
	mu     sync.Mutex
	second int64
	all    int
	parts  map[string]int
}

// request counts a request.
func (l *Limits) request(now time.Time) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	return l.admit(1)
}

// part counts n entities or messages of a part. The request is counted already.
func (l *Limits) part(name string, n int, now time.Time) error {
	if l == nil || n == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	if l.parts[name]+n > maxPart {
		return ErrBusy
	}
	err := l.admit(n - 1)
	if err == nil {
		l.parts[name] += n
	}
	return err
}

func (l *Limits) admit(n int) error {
	if l.all+n > maxAccount {
		return ErrBusy
	}
	l.all += n
	return nil
}

func (l *Limits) turn(now time.Time) {
	if second := now.Unix(); second != l.second {
		l.second, l.all, l.parts = second, 0, map[string]int{}
	}
}

// Count counts n entities of a partition, or messages of a queue, for the rehearsal of Azure's limits. It returns
// ErrBusy if there are too many in this second.
func (r *Request) Count(part string, n int) error { return r.limits.part(part, n, r.Clock()) }
