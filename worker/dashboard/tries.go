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

	"furrow/tables/shares"
)

// tries slows down those who guess secrets, by where they come from. After a few wrong ones, each has to wait before it
// is looked at: a second, two, four, and half a minute at most, so that nobody is locked out for long. A secret that
// was right lately never waits, so that who guesses does not delay others of the same network. Tokens of access do not
// come here unless they are wrong: nobody guesses one.
type tries struct {
	log *slog.Logger

	mu       sync.Mutex
	bySource *simplelru.LRU[netip.Prefix, try]
	right    *simplelru.LRU[[sha256.Size]byte, bool] // hashes of secrets
	said     time.Time                               // when wrong ones were last logged
	wrong    int                                     // since then
}

// A try is what is known of an address or a network.
type try struct {
	count int
	next  time.Time // no secret is looked at before
	until time.Time // the count is forgotten then
}

const (
	freeTries  = 10  // of an address, before the first wait
	wideTries  = 100 // of a network of IPv6 in which addresses are
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
// its sender has to wait instead; zero if the secret may be looked at.
func (t *tries) begin(from origin, secret string, now time.Time) (counted bool, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.right.Contains(sha256.Sum256([]byte(secret))) {
		return false, 0
	}
	for _, source := range from {
		one, _ := t.bySource.Get(source)
		wait = max(wait, one.next.Sub(now))
	}
	if wait > 0 {
		return false, wait
	}
	for i, source := range from {
		one, _ := t.bySource.Get(source)
		t.bySource.Add(source, one.again([...]int{freeTries, wideTries}[i], now))
	}
	return true, 0
}

// again returns a try after one more, where so many are free.
func (one try) again(free int, now time.Time) try {
	if now.After(one.until) {
		one.count = 0
	}
	one.count++
	one.next = now
	if over := one.count - free; over > 0 {
		one.next = now.Add(min(maxDelay, time.Second<<min(over-1, 10)))
	}
	one.until = one.next.Add(tryWindow)
	return one
}

// notWrong takes back that begin counted a secret as wrong: it was right, or nobody could say.
func (t *tries) notWrong(from origin, secret string, right bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if right {
		t.right.Add(sha256.Sum256([]byte(secret)), true)
	}
	for _, source := range from {
		one, _ := t.bySource.Get(source)
		one.count = max(0, one.count-1)
		t.bySource.Add(source, one)
	}
}

// logWrong logs wrong secrets: at once, and then how many there were, at most once a minute.
func (t *tries) logWrong(from origin, path string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wrong++; now.Sub(t.said) >= sayWrong {
		t.log.Warn("authentication failed", "from", from[0], "path", path, "times", t.wrong)
		t.said, t.wrong = now, 0
	}
}

// An origin is where a request comes from: an address and, with IPv6, also the network in which it is.
type origin []netip.Prefix

// origin returns where a request comes from: its address or, from a stated proxy, the last one in X-Forwarded-For that
// is not a stated proxy's. A client can write the others itself.
func (d *Dashboard) origin(r *http.Request) origin {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !d.fromProxy(at.Addr()) {
		return originOf(at.Addr())
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
	return originOf(from)
}

func (d *Dashboard) fromProxy(ip netip.Addr) bool {
	return slices.ContainsFunc(d.c.Proxies, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
}

func originOf(ip netip.Addr) origin {
	address, network := shares.NetworksOf(ip)
	return slices.Compact(origin{address, network})
}
