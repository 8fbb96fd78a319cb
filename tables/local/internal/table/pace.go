package table

import (
	"sync"
	"time"

	"furrow/tables/local/internal/wire"
)

// Bounds of what SAS write to one partition in a second. Azure's target for a partition is 2,000 entities of 1 KiB
// (learn.microsoft.com/azure/storage/tables/scalability-targets). The first request of a second may have more bytes, as
// the largest transaction has: what one partition writes all the time is what compactions of all of them wait for.
const (
	maxPace      = 2000    // entities
	maxPaceBytes = 2 << 20 // of bodies
)

// A pace counts what is written to each partition in the current second.
type pace struct {
	mu     sync.Mutex
	second int64
	used   map[string]written // by the prefix of a partition's keys
}

type written struct{ entities, bytes int }

// countWrite counts a write, or returns an error that tells the client to wait.
func (p *pace) countWrite(partition string, now time.Time, w written) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if second := now.Unix(); second != p.second {
		p.second, p.used = second, map[string]written{}
	}
	used := p.used[partition]
	sum := written{used.entities + w.entities, used.bytes + w.bytes}
	if sum.entities > maxPace || sum.bytes > maxPaceBytes && used.bytes > 0 {
		return wire.ErrBusy
	}
	p.used[partition] = sum
	return nil
}
