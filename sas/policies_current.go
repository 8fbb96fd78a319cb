package sas

import (
	"context"
	"furrow/tables/schema"
	"time"
)

// Current is the policy that a device's token must hang on, as it was after the
// call began, and how long it is until the policy is in force. Where a readings table
// has no policies yet, they are made. Callers share reads: however many there
// are, a table's record is read by one at a time.
func (p *Policies) Current(ctx context.Context, readings string, device schema.DeviceID) (policy string, wait time.Duration, err error) {
	r, err := p.reads.get(ctx, readings, p.readOrMake)
	if err != nil {
		return "", 0, err
	}
	current := r.record.Cohorts[Cohort(device)]
	return current.ID, p.until(current, r.now), nil
}

func (p *Policies) readOrMake(ctx context.Context, readings string) (schema.Policies, time.Time, error) {
	record, now, err := p.read(ctx, readings)
	if !missing(err) {
		return record, now, err
	}
	if err := p.Ensure(ctx, readings); err != nil {
		return record, now, err
	}
	return p.read(ctx, readings)
}

// tick is the resolution of storage's clock as its answers tell it.
const tick = time.Second

// until is how long it is until a policy is in force, by storage's clock alone.
func (p *Policies) until(policy schema.Policy, now time.Time) time.Duration {
	switch {
	case policy.Since == 0:
		return max(p.Delay, tick) // somebody is about to set it
	case p.Delay == 0:
		return 0
	}
	// Both times are cut to seconds, so that the policy may be up to one younger.
	return max(0, policy.Since.Time().Add(p.Delay+tick).Sub(now))
}
