package sas

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"furrow/tables"
	"furrow/tables/schema"
)

// A CurrentPolicy is the stored access policy for a device's next token.
type CurrentPolicy struct {
	ID     string
	Wait   time.Duration // until it is in force
	Number int64         // of the last change of the table's policies: every revocation raises it
}

// Current returns the policy for a device's next token, as it was after the call began. It
// creates missing policies of the readings table. Concurrent callers share reads of the table's
// record.
func (p *Policies) Current(ctx context.Context, readings string, device schema.DeviceID) (CurrentPolicy, error) {
	r, err := p.reads.get(ctx, readings, p.readOrMake)
	if err != nil {
		return CurrentPolicy{}, err
	}
	current := r.record.Cohorts[Cohort(device)]
	return CurrentPolicy{ID: current.ID, Wait: p.until(current, r.now), Number: r.record.Number}, nil
}

func (p *Policies) readOrMake(ctx context.Context, readings string) (schema.Policies, time.Time, error) {
	record, now, err := p.read(ctx, readings)
	if !tables.Absent(err) {
		return record, now, err
	}
	if err := p.Ensure(ctx, readings); err != nil {
		return record, now, err
	}
	return p.read(ctx, readings)
}

// tick is the resolution of storage's clock in its responses.
const tick = time.Second

// until is how long it takes until a policy is in force, by storage's clock alone.
func (p *Policies) until(policy schema.Policy, now time.Time) time.Duration {
	switch {
	case policy.Since == 0:
		return max(p.Delay, tick) // some process is about to set it
	case p.Delay == 0:
		return 0
	}
	// Both times are truncated to seconds, so the policy may be up to one second younger.
	return max(0, policy.Since.Time().Add(p.Delay+tick).Sub(now))
}

// sharedReads lets concurrent callers share reads, where every caller gets a read that began
// after its call. At most one read per table is in progress, and all callers that arrive
// meanwhile share the next one. The zero value is ready.
type sharedReads struct {
	group   singleflight.Group
	reading sync.Map // by table: a channel with room for the read in progress
}

// A sharedRead is a record of policies and storage's time.
type sharedRead struct {
	record schema.Policies
	now    time.Time
}

// maxRead bounds a read, which does not end with its callers.
const maxRead = time.Minute

type readFunc func(ctx context.Context, readings string) (schema.Policies, time.Time, error)

func (s *sharedReads) get(ctx context.Context, readings string, read readFunc) (sharedRead, error) {
	result := s.group.DoChan(readings, func() (any, error) {
		turn, _ := s.reading.LoadOrStore(readings, make(chan struct{}, 1))
		turn.(chan struct{}) <- struct{}{}
		defer func() { <-turn.(chan struct{}) }()
		s.group.Forget(readings) // later callers need a later read
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxRead)
		defer cancel()
		record, now, err := read(ctx, readings)
		return sharedRead{record, now}, err
	})
	select {
	case r := <-result:
		return r.Val.(sharedRead), r.Err
	case <-ctx.Done():
		return sharedRead{}, ctx.Err()
	}
}
