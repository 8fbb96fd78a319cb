package sas

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

const (
	every = 5 * time.Second // average time between comparisons
	// lasted is how long list and record must agree before changes are closed. A request to set
	// the list ends after seconds, and storage processes none for longer than half a minute.
	lasted = time.Minute
)

// PolicyCounts is the state of the policies of all tables, as Run saw it last.
type PolicyCounts struct {
	Tables   int           // with policies
	Open     int           // open changes
	Undone   int           // open changes that are not completed
	Repairs  int64         // how often a table's list differed from its record
	Errors   int64         // failed attempts to reconcile a table
	SpareAge time.Duration // of the youngest spare policy; below Delay, a revoked device's cohort has to wait
}

// repairState is Run's state between comparisons.
type repairState struct {
	mu     sync.Mutex
	counts PolicyCounts
	tables map[string]*tableState
	took   time.Duration // of the last round
}

// A tableState is what Run knows about a readings table.
type tableState struct {
	version tables.ETag // of the record
	since   time.Time   // list and record agree on this version since then
	last    time.Time   // of the last comparison; a gap, longer than rounds take, restarts since
	trouble string      // the last logged error, so that it is logged once
}

// Run repeatedly compares the list of policies of every readings table with its record until
// ctx ends. It repairs differences, completes changes of other processes, and closes changes
// that have lasted. Any number of processes may run it, and at least one always should.
func (p *Policies) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		p.round(ctx)
		select {
		case <-time.After(every*4/5 + rand.N(every*2/5)):
		case <-ctx.Done():
		}
	}
	return nil
}

// Counts returns the current counts, for metrics.
func (p *Policies) Counts() PolicyCounts {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	return p.state.counts
}

// round reconciles every table once.
func (p *Policies) round(ctx context.Context) {
	began, now := time.Now(), PolicyCounts{SpareAge: -1}
	names, err := p.list(ctx)
	p.report(ctx, p.Names.Policies(), err, &now)
	for _, readings := range names {
		s, err := p.reconcileTable(ctx, readings)
		if err == nil {
			now.add(s, time.Now())
			for device, wrong := range s.unmarked {
				err = errors.Join(err, fmt.Errorf("device %s: %w", device, wrong))
			}
		}
		p.report(ctx, readings, err, &now)
	}
	now.SpareAge = max(now.SpareAge, 0)
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	now.Repairs += p.state.counts.Repairs
	now.Errors += p.state.counts.Errors
	p.state.counts, p.state.took = now, time.Since(began)
}

func (c *PolicyCounts) add(s reconciled, now time.Time) {
	c.Tables++
	c.Open += len(s.record.Changes)
	c.Undone += len(s.unmarked)
	c.Repairs += int64(s.sets)
	if age := now.Sub(s.record.Spare.Since.Time()); c.SpareAge < 0 || age < c.SpareAge {
		c.SpareAge = max(age, 0)
	}
}

// list returns the names of the readings tables with policies.
func (p *Policies) list(ctx context.Context) (names []string, err error) {
	for e, err := range p.table().Entities(ctx, tables.Query{Select: []string{"Number"}}) {
		if err != nil {
			return names, err
		}
		names = append(names, e.PartitionKey)
	}
	return names, nil
}

// reconcileTable reconciles a table's policies and closes its changes when they have lasted.
func (p *Policies) reconcileTable(ctx context.Context, readings string) (reconciled, error) {
	s, err := p.reconcile(ctx, readings)
	w := p.state.of(readings)
	seen := time.Since(w.last) <= 2*(every+p.state.took)
	w.last = time.Now()
	switch {
	case err != nil || s.sets > 0 || s.record.ETag != w.version || !seen:
		w.version, w.since = s.record.ETag, time.Now()
		if err != nil {
			w.version = "" // unknown
		}
		if s.sets > 0 {
			p.log().Warn("stored access policies repaired", "table", readings, "times", s.sets)
		}
	case time.Since(w.since) >= lasted:
		err = p.close(ctx, &s)
	}
	return s, err
}

// close removes completed changes from the record.
func (p *Policies) close(ctx context.Context, s *reconciled) error {
	next := s.record.Clone()
	next.Changes = slices.DeleteFunc(next.Changes, func(c schema.Change) bool { return c.Done })
	if len(next.Changes) == len(s.record.Changes) {
		return nil
	}
	err := p.swap(ctx, next)
	if errors.Is(err, tables.ErrConflict) {
		return nil // another process closed them or added new ones
	}
	if err == nil {
		s.record = next
	}
	return err
}

func (s *repairState) of(readings string) *tableState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables == nil {
		s.tables = map[string]*tableState{}
	}
	w := s.tables[readings]
	if w == nil {
		w = &tableState{}
		s.tables[readings] = w
	}
	return w
}

// report counts an error, and logs its first occurrence and its end.
func (p *Policies) report(ctx context.Context, table string, err error, c *PolicyCounts) {
	if ctx.Err() != nil {
		return // errors of an interrupted round do not count
	}
	text := ""
	if err != nil {
		text = err.Error()
		c.Errors++
	}
	w := p.state.of(table)
	switch {
	case text == w.trouble:
	case text != "":
		p.log().Error("stored access policies cannot be reconciled; retrying", "table", table, "error", err)
	default:
		p.log().Info("stored access policies are reconciled again", "table", table)
	}
	w.trouble = text
}
