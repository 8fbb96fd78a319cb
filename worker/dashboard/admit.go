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
)

// Secrets let people and programs in. The zero Secrets let in everybody.
type Secrets struct {
	Password string // of people, with any name; empty: there is none
	Token    string // of programs, in the header Authorization: Bearer; empty: there is none
}

// shortestSecret is what cannot be guessed over a network that allows so few tries.
const shortestSecret = 12

// Check says why secrets protect nothing.
func (s Secrets) Check() error {
	for what, secret := range map[string]string{"password": s.Password, "token": s.Token} {
		if secret != "" && len(secret) < shortestSecret {
			return errors.New("the " + what + " is too short: take at least 12 characters; openssl rand -base64 18 makes some")
		}
	}
	return nil
}

// Any tells whether there is one.
func (s Secrets) Any() bool { return s.Password != "" || s.Token != "" }

// admit lets a request in, or says why not.
func (d *Dashboard) admit(w http.ResponseWriter, r *http.Request) error {
	if d.c.Loopback && !namesLoopback(r.Host) {
		return &refusal{code: WrongHost, title: "That is not this dashboard", detail: "This dashboard is for this machine, and the request names another host: ask for localhost or 127.0.0.1."}
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return &refusal{code: MethodNotAllowed, title: "Nothing can be changed here", detail: "A dashboard is for reading: use GET or HEAD."}
	}
	if !d.c.Secrets.Any() || r.URL.Path == "/healthz" {
		return nil
	}
	return d.authorize(w, r)
}

func (d *Dashboard) authorize(w http.ResponseWriter, r *http.Request) error {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	from := sourceOf(r.RemoteAddr)
	if scheme != "" {
		if wait := d.tries.wait(from, time.Now()); wait > 0 {
			return &refusal{code: TooManyRequests, title: "Too many tries", detail: "There were too many wrong passwords or tokens from this address: wait a while.", after: wait}
		}
		if d.c.Secrets.open(r) {
			return nil
		}
		d.tries.failed(from, time.Now())
		d.log.Warn("a wrong password or token", "from", r.RemoteAddr, "path", r.URL.Path)
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="Furrow", charset="UTF-8"`)
	return &refusal{code: Unauthorized, title: "Who are you?", detail: "This dashboard takes a password, with any name, or a token in the header Authorization: Bearer."}
}

// open tells whether a request has a secret. It takes as long for any that is wrong.
func (s Secrets) open(r *http.Request) bool {
	_, password, _ := r.BasicAuth()
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	return same(password, s.Password)|same(strings.TrimSpace(token), s.Token) == 1
}

// same is 1 where there is a secret and that is it.
func same(given, secret string) int {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(a[:], b[:]) & (1 - subtle.ConstantTimeEq(int32(len(secret)), 0))
}

// namesLoopback tells whether a Host header names this machine by itself. A name of
// another that leads here is DNS that was turned round, to read from a browser.
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

// tries counts wrong secrets by where they come from.
type tries struct {
	mu sync.Mutex
	by map[netip.Prefix]try
}

type try struct {
	n     int
	until time.Time // it is forgotten then
}

const (
	mostTries = 10 // in triesFor, from one address
	triesFor  = 5 * time.Minute
	mostFrom  = 10_000 // addresses that are remembered
)

// wait is how long an address has to, before its secrets are looked at again.
func (t *tries) wait(from netip.Prefix, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.by[from]; one.n >= mostTries && now.Before(one.until) {
		return one.until.Sub(now)
	}
	return 0
}

func (t *tries) failed(from netip.Prefix, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[netip.Prefix]try{}
	}
	one := t.by[from]
	if !now.Before(one.until) {
		one = try{until: now.Add(triesFor)}
	}
	if len(t.by) >= mostFrom {
		for other, old := range t.by {
			if !now.Before(old.until) || len(t.by) >= mostFrom {
				delete(t.by, other)
			}
		}
	}
	one.n++
	t.by[from] = one
}

// sourceOf is an address, or the network of one where each has many.
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
