package catalog

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/tables"
)

// A Change is what one version changes of a day.
type Change struct {
	Why  string // for people
	Days []Day  // as they are afterwards: of all partitions of the fleet that files have which come or go
	// Takes says that rows of the first of the days are taken in.
	Takes bool
	Gone  []File // of the snapshot
	New   []File // that were pended, and whose blobs are there
	// Same says that those that come have all rows of those that go, and no other ones: who follows the table reads none
	// again.
	Same bool
	// Erases says that those that go have rows that are erased: their blobs are due at once, whoever reads them.
	Erases bool
}

// check refuses a change that a transaction cannot make exactly, with ErrRefused.
func (c *Change) check(s *Snapshot) error {
	for _, f := range slices.Concat(c.Gone, c.New) {
		for _, m := range f.Months {
			if !slices.ContainsFunc(c.Days, func(d Day) bool { return d.Month == m && d.Date == f.Date }) {
				return fmt.Errorf("%w: file %s has rows of partition %s, whose day does not change with it", ErrRefused,
					f.Name, m)
			}
		}
		if f.Date != s.Date || f.etag == "" {
			return fmt.Errorf("%w: file %s is not of this snapshot, and is not pending", ErrRefused, f.Name)
		}
	}
	if n := c.ops(); n > tables.MaxOps {
		return fmt.Errorf("%w: a version of %d operations; a transaction has at most %d", ErrRefused, n, tables.MaxOps)
	}
	return nil
}

// Remove adds a file of the snapshot to those that go, with the days of its partitions of the fleet, whose rows become
// fewer. It reports whether there was room for that.
func (c *Change) Remove(s *Snapshot, f File) bool {
	days := slices.Clone(c.Days)
	for i, m := range f.Months {
		n := slices.IndexFunc(days, func(d Day) bool { return d.Month == m })
		if n < 0 {
			n, days = len(days), append(days, s.Day(m))
		}
		if i == 0 { // a file of several partitions is counted in the first one
			days[n].Rows -= f.Stats.Rows
		}
	}
	with := Change{Days: days, Gone: append(slices.Clone(c.Gone), f), New: c.New}
	if with.ops() > tables.MaxOps {
		return false
	}
	c.Days, c.Gone = with.Days, with.Gone
	return true
}

// ops is how many operations the transaction has.
func (c *Change) ops() int { return 2 + len(c.Days) + 2*len(c.Gone) + 2*len(c.New) }

// Commit makes a change to what s has, in one step: readers of the catalog see all of it or nothing. It returns the
// version. ErrStale says that one of the change's days or files has changed since s was read, that the file it adds
// was ended, or that an erasure has begun: then nothing was changed, and its files are to be abandoned. After any
// other error the change may have been made.
func (t *Table) Commit(ctx context.Context, s *Snapshot, c *Change) (int64, error) {
	if err := c.check(s); err != nil {
		return 0, t.wrap("a version", err)
	}
	a := &attempt{Table: t, snapshot: s, change: c, txn: rand.Text()}
	again := func(err error) bool { // a head that moves is no reason to read rows again
		return !errors.Is(err, ErrStale) && !errors.Is(err, ErrAbsent) && !errors.Is(err, ErrRefused)
	}
	err := commit.RetryIf(ctx, manyTries, again, func() error { return a.try(ctx) })
	return a.version, t.wrap("a version", err)
}

// manyTries is how often a transaction is tried that fails because another job of the tenant was faster: the partitions
// of a large one end a day in the same minute.
const manyTries = 5 * commit.Tries

// An attempt is a commit with its tries. They have one random number: so where an answer was lost, the next finds out.
type attempt struct {
	*Table
	snapshot *Snapshot
	change   *Change
	txn      string
	tried    []int64
	version  int64
}

func (a *attempt) try(ctx context.Context) error {
	h, err := a.head(ctx)
	if err != nil {
		return err
	}
	if done, err := a.committed(ctx); done || err != nil {
		return err
	}
	if h.epoch != a.snapshot.epoch {
		return ErrStale
	}
	ops, err := a.ops(ctx, h)
	if err != nil {
		return err
	}
	a.version = h.version + 1
	a.tried = append(a.tried, a.version)
	_, err = a.rows.Submit(ctx, ops)
	if refused, is := errors.AsType[*tables.TransactionError](err); is && refused.Index > 0 && commit.IsChanged(err) {
		if done, err := a.committed(ctx); done || err != nil {
			return err // the answer to the try before was lost
		}
		return fmt.Errorf("%w: %w", ErrStale, err)
	} else if is && !commit.IsChanged(err) && !errors.Is(err, tables.ErrBusy) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// committed reports whether one of the tries has made its version.
func (a *attempt) committed(ctx context.Context) (bool, error) {
	for _, n := range a.tried {
		v, err := a.rows.Get(ctx, a.key, versionRow(n))
		if err == nil && v.Get("Txn").Text() == a.txn {
			a.version = n
			return true, nil
		}
		if err != nil && !errors.Is(err, tables.ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}

// ops returns the transaction that makes the version after a head.
func (a *attempt) ops(ctx context.Context, h head) ([]tables.Op, error) {
	c, next := a.change, h
	next.version++
	v := version{txn: a.txn, why: c.Why, Version: delta.Version{Info: delta.Info{Timestamp: millis(h.now),
		Operation: c.operation()}}}
	if h.count != h.columns {
		m, err := a.metadata(ctx, &next)
		if err != nil {
			return nil, err
		}
		v.Metadata = m
	}
	ops := []tables.Op{next.move(a.partition)}
	var errs []error
	add := func(op tables.Op, err error) { ops, errs = append(ops, op), append(errs, err) }
	if c.Takes {
		c.Days[0].Taken = h.now
	}
	for i := range c.Days {
		add(c.Days[i].write(a.partition), nil)
	}
	for i := range c.Gone {
		f := &c.Gone[i]
		r := &removed{File: *f, version: next.version, at: millis(h.now), due: c.Erases}
		add(tables.Delete(a.key, f.row(), f.etag), nil)
		add(r.write(a.partition))
		gone := r.remove()
		gone.DataChange = !c.Same
		v.Removed, v.rowsGone = append(v.Removed, gone), v.rowsGone+f.Stats.Rows
	}
	for _, f := range c.New {
		f.Added = next.version
		if f.Modified = millis(h.now); c.Same { // it changes nothing of a day
			f.Modified = slices.MaxFunc(c.Gone, func(a, b File) int { return cmp.Compare(a.Modified, b.Modified) }).Modified
		}
		add(tables.Delete(a.key, pendingRows+f.Name, f.etag), nil)
		add(f.write(a.partition))
		come := f.add()
		come.DataChange = !c.Same
		v.Added, v.rowsAdded = append(v.Added, come), v.rowsAdded+f.Stats.Rows
	}
	row, err := v.row(a.partition, next.version)
	add(tables.Insert(row), err)
	return ops, errors.Join(errs...)
}

// operation is what readers show of a version.
func (c *Change) operation() string {
	switch {
	case c.Same:
		return "OPTIMIZE"
	case len(c.New) == 0:
		return "DELETE"
	case len(c.Gone) == 0:
		return "WRITE"
	}
	return "MERGE"
}
