package sas

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// steps is a transport that calls before with the number of each request.
type steps struct {
	n      atomic.Int64
	before func(n int)
	writes []int // numbers of the requests that were not reads
}

func (s *steps) RoundTrip(req *http.Request) (*http.Response, error) {
	n := int(s.n.Add(1) - 1)
	s.before(n)
	if req.Method != http.MethodGet {
		s.writes = append(s.writes, n)
	}
	return http.DefaultTransport.RoundTrip(req)
}

// The steps of an issuance run between the requests of a revocation in every order. The device's
// record is read either right after the policy or right before the record is written. Reading the
// policy between two reads of the revocation equals reading it before both.
func TestRevocationDuringAnIssuance(t *testing.T) {
	t.Parallel()
	account := azuretest.Local(t)
	issued, refused := 0, 0
	try := func(readAt, writeAt int, early bool) *steps {
		d := newFixture(t, account)
		var record schema.Device
		var policy string
		var err error
		readDevice := func() { record, err = readActive(t.Context(), d.clean, victim) }
		through := &steps{before: func(n int) {
			if n == readAt {
				if policy, err = d.readPolicy(t.Context(), d.clean, victim); err == nil && early {
					readDevice()
				}
			}
			if n == writeAt && err == nil && !early {
				readDevice()
			}
			if n == writeAt && err == nil {
				record.Tokens = append(record.Tokens, tokenOf(policy))
				if err = d.clean.registry().replace(t.Context(), &record); err == nil {
					d.tokens[victim] = append(d.tokens[victim], d.sign(victim, policy))
				}
			}
			for _, id := range strangers {
				if readAt < 0 && !d.writes(id, d.tokens[id][0]) {
					t.Errorf("%s of another cohort is locked out before request %d", id, n)
				}
			}
		}}
		must.Succeed(t, d.process(through).Revoke(t.Context(), d.device(victim), false))
		if err == nil {
			issued++
		} else if refused++; !errors.Is(err, ErrRevoked) && !errors.Is(err, tables.ErrConflict) {
			if _, wait := errors.AsType[*NotReadyError](err); !wait {
				t.Errorf("policy read before request %d, device written before %d: %v", readAt, writeAt, err)
			}
		}
		d.holds(fmt.Sprintf("policy read before request %d, device written before %d", readAt, writeAt), 0)
		if s := d.status(victim); s != schema.Revoked {
			t.Errorf("policy read before request %d, device written before %d: the device is %s", readAt, writeAt, s)
		}
		return through
	}
	alone := try(-1, -1, false)
	requests := int(alone.n.Load())
	for _, write := range append([]int{-1}, alone.writes...) {
		readAt := write + 1
		for writeAt := readAt; writeAt < requests; writeAt++ {
			try(readAt, writeAt, false)
			try(readAt, writeAt, true)
		}
	}
	// The last requests come after the end of all tokens.
	if len(alone.writes) < 5 || issued < requests/2 || refused < requests {
		t.Errorf("%d tokens issued and %d refused during %d requests: not all orders were tried", issued, refused, requests)
	}
}

// operations are what processes do to a fixture.
var operations = map[string]func(ctx context.Context, p *Policies, d *fixture) error{
	"nothing":          func(context.Context, *Policies, *fixture) error { return nil },
	"revoke":           revoke(victim, false),
	"revoke at expiry": revoke(victim, true),
	"revoke neighbour": revoke(neighbour, false),
	"revoke stranger":  revoke(strangers[0], false),
	"end tokens": func(ctx context.Context, p *Policies, d *fixture) error {
		return p.EndTokens(ctx, d.readings, [schema.Cohorts]bool{true, true})
	},
	"ensure": func(ctx context.Context, p *Policies, d *fixture) error { return p.Ensure(ctx, d.readings) },
	"run":    func(ctx context.Context, p *Policies, d *fixture) error { p.round(ctx); return nil },
	"restore": func(ctx context.Context, p *Policies, d *fixture) error {
		return p.Restore(ctx, d.device(victim))
	},
}

func revoke(id schema.DeviceID, atExpiry bool) func(ctx context.Context, p *Policies, d *fixture) error {
	return func(ctx context.Context, p *Policies, d *fixture) error { return p.Revoke(ctx, d.device(id), atExpiry) }
}

// becomes is the status of the victim after a operation.
var becomes = map[string]schema.Status{
	"revoke": schema.Revoked, "restore": schema.Active, "end tokens": schema.Active,
}

// heal runs one round in another process, which has to complete everything.
func (d *fixture) heal() {
	d.t.Helper()
	p := d.process(nil)
	p.round(d.t.Context())
	if c := p.Counts(); c.Undone > 0 || c.Errors > 0 || c.Tables != 1 {
		d.t.Errorf("after a round: %+v", c)
	}
}

// crash ends the process at one of its requests: before it is sent, or after storage executed it.
type crash struct {
	steps
	at   int
	done bool
	end  context.CancelFunc
}

func (c *crash) RoundTrip(req *http.Request) (*http.Response, error) {
	switch n := int(c.n.Add(1) - 1); {
	case n < c.at:
		return http.DefaultTransport.RoundTrip(req)
	case n == c.at && c.done:
		_ = answerLost(req)
	}
	c.end()
	return nil, syscall.ECONNRESET
}

