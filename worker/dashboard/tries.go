package dashboard

import (
	"crypto/sha256"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// tries slows down those who guess secrets, by where they come from. After a few wrong ones, each has to wait before it
// is looked at: a second, two, four, and half a minute at most, so that nobody is locked out for long. A secret that
// was right lately never waits, so that who guesses does not delay others of the same network.
type tries struct {
	log *slog.Logger

	mu       sync.Mutex
	bySource *simplelru.LRU[netip.Prefix, try]
	right    *simplelru.LRU[[sha256.Size]byte, bool] // hashes of secrets
	said     time.Time                               // when wrong ones were last logged
	wrong    int                                     // since then
}

type try struct {
	count int
	next  time.Time // no secret is looked at before
	until time.Time // the count is forgotten then
}

const (
	freeTries  = 10 // of a source, before the first wait
	maxDelay   = 30 * time.Second
	tryWindow  = 5 * time.Minute // after the last wait
	maxSources = 10_000          // that are remembered
	maxRight   = 10_000
	sayWrong   = time.Minute // between two lines of the log
)

func newTries(log *slog.Logger) *tries {
	bySource, _ := simplelru.NewLRU[netip.Prefix, try](maxSources, nil) // fails only for a size below 1
	right, _ := simplelru.NewLRU[[sha256.Size]byte, bool](maxRight, nil)
	return &tries{log: log, bySource: bySource, right: right}
}

// begin counts a secret as wrong, before it is looked at, so that many at once do not count as one. It returns how long
// the source has to wait instead; zero if the secret may be looked at.
func (t *tries) begin(from netip.Prefix, secret string, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.right.Contains(sha256.Sum256([]byte(secret))) {
		return 0
	}
	one, _ := t.bySource.Get(from)
	if wait = one.next.Sub(now); wait > 0 {
		return wait
	}
	if now.After(one.until) {
		one.count = 0
	}
	one.count++
	one.next = now
	if over := one.count - freeTries; over > 0 {
		one.next = now.Add(min(maxDelay, time.Second<<min(over-1, 10)))
	}
	one.until = one.next.Add(tryWindow)
	t.bySource.Add(from, one)
	return 0
}

// notWrong takes back that begin counted a secret as wrong: it was right, or nobody could say.
func (t *tries) notWrong(from netip.Prefix, secret string, right bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hash := sha256.Sum256([]byte(secret))
	if t.right.Contains(hash) {
		return // it was not counted
	}
	if right {
		t.right.Add(hash, true)
	}
	one, _ := t.bySource.Get(from)
	one.count = max(0, one.count-1)
	t.bySource.Add(from, one)
}

// say logs wrong secrets: at once, and then how many there were, at most once a minute.
func (t *tries) say(from netip.Prefix, path string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wrong++; now.Sub(t.said) >= sayWrong {
		t.log.Warn("authentication failed", "from", from, "path", path, "times", t.wrong)
		t.said, t.wrong = now, 0
	}
}

// source returns where a request comes from: its address or, from a stated proxy, the last one in X-Forwarded-For that
// is not a stated proxy's. A client can write the others itself.
func (d *Dashboard) source(r *http.Request) netip.Prefix {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !d.fromProxy(at.Addr()) {
		return sourceOf(at.Addr())
	}
	from := at.Addr()
	all := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(all) {
		ip, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			break
		}
		if from = ip; !d.fromProxy(ip) {
			break
		}
	}
	return sourceOf(from)
}

func (d *Dashboard) fromProxy(ip netip.Addr) bool {
	return slices.ContainsFunc(d.c.Proxies, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
}

// sourceOf returns an address as a prefix, or its /64 for IPv6, where every client has many addresses.
func sourceOf(ip netip.Addr) netip.Prefix {
	if !ip.IsValid() {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(ip, bits).Masked()
}
