package notify

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A claim is a target and its state, for which nobody else works while the state has the ID.
type claim struct {
	*Notifier
	target *Target
	id     string
	now    tables.Ticks // storage's, when the state was read
	state  schema.TargetState
}

// A job is the work for one target.
type job struct {
	claim
	began time.Time
	retry tables.Ticks // of the state, when it began

	all    map[[2]string]schema.Delivery // those that are due, by their keys
	listed map[[2]string]tables.Ticks    // when those are due that are still to be sent, as far as they were read
	beside beside
	// standing are the open alerts that an Alertmanager has, by their openings.
	standing map[openingKey]schema.Delivery
	alike    map[alertKey][]openingKey // those of one rule and device, also of some that do not stand any more
	mutes    mutes
	next     tables.Ticks // when there is something to do again
	waiting  int64
	oldest   tables.Ticks
	result   Result
}

// stands notes that the Alertmanager has an alert.
func (j *job) stands(d schema.Delivery) {
	key, of := openingOf(d), alertOf(d)
	if _, known := j.standing[key]; !known {
		j.alike[of] = append(j.alike[of], key)
	}
	j.standing[key] = d
}

// read reads the target's state. A target without one has no deliveries.
func (c *claim) read(ctx context.Context) (found bool, err error) {
	pk, rk := schema.TargetKeys(c.Pipeline, c.target.Name)
	for page, err := range c.runs().DatedRows(ctx, tables.Query{Range: tables.RowsBetween(pk, rk, rk)}) {
		if err != nil {
			return false, err
		}
		for _, e := range page.Rows {
			c.now = tables.TicksOf(page.Time)
			c.state, err = schema.TargetStateOf(e)
			return true, err
		}
	}
	return false, nil
}

// claimTarget claims the target, if something is due, and not of a newer configuration. An answer may be lost, so the
// row tells whose the claim is.
func (c *claim) claimTarget(ctx context.Context) (ours bool, err error) {
	for try := range tries {
		found, err := c.read(ctx)
		switch {
		case err == nil && !found:
			return false, nil
		case err == nil && c.state.Claim == c.id:
			return true, nil
		case err == nil && (c.state.Waits(c.now) || c.state.Generation > c.Generation):
			return false, nil
		}
		if err == nil {
			c.state.Claim, c.state.Until = c.id, c.now.Add(claimFor)
			c.state.Due = c.state.Until
			var w tables.Written
			if w, err = c.runs().Do(ctx, tables.Merge(c.state.Entity(), c.state.ETag)); err == nil {
				c.state.ETag = w.ETags[0]
				return true, nil
			}
		}
		if err := pause(ctx, try, err); err != nil {
			return false, err
		}
	}
	return false, fmt.Errorf("target %s: it cannot be claimed; tried %d times", c.target.Name, tries)
}

// release ends the claim and says when the next job has something to do. Who has written deliveries since this job
// began has said so on the state.
func (j *job) release(ctx context.Context) error {
	var err error
	for try := range tries {
		s := j.state
		s.Claim, s.Until = "", 0
		s.Sent, s.Failed, s.GivenUp = s.Sent+int64(j.result.Sent), s.Failed+int64(j.result.Failed),
			s.GivenUp+int64(j.result.GivenUp)
		s.Waiting, s.Oldest, s.Next = max(0, j.waiting), j.oldest, 0 // some may have come while it was at work
		if s.Waiting > 0 && j.next < tables.MaxTicks {
			s.Next = max(j.next, s.Pause, j.now)
		}
		if s.Due != 0 {
			if s.Due = max(j.next, 1); s.Due < tables.MaxTicks {
				s.Due = min(s.Due, j.now.Add(schema.TargetLook))
			}
		}
		etag := j.state.ETag
		if etag != "" {
			if _, err = j.runs().Do(ctx, tables.Merge(s.Entity(), etag)); err == nil {
				if s.Due <= j.now.Add(soon) {
					j.result.Again, j.result.After = true, max(0, time.Duration(s.Due-j.now)*100)
				}
				return nil
			}
		}
		if err := pause(ctx, try, err); err != nil {
			return err
		}
		mine := j.state
		if found, wrong := j.read(ctx); wrong != nil || !found {
			j.state, err = mine, errors.Join(err, wrong)
			j.state.ETag = ""
			continue
		}
		if j.state.Claim != j.id {
			return nil // it was released and the answer lost, or somebody else has it by now
		}
		if j.state.Retry == j.retry { // nobody redrove the target meanwhile
			mine.Due, mine.Generation, mine.ETag = j.state.Due, j.state.Generation, j.state.ETag
			j.state = mine
		}
	}
	return err // the claim ends by itself
}

// pause waits before another try.
func pause(ctx context.Context, try int, err error) error {
	if err == nil {
		return nil
	}
	longest := time.Duration(20<<try) * time.Millisecond
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(longest/2 + mathrand.N(longest/2)):
		return nil
	}
}

// How long deliveries wait before they are looked at again: muted ones at most, as a mute may be removed, and closings
// whose opening is still to be delivered at least.
const (
	mutedFor   = 10 * time.Minute
	openingFor = 30 * time.Second
)
