package sas

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// How often Run compares, on average, and how long list and record of a table
// must have agreed until its changes are closed. A request to set the list ends
// after seconds; storage answers none for longer than half a minute.
const (
	every  = 5 * time.Second
	lasted = time.Minute
)

// PolicyCounts say how the policies of all tables are, as Run saw them last.
type PolicyCounts struct {
	Tables   int           // that have policies
	Open     int           // changes that are open
	Undone   int           // of them, those that are not done
	Mends    int64         // how often a table had other policies than it should have
	Errors   int64         // how often a table's policies could not be looked after
	SpareAge time.Duration // of the youngest spare policy; below Delay a revocation makes its cohort wait
}

// watch is what Run remembers from one comparison to the next.
type watch struct {
	mu     sync.Mutex
	counts PolicyCounts
	tables map[string]*tended
}

// A tended table of readings.
type tended struct {
	version tables.ETag // of the record
	since   time.Time   // list and record agree, and the record is this one
	last    time.Time   // when they were compared last: what nobody saw has not lasted
	trouble string      // what was logged last, so that it is logged once
}

// Run compares the list of policies of every readings table with its record, again
// and again until ctx ends. It mends what differs, carries on changes that others
// have begun, and closes those that have lasted. Any number of processes may run
// it, and one should always.
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

// Counts are for a page of metrics.
func (p *Policies) Counts() PolicyCounts {
	p.watch.mu.Lock()
	defer p.watch.mu.Unlock()
	return p.watch.counts
}

// round looks after every table once.
func (p *Policies) round(ctx context.Context) {
	now := PolicyCounts{SpareAge: -1}
	names, err := p.list(ctx)
	p.report(ctx, p.Names.Policies(), err, &now)
	for _, readings := range names {
		s, err := p.tend(ctx, readings)
		if err == nil {
			now.add(s, time.Now())
			for device, wrong := range s.unmarked {
				err = errors.Join(err, &unmarkedError{device, wrong})
			}
		}
		p.report(ctx, readings, err, &now)
	}
	now.SpareAge = max(now.SpareAge, 0)
	p.watch.mu.Lock()
	defer p.watch.mu.Unlock()
	now.Mends += p.watch.counts.Mends
	now.Errors += p.watch.counts.Errors
	p.watch.counts = now
}

func (c *PolicyCounts) add(s settled, now time.Time) {
	c.Tables++
	c.Open += len(s.record.Changes)
	c.Undone += len(s.unmarked)
	c.Mends += int64(s.sets)
	if age := now.Sub(s.record.Spare.Since.Time()); c.SpareAge < 0 || age < c.SpareAge {
		c.SpareAge = max(age, 0)
	}
}

// list names the readings tables that have policies.
func (p *Policies) list(ctx context.Context) (names []string, err error) {
	for page, err := range p.table().Rows(ctx, tables.Query{Select: []string{"Number"}}) {
		if errors.Is(err, tables.ErrNoTable) {
			return nil, nil // no device has asked for a token yet
		}
		if err != nil {
			return names, err
		}
		for _, e := range page.Rows {
			names = append(names, e.PartitionKey)
		}
	}
	return names, nil
}

// tend settles a table's policies, and closes its changes when they have lasted.
func (p *Policies) tend(ctx context.Context, readings string) (settled, error) {
	s, err := p.settle(ctx, readings)
	w := p.remembered(readings)
	seen := time.Since(w.last) <= 2*every
	w.last = time.Now()
	switch {
	case err != nil || s.sets > 0 || s.record.ETag != w.version || !seen:
		w.version, w.since = s.record.ETag, time.Now()
		if err != nil {
			w.version = "" // what it agreed with is not known
		}
		if s.sets > 0 {
			p.log().Warn("a table's stored access policies were not those of its record, and were set again", "table", readings, "times", s.sets)
		}
	case time.Since(w.since) >= lasted:
		err = p.close(ctx, &s)
	}
	return s, err
}

// close takes the changes that are done out of the record.
func (p *Policies) close(ctx context.Context, s *settled) error {
	next := s.record.Clone()
	next.Changes = slices.DeleteFunc(next.Changes, func(c schema.Change) bool { return c.Done })
	if len(next.Changes) == len(s.record.Changes) {
		return nil
	}
	err := p.swap(ctx, next)
	if errors.Is(err, tables.ErrConflict) {
		return nil // another has closed them, or there are new ones
	}
	if err == nil {
		s.record = next
	}
	return err
}

func (p *Policies) remembered(readings string) *tended {
	p.watch.mu.Lock()
	defer p.watch.mu.Unlock()
	if p.watch.tables == nil {
		p.watch.tables = map[string]*tended{}
	}
	w := p.watch.tables[readings]
	if w == nil {
		w = &tended{}
		p.watch.tables[readings] = w
	}
	return w
}

// report counts and logs an error, and logs when it is over.
func (p *Policies) report(ctx context.Context, table string, err error, c *PolicyCounts) {
	if ctx.Err() != nil {
		return // it is no fault that what was cut off did not end well
	}
	text := ""
	if err != nil {
		text = err.Error()
		c.Errors++
	}
	w := p.remembered(table)
	switch {
	case text == w.trouble:
	case text != "":
		p.log().Error("a table's stored access policies cannot be looked after; trying again", "table", table, "error", err)
	default:
		p.log().Info("a table's stored access policies are looked after again", "table", table)
	}
	w.trouble = text
}

// An unmarkedError says why a change of a device is not done.
type unmarkedError struct {
	device schema.DeviceID
	err    error
}

func (e *unmarkedError) Error() string { return "device " + string(e.device) + ": " + e.err.Error() }
func (e *unmarkedError) Unwrap() error { return e.err }
