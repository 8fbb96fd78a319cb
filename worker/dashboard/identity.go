package dashboard

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"furrow/tables/schema"
	"furrow/worker/dashboard/api"
)

// An identity is how a request says who makes it.
type identity struct {
	access schema.Access // zero: a password or token of Secrets, or nobody
	name   string        // of one of Secrets
	proof  string        // that one, as it was given
	ends   time.Time     // of its session; zero: it has none
	token  bool          // it is a bearer token
	secret string        // that forms are signed for: of a session, or of a name that a proxy gave; empty: none
}

func (who identity) known() bool { return who.access.Name != "" || who.name != "" }

// person returns who that is.
func (d *Dashboard) person(who identity) api.Person {
	p := api.Person{Name: who.access.Name, Role: who.access.Role, Tenant: who.access.Tenant, Token: who.token}
	if who.access.Name == "" {
		p.Name, p.Role = who.name, schema.Viewer
	}
	if who.secret != "" {
		mac := hmac.New(sha256.New, d.key)
		mac.Write([]byte(who.secret))
		p.Form = hex.EncodeToString(mac.Sum(nil))
	}
	return p
}

// still reports whether an identity holds: the access was neither removed nor given a new token, or the password or
// token is still the one that lets in. It updates the role.
func (d *Dashboard) still(ctx context.Context, who identity) (identity, bool, error) {
	if who.access.Name == "" {
		is := d.secrets.Load()
		return who, who.name == "" || equal(who.proof, is.Password)|equal(who.proof, is.Token) == 1, nil
	}
	now, holds, err := d.c.Access.Still(ctx, who.access)
	who.access = now
	return who, holds, err
}

// required reports whether requests must say who makes them: everywhere but on loopback, and also there once a secret
// is configured or anybody has access.
func (d *Dashboard) required(ctx context.Context) (bool, error) {
	if !d.c.Loopback || d.secrets.Load().Any() || d.c.TrustHeader != "" {
		return true, nil
	}
	if d.c.Access == nil {
		return false, nil
	}
	return d.c.Access.Any(ctx)
}

// named returns who has a secret of Secrets.
func (d *Dashboard) named(secret string) identity {
	if equal(secret, d.secrets.Load().Password) == 1 {
		return identity{name: "password", proof: secret}
	}
	if equal(secret, d.secrets.Load().Token) == 1 {
		return identity{name: "token", proof: secret}
	}
	return identity{}
}

// identify returns who makes a request. An unknown identity without an error says nothing about itself.
func (d *Dashboard) identify(r *http.Request) (who identity, err error) {
	if name := d.proxied(r); name != "" {
		a, found, err := d.c.Access.Named(r.Context(), name)
		if err == nil && !found {
			err = api.NewProblem(api.Forbidden, "No access", "You are signed in, but under this name nobody has access here. "+
				"Whoever runs the dashboard gives it with furrow access add.")
		}
		return identity{access: a, secret: "proxy " + name}, err
	}
	if r.Header.Get("Authorization") != "" {
		return d.authorization(r)
	}
	s, ok := d.sessions.sessionOf(r)
	if !ok {
		return identity{}, nil
	}
	who, holds, err := d.still(r.Context(), s.who)
	if !holds {
		return identity{}, err
	}
	who.secret, who.ends = "session "+s.id, s.ends
	return who, err
}

// proxied returns the name that a stated proxy gives to whoever it has signed in.
func (d *Dashboard) proxied(r *http.Request) string {
	if d.c.TrustHeader == "" {
		return ""
	}
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !d.fromProxy(at.Addr()) {
		return ""
	}
	return r.Header.Get(d.c.TrustHeader)
}

// authorization identifies a request by its Authorization header: a bearer token, or a password with a user name.
func (d *Dashboard) authorization(r *http.Request) (who identity, err error) {
	_, secret, basic := r.BasicAuth()
	switch scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); {
	case basic && equal(secret, d.secrets.Load().Token) == 1:
		secret = "" // it is for programs, as a bearer token
	case strings.EqualFold(scheme, "Bearer"):
		if secret = strings.TrimSpace(token); equal(secret, d.secrets.Load().Password) == 1 {
			secret = ""
		}
	}
	who, err = d.prove(r, secret)
	who.token = !basic
	return who, err
}

// prove returns who has a secret, or the problem that nobody has it or too many were wrong. Tokens of access come
// first: nobody guesses them, and those who guess a password from the same address do not keep them waiting. The table
// of access is read again only for a secret that may be looked at.
func (d *Dashboard) prove(r *http.Request, secret string) (who identity, err error) {
	has := d.c.Access != nil && secret != ""
	if has {
		if who.access, _, err = d.c.Access.Known(r.Context(), secret); who.known() {
			return who, nil
		}
	}
	from := d.origin(r)
	counted, wait := d.tries.begin(from, secret, time.Now())
	if wait > 0 {
		d.tries.logWrong(from, r.URL.Path, time.Now())
		return who, api.NewProblem(api.TooManyRequests, "Too many attempts",
			"There were many wrong passwords or tokens from this address. Try again in a moment.").RetryIn(wait)
	}
	if who = d.named(secret); who.known() {
		err = nil
	} else if has && err == nil {
		who.access, _, err = d.c.Access.Find(r.Context(), secret)
	}
	if !who.known() && err == nil {
		d.tries.logWrong(from, r.URL.Path, time.Now())
		return who, unauthorized("This password or token is wrong, or it has ended.")
	}
	// While access cannot be read, a secret that is not the password may still be somebody's token. It counts as wrong
	// all the same where it may be a guess of the password.
	if counted && (who.known() || !d.secrets.Load().mayBe(secret)) {
		d.tries.notWrong(from, secret, who.known())
	}
	return who, err
}

func unauthorized(detail string) *api.Problem {
	return api.NewProblem(api.Unauthorized, "Sign in", detail)
}
