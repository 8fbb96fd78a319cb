package jobs

import (
	"context"
	"fmt"

	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/schema"
)

// savedEvery is how many month jobs a master job puts between two saves.
const savedEvery = 20

// runsBack is how many cadences a master job looks back for the run before.
const runsBack = 10

// master puts a month job for each partition of the fleet. A repeated master job may put months twice, but never leaves
// one out.
func (p *Pipeline) master(ctx context.Context, m Message, put Putter, save Save) (Result, error) {
	back := m.Run
	if p.rests() {
		back = m.Run.Add(-runsBack * p.cadence())
	}
	run, err := p.runs().begin(ctx, m.Run, back)
	if err != nil {
		return Result{}, fmt.Errorf("marking the run as begun: %w", err)
	}
	now := run.now
	if p.Retention != nil && run.scheduled {
		if waits, err := p.waitForClocks(ctx, m.Run, p.Clock.Surely(now, m.Run)); waits || err != nil {
			return Result{}, err
		}
	}
	audit, since := m.Audit, tables.Ticks(0)
	if audit == "" && p.Retention == nil {
		due, before, err := p.runs().auditsDue(ctx, m.Run, now)
		if err != nil {
			return Result{}, fmt.Errorf("finding out whether audits are due: %w", err)
		}
		if due {
			audit, since = refold.Late, before
		}
	}
	r := Result{Strange: map[string]error{}}
	if err := p.putDeliveries(ctx, m, run.targets, now, put, &r); err != nil {
		return r, err
	}
	after := ""
	if m.Month != (schema.Month{}) {
		after = m.Month.String()
	}
	for {
		var names []string
		if names, err = p.nextPartitions(ctx, after); err != nil {
			return r, err
		}
		if len(names) == 0 {
			if err := p.runs().prune(ctx, m.Run); err != nil && ctx.Err() == nil {
				r.strange(p.Names.Runs(), err) // not worth putting all months again
			}
			if p.Retention != nil {
				err = save(ctx, m)
				if err == nil {
					r.Deleted, err = p.Retainer().SweepTenants(ctx, p.Clock.Surely(now, m.Run))
					for _, n := range r.Deleted {
						r.Rows += n
					}
				}
			}
			return r, err
		}
		after = names[len(names)-1]
		job := m.next(Month)
		job.Extra, job.Before = m.Audit != "", run.before
		due := false
		for _, name := range names {
			month, err := schema.ParseMonth(name)
			if err != nil {
				r.strange(name, fmt.Errorf("table %s: no run covers the rows of partition %s; move or delete them: %w",
					p.Names.Fleet(), tables.Quote(name), err))
				continue
			}
			if job.Month == (schema.Month{}) {
				job.Month = month
			} else {
				job.Through = month
			}
			due = due || refold.TurnOf(p.Name, month, since, m.Run).Due()
		}
		if job.Month == (schema.Month{}) {
			continue
		}
		if audit != "" && (audit != refold.Late || due) {
			job.Audit, job.Since = audit, since
		}
		if err := put.Put(ctx, job, 0); err != nil {
			return r, err
		}
		m.Month = job.last()
		if r.Months++; r.Months%savedEvery == 0 {
			if err := save(ctx, m); err != nil {
				return r, err
			}
		}
	}
}

// small is how many devices one job may plan, in any number of partitions. A page of storage costs as little as a row.
const small = 1000

// nextPartitions returns the partitions after one that one job plans: all that are complete in one page of rows, or
// else the first. It returns none at the end of the fleet. Empty months in between cost nothing.
func (p *Pipeline) nextPartitions(ctx context.Context, after string) (names []string, err error) {
	q := tables.Query{Range: schema.Memberships(after), Size: small, Select: []string{"PartitionKey"}}
	for page, err := range p.Client.Table(p.Names.Fleet()).Rows(ctx, q) {
		if err != nil {
			return nil, err
		}
		for _, e := range page.Rows {
			if n := len(names); n == 0 || names[n-1] != e.PartitionKey {
				names = append(names, e.PartitionKey)
			}
		}
		if n := len(names); n > 1 && page.Next != (tables.Continuation{}) {
			return names[:n-1], nil
		}
		if n := len(names); n > 0 {
			return names, nil
		}
	}
	return nil, nil
}
