package model

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"furrow/jobs/condition"
	"furrow/tables/shares"
)

var (
	// ErrBusy is returned where as many conditions are being decided as may be.
	ErrBusy = errors.New("as many conditions are being decided as can be")
	// ErrSlow is returned where a condition has taken all the time that one may have.
	ErrSlow = errors.New("the condition takes too long")
)

// Bounds of deciding which devices a condition holds for. It is done for all devices, at the expense of everybody.
const (
	decidingWait = 2 * time.Second
	decidingTime = 10 * time.Second // of one question, or of one part of an answer with rows
	decidedLocks = 256              // devices whose values are read at once
)

// A decider decides which devices conditions hold for, within a person's share and a limit of time.
type decider struct {
	accounts *Accounts
	sensors  *Census
	shares   *shares.Shares
	limit    time.Duration
}

// newDecider has one more condition decided at a time than there are processors, at least three: those of one person
// keep no more than about half of them busy, and leave the others to the storage and the workers of the same process.
func newDecider(accounts *Accounts, sensors *Census) *decider {
	return &decider{accounts, sensors, shares.New(int64(max(3, runtime.GOMAXPROCS(0)+1)), 1), decidingTime}
}

// ready waits for the poller, and returns a filter of what ctx may see once its condition is decided. Sensors are those
// that the question names besides.
func (d *decider) ready(ctx context.Context, f Filter, sensors ...string) (_ Filter, err error) {
	if f.Tenant, err = d.accounts.tenantFor(ctx, f.Tenant); err != nil {
		return f, err
	}
	if err := d.sensors.checkFilter(f, sensors...); err != nil {
		return f, ofParam("sensor", err)
	}
	return d.decide(ctx, f)
}

// decide finds out which devices a filter's condition holds for, of those that the rest of the filter selects. Until
// then a filter with a condition selects nothing.
func (d *decider) decide(ctx context.Context, f Filter) (Filter, error) {
	if f.Where == nil {
		return f, nil
	}
	owners := owners(ctx)
	waiting, cancel := context.WithTimeout(ctx, decidingWait)
	defer cancel()
	if !d.shares.Wait(waiting, 1, owners...) {
		return f, unlessEnded(ctx, ErrBusy)
	}
	defer d.shares.Give(1, owners...)
	limited, stop := context.WithTimeout(ctx, d.limit)
	defer stop()
	f.holds = d.holding(limited, f)
	if limited.Err() != nil {
		return f, unlessEnded(ctx, ErrSlow)
	}
	return f, nil
}

// rowCondition is the condition on the rows of one part of an answer. Once it has taken its time, the part ends.
type rowCondition struct {
	decider *decider
	where   *condition.Condition // nil: none
	spent   time.Duration        // with turns that it waited for
}

// holds reports whether the condition holds for a row, when it is the person's turn. The error is that of ctx.
func (c *rowCondition) holds(ctx context.Context, row condition.Row) (bool, error) {
	began := time.Now()
	defer func() { c.spent += time.Since(began) }()
	owners := owners(ctx)
	if !c.decider.shares.Wait(ctx, 1, owners...) {
		return false, context.Cause(ctx)
	}
	defer c.decider.shares.Give(1, owners...)
	row.Context = ctx
	return c.where.Holds(row), context.Cause(ctx)
}

// over reports whether the part ends before the next row.
func (c *rowCondition) over() bool { return c.spent > c.decider.limit }

func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// holding returns the devices that a filter with a condition selects; some of them if ctx ends. The lock is held while
// values are read, and not while the condition is decided.
func (d *decider) holding(ctx context.Context, f Filter) *selection {
	where, now := f.Where, d.accounts.now()
	f.Where = nil
	s := &selection{}
	for more := true; more && ctx.Err() == nil; {
		var some []undecided
		some, more = d.undecided(f, now, where, len(s.has))
		for _, one := range some {
			holds := one.selected && where.Holds(one.row(ctx, where.Sensors()))
			if ctx.Err() != nil {
				break
			}
			s.has = append(s.has, holds)
			if holds {
				s.total++
			}
		}
	}
	return s
}

// undecided is a device and what a condition asks of it.
type undecided struct {
	selected bool // by the rest of the filter; nothing else is known of others
	values   []condition.Value
	labels   string
}

// undecided returns the next devices from a position on, and whether there are more.
func (d *decider) undecided(
	f Filter, now uint32, where *condition.Condition, from int,
) (some []undecided, more bool) {
	x := d.accounts.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	m := x.matcher(f, now)
	for i := from; i < min(from+decidedLocks, len(x.devices)); i++ {
		d, one := &x.devices[i], undecided{}
		if one.selected = m.matches(i); one.selected {
			for _, sensor := range where.Sensors() {
				one.values = append(one.values, x.condition(d, sensor))
			}
			if where.Labels() {
				one.labels = d.labels
			}
		}
		some = append(some, one)
	}
	return some, from+len(some) < len(x.devices)
}

func (d undecided) row(ctx context.Context, sensors []string) condition.Row {
	return condition.Row{Context: ctx, Labels: labelsOf(d.labels), Sensor: func(name string) condition.Value {
		return d.values[slices.Index(sensors, name)]
	}}
}
