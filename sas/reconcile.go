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

// swaps bounds the attempts to change a record. Except for faults, each failed attempt means
// that another process made progress.
const swaps = 30

// A reconciled record has no change left to complete, and the table's list agrees with it.
type reconciled struct {
	record   schema.Policies
	unmarked map[schema.DeviceID]error // why changes of these devices are not completed
	told     []string                  // policies of the tokens for commands that end with the changes
	sets     int                       // how often the list was set
}

// reconcile completes the changes in a record, including those of other processes, and sets
// the table's list from the record.
func (p *Policies) reconcile(ctx context.Context, readings string) (reconciled, error) {
	var s reconciled
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
			failures++ // other processes set it too
		}
	}
	return s, fmt.Errorf("policies of the table %s: not reconciled after %d attempts: %w",
		readings, swaps, cmp.Or(last, tables.ErrConflict))
}

// step performs the next action that the record needs, if any.
func (p *Policies) step(ctx context.Context, s *reconciled) (done bool, err error) {
	marked := p.mark(ctx, s)
	if len(marked) > 0 {
		if err := p.endCommands(ctx, s.told); err != nil {
			return false, err
		}
		return false, p.finish(ctx, s.record, marked)
	}
	list, now, err := p.Client.Table(s.record.Readings).StoredPolicies(ctx)
	if err != nil {
		return false, err
	}
	if p.date(&s.record, list, now) {
		return false, p.swap(ctx, s.record)
	}
	if p.agree(s.record, list) {
		return true, nil
	}
	s.sets++
	return false, p.enforce(ctx, s.record.Readings)
}

// mark writes the uncompleted changes into the devices' own records, and returns the numbers
// of those that are marked or overtaken.
func (p *Policies) mark(ctx context.Context, s *reconciled) map[int64]bool {
	marked := map[int64]bool{}
	s.unmarked, s.told = map[schema.DeviceID]error{}, nil
	for _, c := range s.record.Changes {
		if c.Done {
			continue
		}
		d, err := p.registry().Update(ctx, c.Device, func(d *schema.Device) error {
			if d.Change >= c.Number {
				return errMarked
			}
			d.Status, d.Change = c.To, c.Number
			return nil
		})
		switch {
		case err == nil || errors.Is(err, errMarked) || errors.Is(err, tables.ErrNotFound):
			marked[c.Number] = true // a device without a record has no tokens
			if last := len(d.Tokens) - 1; c.Rotate && last >= 0 && d.Tokens[last].Commands != "" {
				s.told = append(s.told, d.Tokens[last].Commands)
			}
		default:
			s.unmarked[c.Device] = err
		}
	}
	return marked
}

var errMarked = errors.New("the device is already marked with this change or a later one")

// finish moves the cohorts of marked devices to other policies, and so completes the changes.
func (p *Policies) finish(ctx context.Context, record schema.Policies, marked map[int64]bool) error {
	next := record.Clone()
	var moves [schema.Cohorts]bool
	for i := range next.Changes {
		if c := &next.Changes[i]; marked[c.Number] {
			c.Done = true
			moves[Cohort(c.Device)] = moves[Cohort(c.Device)] || c.Rotate
		}
	}
	move(&next, moves)
	return p.swap(ctx, next)
}

// move moves cohorts to other policies. The first cohort gets the spare, which is in force; any
// further cohort gets a new policy.
func move(record *schema.Policies, cohorts [schema.Cohorts]bool) {
	for i, moves := range cohorts {
		if moves {
			record.Cohorts[i], record.Spare = record.Spare, newPolicy()
		}
	}
}

// date records since when each policy is in the table's list, and reports whether the record
// changed. A policy that is missing because another process set an old list is no longer in
// force, and its waiting time starts again.
func (p *Policies) date(record *schema.Policies, list []tables.StoredPolicy, now time.Time) bool {
	changed := false
	for _, policy := range record.All() {
		if there := slices.ContainsFunc(list, p.stored(record.Readings, *policy).Equal); there != (policy.Since != 0) {
			policy.Since, changed = 0, true
			if there {
				policy.Since = max(tables.TicksOf(now), 1)
			}
		}
	}
	return changed
}

// agree reports whether the list equals the record: it contains all of its policies, and has no
// room for others.
func (p *Policies) agree(record schema.Policies, list []tables.StoredPolicy) bool {
	for _, policy := range record.All() {
		if !slices.ContainsFunc(list, p.stored(record.Readings, *policy).Equal) {
			return false
		}
	}
	return true
}

// within bounds the time between reading the record and setting the table's list from it.
const within = 10 * time.Second

// enforce sets the table's list from the current record. If the response is lost the result is
// unknown, and the next comparison shows it.
func (p *Policies) enforce(ctx context.Context, readings string) error {
	soon, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	record, _, err := p.read(soon, readings)
	if err != nil {
		return err
	}
	var list []tables.StoredPolicy
	for _, policy := range record.All() {
		list = append(list, p.stored(record.Readings, *policy))
	}
	err = p.Client.Table(readings).SetPolicies(soon, list)
	_, answered := errors.AsType[*service.Failure](err)
	if err != nil && ctx.Err() == nil && (!answered || errors.Is(err, tables.ErrBusy)) {
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	return err
}

var errUnknown = errors.New("it is unknown whether the stored access policies were set")

// pause waits for a random time that grows with the number of failures, so that competing
// processes separate. It returns why ctx ended.
func pause(ctx context.Context, failures int) error {
	if failures == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(rand.N(min(5*time.Millisecond<<min(failures, 8), time.Second))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
