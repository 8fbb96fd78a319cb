package dashboard

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// sessionLife is how long after signing in somebody has to do so again.
	sessionLife = 12 * time.Hour
	maxSessions = 10_000
	ownSessions = 20 // of one person or secret
)

// sessions are those who have signed in. They are in memory: after a restart, everybody signs in again.
type sessions struct {
	secure bool // browsers send the cookie over TLS only

	mu   sync.Mutex
	byID *simplelru.LRU[string, session]
}

type session struct {
	id   string
	who  identity
	ends time.Time
}

func newSessions(secure bool) *sessions {
	byID, _ := simplelru.NewLRU[string, session](maxSessions, nil) // fails only for a size below 1
	return &sessions{secure: secure, byID: byID}
}

// cookieName has a prefix with which browsers take the cookie from no other host and without TLS from nobody.
func (s *sessions) cookieName() string {
	if s.secure {
		return "__Host-furrow"
	}
	return "furrow"
}

// begin starts a session, and sets its cookie. Beyond their share, the oldest one of the same person ends.
func (s *sessions) begin(w http.ResponseWriter, who identity) {
	one := session{id: rand.Text(), who: who, ends: time.Now().Add(sessionLife)}
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []string
	for _, other := range s.byID.Values() { // the oldest first
		if other.who.access.Name == who.access.Name && other.who.name == who.name {
			own = append(own, other.id)
		}
	}
	if len(own) >= ownSessions {
		s.byID.Remove(own[0])
	}
	s.byID.Add(one.id, one)
	s.set(w, one.id, sessionLife)
}

// sessionOf returns the session of a request.
func (s *sessions) sessionOf(r *http.Request) (session, bool) {
	c, err := r.Cookie(s.cookieName())
	if err != nil {
		return session{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.byID.Get(c.Value)
	if ok && !time.Now().Before(one.ends) {
		s.byID.Remove(one.id)
		ok = false
	}
	return one, ok
}

// signOut ends the session of a request, if it has one, and removes the cookie.
func (s *sessions) signOut(w http.ResponseWriter, r *http.Request) {
	c, err := r.Cookie(s.cookieName())
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID.Remove(c.Value)
	s.set(w, "", -time.Second)
}

func (s *sessions) set(w http.ResponseWriter, id string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Value: id, Path: "/", MaxAge: int(life.Seconds()),
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteStrictMode})
}
