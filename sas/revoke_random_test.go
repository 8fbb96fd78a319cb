package sas

import (
	"bytes"
	"cmp"
	"context"
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
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var (
	seeds = flag.Int("sas.seeds", 20, "Number of random schedules of revocations")
	seed  = flag.Uint64("sas.seed", 0, "Schedule to repeat; zero: random schedules")
)

// A schedule executes the requests of many actors one at a time, in an order drawn from a seed.
// A request to set a table's policies may be delayed until long after its sender has given up,
// and senders may die.
type schedule struct {
	random *rand.Rand
	ready  chan *request // requests that wait; nil: an actor has ended
	actors int
	late   []*http.Request
	trace  []string
}

// A request waits for its fate, and closes done when it has met it.
type request struct {
	actor, what string
	fate        chan fate
	done        chan struct{}
}

type fate string

const (
	pass fate = "pass"
	lost fate = "answer lost"
	held fate = "delayed and answer lost"
	dies fate = "not executed and sender dies"
)

// An actor is the transport of a process.
type actor struct {
	schedule *schedule
	name     string
	mu       sync.Mutex // one request at a time
	end      context.CancelFunc
	dead     bool
}

func (a *actor) RoundTrip(req *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead {
		return nil, syscall.ECONNRESET
	}
	r := &request{a.name, req.Method + " " + req.URL.Path + " " + req.URL.Query().Get("comp"), make(chan fate),
		make(chan struct{})}
	a.schedule.ready <- r
	defer func() { close(r.done) }()
	switch <-r.fate {
	case held:
		a.schedule.late = append(a.schedule.late, again(req))
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

// answerLost sends a request and returns the error that its sender gets instead of the answer.
func answerLost(req *http.Request) error {
	resp, err := http.DefaultTransport.RoundTrip(again(req))
	if err == nil {
		_ = resp.Body.Close()
	}
	return syscall.ECONNRESET
}

// again returns a copy of a request that can be sent later.
func again(req *http.Request) *http.Request {
	later := req.Clone(context.Background())
	if req.Body != nil {
		body, _ := io.ReadAll(req.Body)
		later.Body = io.NopCloser(bytes.NewReader(body))
	}
	return later
}

// act starts an actor that runs an operation.
func (s *schedule) act(t *testing.T, d *fixture, name string, operation func(ctx context.Context, p *Policies)) {
	ctx, cancel := context.WithCancel(t.Context())
	a := &actor{schedule: s, name: name, end: cancel}
	p := d.process(a)
	s.actors++
	go func() {
		defer cancel()
		operation(ctx, p)
		s.ready <- nil
	}()
}

// play executes requests until every actor has ended and no request is delayed.
func (s *schedule) play(t *testing.T) {
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
			resp := must.Have(http.DefaultTransport.RoundTrip(s.late[i]))(t)
			must.Succeed(t, resp.Body.Close())
			s.trace = append(s.trace, fmt.Sprintf("late: %s: %d", s.late[i].URL.Path, resp.StatusCode))
			s.late = append(s.late[:i], s.late[i+1:]...)
			continue
		}
		if len(waiting) == 0 {
			continue
		}
		// The order must not depend on arrival.
		slices.SortFunc(waiting, func(a, b *request) int { return strings.Compare(a.actor, b.actor) })
		i := s.random.IntN(len(waiting))
		r := waiting[i]
		waiting = append(waiting[:i], waiting[i+1:]...)
		f := s.draw(r)
		s.trace = append(s.trace, fmt.Sprintf("%s: %s: %s", r.actor, r.what, f))
		r.fate <- f
		<-r.done
	}
}

func (s *schedule) draw(r *request) fate {
	n := s.random.IntN(100)
	switch setting := strings.HasPrefix(r.what, "PUT") && strings.HasSuffix(r.what, "acl"); {
	case setting && n < 25:
		return held
	case n < 5:
		return lost
	case n < 7:
		return dies
	}
	return pass
}

// Revocations, restorations, issuances and rounds of several processes interleave at random.
func TestRandomSchedulesOfRevocations(t *testing.T) {
	t.Parallel()
	account := azuretest.Local(t)
	for range *seeds {
		seed := cmp.Or(*seed, rand.Uint64())
		s := &schedule{random: rand.New(rand.NewPCG(seed, 0)), ready: make(chan *request)}
		d := newFixture(t, account)
		var mu sync.Mutex
		got := map[schema.DeviceID][]string{}
		for i := range 3 + s.random.IntN(3) {
			operation := []string{"revoke", "revoke", "restore", "revoke neighbour", "revoke stranger", "run",
				"ensure"}[s.random.IntN(7)]
			s.act(t, d, fmt.Sprint(operation, " ", i), func(ctx context.Context, p *Policies) {
				_ = operations[operation](ctx, p, d)
			})
		}
		for n, id := range []schema.DeviceID{victim, victim, neighbour} {
			s.act(t, d, fmt.Sprint("issue ", n, " ", id), func(ctx context.Context, p *Policies) {
				for range 3 {
					if token, err := d.issue(ctx, p, id); err == nil {
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
