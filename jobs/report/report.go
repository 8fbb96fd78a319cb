package report

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"furrow/jobs/groups"
	"furrow/jobs/retain"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// Reports make reports of the windows of a pipeline.
type Reports struct {
	Client  *tables.Client
	Names   schema.Names
	Windows []schema.Window
	By      []schema.By
	Keep    []retain.Keep // of the configuration

	// Queue is the storage queue that reports of closed buckets go to; empty: none.
	Queue   string
	Enqueue func(ctx context.Context, queue, text string) error
}

var _ groups.Grouping = (*Reports)(nil)

func (r *Reports) buckets() *tables.Table { return r.Client.Table(r.Names.Output(rollup.BucketsTable)) }
func (r *Reports) reports() *tables.Table { return r.Client.Table(r.Names.Reports()) }

// Settings names the windows and groups.
func (r *Reports) Settings() string { return fmt.Sprint(r.Windows, r.By) }

// Make makes the reports of a bucket in a partition of the fleet.
func (r *Reports) Make(ctx context.Context, marks []schema.Mark) error {
	m := marks[0] // a report has one
	b, err := schema.ParseReportedBucket(m.Name)
	if err != nil {
		return fmt.Errorf("%w: mark %s: %w", groups.ErrUnmakeable, tables.Quote(m.Name), err)
	}
	if !slices.Contains(r.Windows, b.Window) {
		return nil // it is no longer reported
	}
	if !retain.KeepOfTenant(r.Keep, m.Tenant).KeepsReport(b.Window, b.Start, m.Read) {
		return nil // it stays as it is until retention deletes it
	}
	head := schema.ReportHead{Bucket: b.Start, Partition: schema.ReportPartition{Tenant: m.Tenant, Window: b.Window,
		Period: b.Window.PeriodOf(b.Start), Month: m.Month}}
	found, err := r.reports().Get(ctx, head.Partition.String(), schema.ReportHeadKey(b.Start))
	switch {
	case errors.Is(err, tables.ErrNotFound):
	case err != nil:
		return err
	default:
		if head, err = schema.ReportHeadOf(found); err != nil {
			return fmt.Errorf("%w: table %s: %w", groups.ErrUnmakeable, r.reports().Name, err)
		}
	}
	gathered, err := r.gather(ctx, schema.RollupPartition{Tenant: m.Tenant, Window: b.Window, Day: schema.DayOf(b.Start),
		Month: m.Month}, b.Start)
	if err != nil {
		return err
	}
	if closed := b.Start.Add(time.Duration(b.Window)); r.Queue == "" || m.Read < closed {
		head.Sum = ""
		_, err = r.write(ctx, head, gathered, false)
	} else {
		err = r.publish(ctx, head, gathered, m.Read >= closed.Add(sendAfter))
	}
	if isTaken(err) {
		return fmt.Errorf("%w: another job has written the report: %w", groups.ErrUnmakeable, err)
	}
	return err
}

// Bounds of a transaction, with room for the head.
const (
	maxRows  = tables.MaxOps - 1
	maxBytes = 2 << 20
)

// write writes the reports of all groups, and empties those of groups that are gone. Each transaction has the head, so
// another job cannot write in between. Only the last one has its sum: if a job dies before, the next one writes all
// again. It returns the head that it has written, which names those that are gone if they are to be sent.
func (r *Reports) write(
	ctx context.Context, head schema.ReportHead, gathered []*group, send bool,
) (schema.ReportHead, error) {
	if len(gathered) == 0 && head.ETag == "" {
		return head, nil
	}
	rows, names, left := named(head, gathered)
	was, sum, stay := head.Rows, head.Sum, setOf(names)
	gone := slices.DeleteFunc(slices.Clone(was), func(name string) bool { return stay[name] })
	for _, name := range gone {
		rows = append(rows, tables.Entity{PartitionKey: head.Partition.String(), RowKey: head.Key(name)})
	}
	for len(rows) > 0 || head.ETag == "" {
		n := fitting(rows)
		if head.Rows, head.Left = names, left; n < len(rows) || send {
			head.Rows = append(slices.Clone(names), gone...)
		}
		if head.Sum = sum; n < len(rows) {
			head.Sum = ""
		}
		etag, err := r.submit(ctx, head, rows[:n])
		if err != nil {
			return head, err
		}
		rows, head.ETag = rows[n:], etag
	}
	return head, nil
}

// named returns the rows of groups and their names, and the number of groups whose names have no room in the head.
func named(head schema.ReportHead, gathered []*group) (rows []tables.Entity, names []string, left int64) {
	room := schema.MaxReportRows / 2 // the other half may be needed for those that are gone
	for _, g := range gathered {
		all := g.entities(head.Partition.String(), head.Bucket)
		for _, e := range all {
			room -= len(e.RowKey)
		}
		if room < 0 {
			left++
			continue
		}
		rows = append(rows, all...)
		for _, e := range all {
			names = append(names, head.Name(e.RowKey))
		}
	}
	return rows, names, left
}

// setOf returns a set: a label may have many values, so nobody searches a list for the name of each.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// fitting returns how many of the rows fit one transaction.
func fitting(rows []tables.Entity) (n int) {
	for size := 0; n < min(len(rows), maxRows); n++ {
		const around = 2048
		if size += around + rows[n].Size(); size > maxBytes && n > 0 {
			break
		}
	}
	return n
}

// submit writes rows with the head, on the version that was read, and returns the new version.
func (r *Reports) submit(ctx context.Context, head schema.ReportHead, rows []tables.Entity) (tables.ETag, error) {
	e, err := head.Entity()
	if err != nil {
		return "", err
	}
	ops := []tables.Op{tables.Insert(e)}
	if head.ETag != "" {
		ops[0] = tables.Replace(e, head.ETag)
	}
	for _, row := range rows {
		ops = append(ops, tables.InsertOrReplace(row))
	}
	written, err := r.reports().Submit(ctx, ops)
	if err != nil {
		return "", err
	}
	return written.ETags[0], nil
}

// All yields a mark for each bucket of the partition's tenants.
func (r *Reports) All(ctx context.Context, s *groups.Source, month schema.Month) iter.Seq2[schema.Mark, error] {
	return func(yield func(schema.Mark, error) bool) {
		for tenant, err := range s.Tenants(ctx, month) {
			if err != nil {
				yield(schema.Mark{}, err)
				return
			}
			for _, w := range r.Windows {
				for b, err := range r.bucketsOf(ctx, tenant, w, month) {
					m := schema.Mark{Month: month, Kind: schema.ReportMark, Tenant: tenant,
						Name: schema.ReportedBucket{Window: w, Start: b}.String()}
					if !yield(m, err) || err != nil {
						return
					}
				}
			}
		}
	}
}
