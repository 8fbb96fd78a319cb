package sas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/tables/service"
)

// swaps is how often a change of a record begins anew. Each time but for faults,
// another process has got on.
const swaps = 30

// A settled record of policies has no change left to be done, and is what the
// table itself was seen to hold.
type settled struct {
	record   schema.Policies
	unmarked map[schema.DeviceID]error // why changes of these devices are not done after all
	sets     int                       // how often the table's list had to be set
}

// settle carries the changes of a record on, whoever has made them, and sets the
// table's list to what the record says.
func (p *Policies) settle(ctx context.Context, readings string) (settled, error) {
	var s settled
	var last error
	for failures := 0; failures < swaps; {
		if err := pause(ctx, failures); err != nil {
			return s, cmp.Or(last, err)
		}
		record, _, err := p.read(ctx, readings)
		if err != nil {
			return s, err
		}
		s.record = record
		switch done, err := p.step(ctx, &s); {
		case done:
			return s, nil
		case errors.Is(err, tables.ErrConflict), errors.Is(err, errUnknown):
			last = err
			failures++
		case err != nil:
			return s, err
		case s.sets > 1:
			failures++ // others set it, too
		}
	}
	return s, fmt.Errorf("policies of the table %s: not settled after %d tries: %w", readings, swaps, cmp.Or(last, tables.ErrConflict))
}

// step does what is to be done next with the record that was read, if anything.
func (p *Policies) step(ctx context.Context, s *settled) (done bool, err error) {
	marked := p.mark(ctx, s)
	if len(marked) > 0 {
		return false, p.finish(ctx, s.record, marked)
	}
	list, now, err := p.Client.Table(s.record.Readings).StoredPolicies(ctx)
	if err != nil {
		return false, err
	}
	if date(&s.record, list, now) {
		return false, p.swap(ctx, s.record)
	}
	if agree(s.record, list) {
		return true, nil
	}
	s.sets++
	return false, p.enforce(ctx, s.record.Readings)
}

// mark writes the changes that are not done into the devices' own records, and
// returns the numbers of those that are there, or have been overtaken.
func (p *Policies) mark(ctx context.Context, s *settled) map[int64]bool {
	marked := map[int64]bool{}
	s.unmarked = map[schema.DeviceID]error{}
	for _, c := range s.record.Changes {
		if c.Done {
			continue
		}
		_, err := p.registry().Update(ctx, c.Device, func(d *schema.Device) error {
			if d.Change >= c.Number {
				return errMarked
			}
			d.Status, d.Change = c.To, c.Number
			return nil
		})
		switch {
		case err == nil || errors.Is(err, errMarked) || errors.Is(err, tables.ErrNotFound):
			marked[c.Number] = true // who is not there has no tokens
		default:
			s.unmarked[c.Device] = err
		}
	}
	return marked
}

var errMarked = errors.New("the device is marked with this change or a later one")

// finish moves the cohorts of the devices that were marked on to other policies,
// and so ends the changes. The first cohort gets the spare that is in force; if there
// is another, it gets one that is new.
func (p *Policies) finish(ctx context.Context, record schema.Policies, marked map[int64]bool) error {
	next := record.Clone()
	var moves [schema.Cohorts]bool
	for i := range next.Changes {
		if c := &next.Changes[i]; marked[c.Number] {
			c.Done = true
			moves[Cohort(c.Device)] = moves[Cohort(c.Device)] || c.Rotate
		}
	}
	for i, moves := range moves {
		if moves {
			next.Cohorts[i], next.Spare = next.Spare, newPolicy()
		}
	}
	return p.swap(ctx, next)
}

// date notes in the record since when policies are in the table's list, and tells
// whether there was anything to note. One that is missing from the list, as another
// has set an old one, is in force no longer, and must be waited for anew.
func date(record *schema.Policies, list []tables.StoredPolicy, now time.Time) bool {
	changed := false
	for _, policy := range record.All() {
		if there := slices.ContainsFunc(list, stored(*policy).Equal); there != (policy.Since != 0) {
			policy.Since, changed = 0, true
			if there {
				policy.Since = max(tables.TicksOf(now), 1)
			}
		}
	}
	return changed
}

// agree tells whether the list is the record's: it has all of its policies, and can
// have no more.
func agree(record schema.Policies, list []tables.StoredPolicy) bool {
	for _, policy := range record.All() {
		if !slices.ContainsFunc(list, stored(*policy).Equal) {
			return false
		}
	}
	return true
}

// within is how long after the record was read the table's list may be set to it.
const within = 10 * time.Second

// enforce sets the table's list to the record as it is now. Where the answer is
// lost it is not known what has come of it, or will come yet; whoever compares
// next sees.
func (p *Policies) enforce(ctx context.Context, readings string) error {
	soon, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	record, _, err := p.read(soon, readings)
	if err != nil {
		return err
	}
	var list []tables.StoredPolicy
	for _, policy := range record.All() {
		list = append(list, stored(*policy))
	}
	err = p.Client.Table(readings).SetPolicies(soon, list)
	_, answered := errors.AsType[*service.Failure](err)
	if err != nil && ctx.Err() == nil && (!answered || errors.Is(err, tables.ErrBusy)) {
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	return err
}

var errUnknown = errors.New("whether the stored access policies are set is not known")

// pause waits after so many tries that failed, so that those who are in each
// other's way part. It returns why ctx ended.
func pause(ctx context.Context, failures int) error {
	if failures == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(rand.N(min(5*time.Millisecond<<min(failures, 8), time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