// Each operation follows an earlier one that may conflict with it.
func TestCrashAtAnyStepIsHealedByAnotherProcess(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	account := azuretest.Local(t)
	for _, of := range [][2]string{{"nothing", "revoke"}, {"revoke", "restore"}, {"revoke at expiry", "revoke"},
		{"restore", "revoke at expiry"}, {"revoke neighbour", "end tokens"}} {
		for _, done := range []bool{false, true} {
			for at := 0; ; at += effort.Step(1) {
				d := newFixture(t, account)
				must.Succeed(t, operations[of[0]](t.Context(), d.clean, d))
				ctx, cancel := context.WithCancel(t.Context())
				through := &crash{at: at, done: done, end: cancel}
				err := operations[of[1]](ctx, d.process(through), d)
				cancel()
				if int(through.n.Load()) <= at {
					must.Succeed(t, err)
					break
				}
				when := fmt.Sprintf("%s, then %s with a crash at request %d (done: %v)", of[0], of[1], at, done)
				d.heal()
				if of[0] != "revoke at expiry" && of[1] != "revoke at expiry" {
					d.holds(when, 0, moves(of[1]))
				}
				must.Succeed(t, operations[of[1]](t.Context(), d.clean, d)) // again, by the same caller
				if of[1] != "revoke at expiry" {
					d.holds(when+", and again", 0, moves(of[1]))
				}
			}
		}
	}
}

func TestCrashAtAnyStepOfEnsureIsHealed(t *testing.T) {
	t.Parallel()
	account := azuretest.Local(t)
	for _, done := range []bool{false, true} {
		for at, last := 0, false; !last; at += effort.Step(1) {
			d := newFixture(t, account)
			d.readings = azuretest.Name("other") // which does not exist
			ctx, cancel := context.WithCancel(t.Context())
			through := &crash{at: at, done: done, end: cancel}
			err := d.process(through).Ensure(ctx, d.readings)
			cancel()
			last = int(through.n.Load()) <= at
			if last {
				must.Succeed(t, err)
			}
			policy, err := d.clean.Current(t.Context(), d.readings, victim)
			if err != nil || policy.Wait > tick {
				t.Errorf("crash at request %d (done: %v): %+v, %v", at, done, policy, err)
			}
			d.clean.round(t.Context())
			if !d.writes(victim, d.sign(victim, policy.ID)) {
				t.Errorf("crash at request %d (done: %v): the token does not work", at, done)
			}
			if policy, err = d.clean.Current(t.Context(), d.readings, victim); policy.Wait > 0 || err != nil {
				t.Errorf("crash at request %d (done: %v): %+v, %v", at, done, policy, err)
			}
		}
	}
}

// moves returns a cohort that an operation moves to another policy.
func moves(operation string) int {
	if operation == "revoke stranger" || operation == "end tokens" {
		return Cohort(strangers[0])
	}
	return 0
}

// Each request has each fault after which the caller cannot know whether it was executed.
func TestOperationsSucceedDespiteAmbiguousAnswers(t *testing.T) {
	t.Parallel()
	account := azuretest.Local(t)
	for _, operation := range []string{"revoke", "restore", "end tokens"} {
		for _, fault := range []faults.Fault{faults.AnswerLost, faults.Twice, faults.TimedOutDone} {
			for at := 0; ; at += effort.Step(1) {
				d := newFixture(t, account)
				if operation == "restore" {
					must.Succeed(t, operations["revoke"](t.Context(), d.clean, d))
				}
				through := &faults.Transport{Plan: faults.Script{at: fault}}
				must.Succeed(t, operations[operation](t.Context(), d.process(through), d))
				d.holds(fmt.Sprintf("%s, %s at request %d", operation, fault, at), 0, moves(operation))
				if d.writes(victim, d.tokens[victim][0]) {
					t.Errorf("%s, %s at request %d: the old token works", operation, fault, at)
				}
				if d.status(victim) != becomes[operation] {
					t.Errorf("%s, %s at request %d: the device is %s", operation, fault, at, d.status(victim))
				}
				if len(through.Injected()) == 0 {
					break
				}
			}
		}
	}
}

// One process does a whole operation before each request of another.
func TestOperationsOfTwoProcessesInterleave(t *testing.T) {
	t.Parallel()
	account := azuretest.Local(t)
	for outer, all := range map[string][]string{
		"revoke":  {"revoke", "restore", "revoke neighbour", "revoke stranger", "run"},
		"restore": {"revoke", "restore", "revoke neighbour"},
		"run":     {"revoke", "restore"},
	} {
		for _, inner := range all {
			for at := 0; ; at += effort.Step(1) {
				d := newFixture(t, account)
				if outer == "restore" {
					must.Succeed(t, d.clean.Revoke(t.Context(), d.device(victim), false))
				}
				through := &steps{before: func(n int) {
					if n == at {
						must.Succeed(t, operations[inner](t.Context(), d.clean, d))
					}
				}}
				err := operations[outer](t.Context(), d.process(through), d)
				opposite := outer == "revoke" && inner == "restore" || outer == "restore" && inner == "revoke"
				when := fmt.Sprintf("%s, and %s before its request %d", outer, inner, at)
				if err != nil && !(opposite && errors.Is(err, ErrOvertaken)) {
					t.Errorf("%s: %v", when, err)
				}
				if want := becomes[outer]; err == nil && want != "" && d.status(victim) != want {
					t.Errorf("%s: no error, but the device is %s", when, d.status(victim))
				}
				d.holds(when, 0, moves(inner))
				if int(through.n.Load()) <= at {
					break
				}
			}
		}
	}
}
