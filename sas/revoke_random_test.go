package sas

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"furrow/tables/azuretest"
	"furrow/tables/schema"
)

var (
	seeds = flag.Int("sas.seeds", 20, "how many random schedules of revocations are tried")
	seed  = flag.Uint64("sas.seed", 0, "the schedule to try; zero means random ones")
)

// A interleaving lets the requests of many actors through one at a time, in an order drawn
// from a seed. Requests to set a table's policies may stay on their way until
// long after their sender has given up; senders may die.
type interleaving struct {
	random *rand.Rand
	ready  chan *request // requests that wait to be let through; nil: an actor has ended
	actors int
	late   []*http.Request
	trace  []string
}

type request struct {
	actor string
	what  string
	let   chan expectation
	back  chan struct{}
}

type expectation uint8

const (
	pass expectation = iota
	lost             // done, and the answer is lost
	held             // to be done much later, and the answer is lost
	dies             // not done, and its sender ends
)

// An actor is a process on a interleaving.
type actor struct {
	interleaving *interleaving
	name         string
	mu           sync.Mutex // one request at a time
	end          context.CancelFunc
	dead         bool
}

func (a *actor) RoundTrip(req *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead {
		return nil, syscall.ECONNRESET
	}
	r := &request{a.name, req.Method + " " + req.URL.Path + " " + req.URL.Query().Get("comp"), make(chan expectation),
		make(chan struct{})}
	a.interleaving.ready <- r
	defer func() { close(r.back) }()
	switch v := <-r.let; v {
	case held:
		a.interleaving.late = append(a.interleaving.late, again(req))
		return nil, syscall.ECONNRESET
	case dies:
		a.dead = true
		a.end()
		return nil, syscall.ECONNRESET
	case lost:
		return nil, answerLost(req)
	}
	return http.DefaultTransport.RoundTrip(req)
}

// answerLost does a request whose sender does not hear of it, and what that hears.
func answerLost(req *http.Request) error {
	resp, err := http.DefaultTransport.RoundTrip(again(req))
	if err == nil {
		_ = resp.Body.Close()
	}
	return syscall.ECONNRESET
}

// again is a request that can be sent after its sender has forgotten it.
func again(req *http.Request) *http.Request {
	later := req.Clone(context.Background())
	if req.Body != nil {
		body, _ := io.ReadAll(req.Body)
		later.Body = io.NopCloser(bytes.NewReader(body))
	}
	return later
}

// act starts an actor, whose deed ends with it.
func (s *interleaving) act(t *testing.T, d *fixture, name string, deed func(ctx context.Context, p *Policies)) {
	ctx, cancel := context.WithCancel(t.Context())
	a := &actor{interleaving: s, name: name, end: cancel}
	p := d.process(a)
	s.actors++
	go func() {
		defer cancel()
		deed(ctx, p)
		s.ready <- nil
	}()
}

// play lets requests through until every actor has ended and nothing is on its way.
func (s *interleaving) play(t *testing.T) {
	var waiting []*request
	for s.actors > 0 || len(s.late) > 0 {
		for len(waiting) < s.actors {
			if r := <-s.ready; r != nil {
				waiting = append(waiting, r)
			} else {
				s.actors--
			}
		}
		if n := len(s.late); n > 0 && (len(waiting) == 0 || s.random.IntN(12) == 0) {
			i := s.random.IntN(n)
			resp, err := http.DefaultTransport.RoundTrip(s.late[i])
			must(t, err)
			must(t, resp.Body.Close())
			s.trace = append(s.trace, fmt.Sprintf("late: %s: %d", s.late[i].URL.Path, resp.StatusCode))
			s.late = append(s.late[:i], s.late[i+1:]...)
			continue
		}
		if len(waiting) == 0 {
			continue
		}
		// In an order that does not depend on who came first.
		slices.SortFunc(waiting, func(a, b *request) int { return strings.Compare(a.actor, b.actor) })
		i := s.random.IntN(len(waiting))
		r := waiting[i]
		waiting = append(waiting[:i], waiting[i+1:]...)
		v := s.draw(r)
		s.trace = append(s.trace, fmt.Sprintf("%s: %s: %v", r.actor, r.what, v))
		r.let <- v
		<-r.back
	}
}

func (s *interleaving) draw(r *request) expectation {
	n := s.random.IntN(100)
	switch setting := r.what[:3] == "PUT" && r.what[len(r.what)-3:] == "acl"; {
	case setting && n < 25:
		return held
	case n < 5:
		return lost
	case n < 7:
		return dies
	}
	return pass
}

// TestAnyScheduleEndsWithTheLaws lets revocations, restorations, issuances and
// rounds of several processes run into each other at random.
func TestAnyScheduleEndsWithTheLaws(t *testing.T) {
	t.Parallel()
	account := azuretest.Local(t)
	for range *seeds {
		seed := cmp.Or(*seed, rand.Uint64())
		s := &interleaving{random: rand.New(rand.NewPCG(seed, 0)), ready: make(chan *request)}
		d := newFixture(t, account)
		var mu sync.Mutex
		got := map[schema.DeviceID][]string{}
		for i := range 3 + s.random.IntN(3) {
			deed := []string{"revoke", "revoke", "restore", "revoke neighbour", "revoke stranger", "run",
				"ensure"}[s.random.IntN(7)]
			s.act(t, d, fmt.Sprint(deed, " ", i), func(ctx context.Context, p *Policies) { _ = deeds[deed](ctx, p, d) })
		}
		for n, id := range []schema.DeviceID{victim, victim, neighbour} {
			s.act(t, d, fmt.Sprint("issue ", n, " ", id), func(ctx context.Context, p *Policies) {
				for range 3 {
					if token, err := d.ask(ctx, p, id); err == nil {
						mu.Lock()
						got[id] = append(got[id], token)
						mu.Unlock()
					}
				}
			})
		}
		s.play(t)
		for id, tokens := range got {
			d.tokens[id] = append(d.tokens[id], tokens...)
		}
		d.heal()
		d.holds(fmt.Sprint("seed ", seed), 0, Cohort(strangers[0]))
		if t.Failed() {
			for _, line := range s.trace {
				t.Log(line)
			}
			t.Fatalf("seed %d", seed)
		}
	}
}

// ask is issue, by another process. A write whose answer was lost may have been done,
// and then the device has no token of it.
func (d *fixture) ask(ctx context.Context, p *Policies, id schema.DeviceID) (string, error) {
	policy, wait, err := p.Current(ctx, d.readings, id)
	if err == nil && wait > 0 {
		err = &NotReadyError{After: wait}
	}
	if err != nil {
		return "", err
	}
	record, err := p.registry().Get(ctx, id)
	if err == nil && record.Status != schema.Active {
		err = ErrRevoked
	}
	if err != nil {
		return "", err
	}
	if err := p.registry().replace(ctx, &record); err != nil {
		return "", errors.Join(err)
	}
	return d.sign(id, policy), nil
}
