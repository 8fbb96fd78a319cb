package dashboard

import (
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// tries counts wrong secrets, by where they come from and the name that is given with them.
type tries struct {
	mu       sync.Mutex
	bySource *simplelru.LRU[source, try]
}

// A source is where secrets come from.
type source struct {
	from netip.Prefix
	name string
}

type try struct {
	count int
	until time.Time // the count is forgotten then
}

const (
	maxTries   = 10 // per source within tryWindow
	tryWindow  = 5 * time.Minute
	maxSources = 10_000 // that are remembered
	maxName    = 128    // bytes of a source's name that count
)

func newTries() *tries {
	bySource, _ := simplelru.NewLRU[source, try](maxSources, nil) // fails only for a size below 1
	return &tries{bySource: bySource}
}

// failed counts a wrong secret. It returns how long the source has to wait; zero while it has tries left. A right
// secret
// is taken all the same, so that nobody can lock others out.
func (t *tries) failed(from source, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	from.name = from.name[:min(len(from.name), maxName)]
	one, _ := t.bySource.Get(from)
	if !now.Before(one.until) {
		one = try{until: now.Add(tryWindow)}
	}
	one.count++
	t.bySource.Add(from, one)
	if one.count <= maxTries {
		return 0
	}
	return one.until.Sub(now)
}

// sourceOf returns the address of a client, or its /64 for IPv6, where every client has many addresses.
func sourceOf(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 32
	if ip.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(ip, bits).Masked()
}
