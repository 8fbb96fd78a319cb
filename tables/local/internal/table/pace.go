package table

import (
	"sync"
	"time"

	"furrow/tables/local/internal/wire"
)

// Bounds of what SAS write to one partition in a second. Azure's target for a partition is 2,000 entities of 1 KiB
// (learn.microsoft.com/azure/storage/tables/scalability-targets); a second may have one of the largest transactions.
const (
	maxPace      = 2000    // entities
	maxPaceBytes = 8 << 20 // of bodies
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
	used.entities += w.entities
	used.bytes += w.bytes
	if used.entities > maxPace || used.bytes > maxPaceBytes {
		return wire.ErrBusy
	}
	p.used[partition] = used
	return nil
}
