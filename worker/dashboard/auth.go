package dashboard

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"furrow/worker/dashboard/api"
)

// Secrets let people and programs in. The zero Secrets let everyone in.
type Secrets struct {
	Password string // for people, with any user name; empty: none
	Token    string // for programs, as Authorization: Bearer; empty: none
}

// minSecret is the shortest secret, in bytes, that cannot be guessed at the rate that tries allows.
const minSecret = 12

// Check returns an error when a secret is too short to protect anything.
func (s Secrets) Check() error {
	for name, secret := range map[string]string{"password": s.Password, "token": s.Token} {
		if secret != "" && len(secret) < minSecret {
			return errors.New("the " + name +
				" is too short: use at least 12 characters, for example from openssl rand -base64 18")
		}
	}
	return nil
}

func (s Secrets) Any() bool { return s.Password != "" || s.Token != "" }

// authorize lets a request in, or says why not. Only GET and HEAD are allowed, as nothing here has a side effect.
func (d *Dashboard) authorize(w http.ResponseWriter, r *http.Request) error {
	if d.c.Loopback && !namesLoopback(r.Host) {
		return api.NewProblem(api.WrongHost, "Wrong host name",
			"This dashboard serves only this machine, and the request names another host: use localhost or 127.0.0.1.")
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return api.NewProblem(api.MethodNotAllowed, "Method not allowed", "The dashboard is read-only: use GET or HEAD.")
	}
	if !d.c.Secrets.Any() || r.URL.Path == api.HealthPath {
		return nil
	}
	return d.authenticate(w, r)
}

func (d *Dashboard) authenticate(w http.ResponseWriter, r *http.Request) error {
	source := sourceOf(r.RemoteAddr)
	if r.Header.Get("Authorization") != "" {
		if wait := d.tries.wait(source, time.Now()); wait > 0 {
			return api.NewProblem(api.TooManyRequests, "Too many attempts",
				"There were too many wrong passwords or tokens from this address. Try again later.").RetryIn(wait)
		}
		if d.c.Secrets.match(r) {
			return nil
		}
		d.tries.failed(source, time.Now())
		d.log.Warn("authentication failed", "from", r.RemoteAddr, "path", r.URL.Path)
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="Furrow", charset="UTF-8"`)
	return api.NewProblem(api.Unauthorized, "Sign in",
		"This dashboard needs a password, with any user name, or a token in the header Authorization: Bearer.")
}

// match reports whether a request has one of the secrets, in constant time.
func (s Secrets) match(r *http.Request) bool {
	_, password, _ := r.BasicAuth()
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	return equal(password, s.Password)|equal(strings.TrimSpace(token), s.Token) == 1
}

// equal returns 1 when secret is not empty and equals given.
func equal(given, secret string) int {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(a[:], b[:]) & (1 - subtle.ConstantTimeEq(int32(len(secret)), 0))
}

// namesLoopback reports whether a Host header names this machine by a loopback name or address. Any other
// host name that resolves here is a DNS-rebinding attack.
func namesLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

// tries counts wrong secrets by source.
type tries struct {
	mu       sync.Mutex
	bySource *simplelru.LRU[netip.Prefix, try]
}

type try struct {
	count int
	until time.Time // the count is forgotten then
}

const (
	maxTries   = 10 // per source within tryWindow
	tryWindow  = 5 * time.Minute
	maxSources = 10_000 // that are remembered
)

func newTries() *tries {
	bySource, _ := simplelru.NewLRU[netip.Prefix, try](maxSources, nil) // fails only for a size below 1
	return &tries{bySource: bySource}
}

// wait returns how long a source has to wait until its secrets are checked again.
func (t *tries) wait(source netip.Prefix, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one, _ := t.bySource.Get(source); one.count >= maxTries {
		return one.until.Sub(now)
	}
	return 0
}

func (t *tries) failed(source netip.Prefix, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, _ := t.bySource.Get(source)
	if !now.Before(one.until) {
		one = try{until: now.Add(tryWindow)}
	}
	one.count++
	t.bySource.Add(source, one)
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
