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
func (j job) master(ctx context.Context) (Result, error) {
	back := j.m.Run
	if j.rests() {
		back = j.m.Run.Add(-runsBack * j.cadence())
	}
	run, err := j.runs().begin(ctx, j.m.Run, back)
	if err != nil {
		return Result{}, fmt.Errorf("marking the run as begun: %w", err)
	}
	now := run.now
	if j.Retention != nil && run.scheduled {
		if waits, err := j.waitForClocks(ctx, j.Clock.Surely(now, j.m.Run)); waits || err != nil {
			return Result{}, err
		}
	}
	audit, since := j.m.Audit, tables.Ticks(0)
	if audit == "" && j.Retention == nil {
		due, before, err := j.runs().auditsDue(ctx, j.m.Run, now)
		if err != nil {
			return Result{}, fmt.Errorf("finding out whether audits are due: %w", err)
		}
		if due {
			audit, since = refold.Late, before
		}
	}
	r := Result{Strange: map[string]error{}}
	if err := j.putDeliveries(ctx, run.targets, now, &r); err != nil {
		return r, err
	}
	after := ""
	if j.m.Month != (schema.Month{}) {
		after = j.m.Month.String()
	}
	for {
		var names []string
		if names, err = j.nextPartitions(ctx, after); err != nil {
			return r, err
		}
		if len(names) == 0 {
			if err := j.runs().prune(ctx, j.m.Run); err != nil && ctx.Err() == nil {
				r.strange(j.Names.Runs(), err) // not worth putting all months again
			}
			daily := refold.TurnOf(j.Name, schema.Month{}, since, j.m.Run).Daily()
			if daily = daily && audit == refold.Late; daily {
				if err := j.putLeftDeliveries(ctx, run.targets); err != nil {
					return r, fmt.Errorf("looking for deliveries that wait: %w", err)
				}
			}
			if daily && len(j.Groups) > 0 {
				if err := j.putLeft(ctx); err != nil {
					return r, fmt.Errorf("looking for marks of devices that have left: %w", err)
				}
			}
			if j.Retention != nil {
				err = j.save(ctx, j.m)
				if err == nil {
					r.Deleted, err = j.Retainer().SweepTenants(ctx, j.Clock.Surely(now, j.m.Run))
					for _, n := range r.Deleted {
						r.Rows += n
					}
				}
			}
			return r, err
		}
		after = names[len(names)-1]
		next := j.m.next(Month)
		next.Extra, next.Before = j.m.Audit != "", run.before
		due := false
		for _, name := range names {
			month, err := schema.ParseMonth(name)
			if err != nil {
				r.strange(name, fmt.Errorf("table %s: no run covers the rows of partition %s; move or delete them: %w",
					j.Names.Fleet(), tables.Quote(name), err))
				continue
			}
			if next.Month == (schema.Month{}) {
				next.Month = month
			} else {
				next.Through = month
			}
			due = due || refold.TurnOf(j.Name, month, since, j.m.Run).Due()
		}
		if next.Month == (schema.Month{}) {
			continue
		}
		if audit != "" && (audit != refold.Late || due) {
			next.Audit, next.Since = audit, since
		}
		if err := j.Put(ctx, next, 0); err != nil {
			return r, err
		}
		j.m.Month = next.last()
		if r.Months++; r.Months%savedEvery == 0 {
			if err := j.save(ctx, j.m); err != nil {
				return r, err
			}
		}
	}
}

// putLeft puts the group jobs of partitions whose last device has left the fleet, as those have no month job. A look at
// each partition takes a few requests, so it is done once a day.
func (j job) putLeft(ctx context.Context) error {
	months, err := j.Source().Months(ctx)
	if err != nil {
		return err
	}
	return j.planner().Left(ctx, months, planning{j})
}

// small is how many devices one job may plan, in any number of partitions. A page of storage costs as little as a row.
const small = 1000

// nextPartitions returns the partitions after one that one job plans: all that are complete in one page of rows, or
// else the first. It returns none at the end of the fleet. Empty months in between cost nothing.
func (j job) nextPartitions(ctx context.Context, after string) (names []string, err error) {
	q := tables.Query{Range: schema.Memberships(after), Size: small, Select: []string{"PartitionKey"}}
	for page, err := range j.Client.Table(j.Names.Fleet()).Rows(ctx, q) {
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
