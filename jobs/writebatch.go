package jobs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
)

// A change is one entity in a batch of writes: its new content, on the version that it is known to have.
type change struct {
	op     tables.Op
	done   bool
	etag   tables.ETag // version that was written, once done
	device *deviceRun
	output fold.Output // the output that it writes
	parts  int         // parts of it that are written
	found  int         // parts found in storage; 0 if nobody has looked
	look   bool        // read storage first, because its version is not known

	// compare decides what to do after a refusal or a lost answer, given what storage has; nil if there is no entity. A
	// change without compare is a mark: it is written again with every try, and never read.
	compare func(found *tables.Entity) resolution
}

func (c *change) isMark() bool { return c.compare == nil }

// A resolution is the result of a comparison with storage.
type resolution struct {
	done  bool        // it is already written, and the answer was lost
	etag  tables.ETag // version in storage, which the next try replaces
	taken bool        // a job with a higher rank has written: the device is given up
}

// tries is how often a transaction is rebuilt before its job fails and is tried again as a whole.
const tries = 6

// writeBatch writes changes of one partition of a table in as few transactions as storage allows. Any failure is
// ambiguous: it reads the range once, compares each change with storage, and tries the rest again. It leaves out
// devices that are given up.
//
// A change that storage would never accept, or for which it refuses a transaction, is an error of its device.
func writeBatch(ctx context.Context, table *tables.Table, changes []*change) error {
	for _, c := range changes {
		if err := c.op.Entity.Check(); err != nil && !c.isMark() && c.device.err == nil {
			c.device.err = err
		}
	}
	for _, group := range cut(undone(changes)) {
		if err := writeGroup(ctx, table, group); err != nil {
			return err
		}
	}
	return nil
}

// cut divides changes as tables.Cut divides their operations.
func cut(changes []*change) (groups [][]*change) {
	if len(changes) == 0 {
		return nil
	}
	ops := make([]tables.Op, len(changes))
	for i, c := range changes {
		ops[i] = c.op
	}
	cuts, err := tables.Cut(ops)
	if err != nil {
		return [][]*change{changes} // Submit reports the operation and the reason
	}
	for _, g := range cuts {
		groups, changes = append(groups, changes[:len(g)]), changes[len(g):]
	}
	return groups
}

func writeGroup(ctx context.Context, table *tables.Table, group []*change) error {
	var last error
	if group[0].look {
		if err := compare(ctx, table, group); err != nil {
			return err
		}
	}
	for try := 0; try < tries; try++ {
		left := undone(group)
		if len(left) == 0 {
			return nil
		}
		if last = submit(ctx, table, left); last == nil {
			return nil
		}
		if c := refused(left, last); c != nil {
			if c.isMark() {
				return last
			}
			c.device.err = last
			try-- // the others still have all their tries
			continue
		}
		if err := Pause(ctx, try); err != nil {
			return err
		}
		if err := compare(ctx, table, left); err != nil {
			last = err // the next round reads again
		}
	}
	if len(undone(group)) == 0 {
		return nil
	}
	return fmt.Errorf("after %d tries: %w", tries, last)
}

// refused returns the change for which storage always refuses a transaction, or nil if there is none or it may be
// accepted later.
func refused(changes []*change, err error) *change {
	wrong, ok := errors.AsType[*tables.TransactionError](err)
	if !ok {
		return nil
	}
	for _, may := range []error{tables.ErrExists, tables.ErrConflict, tables.ErrNotFound, tables.ErrNoTable,
		tables.ErrBusy} {
		if errors.Is(wrong, may) {
			return nil
		}
	}
	return changes[wrong.Index]
}

// undone returns the changes that are still to be written. Marks are needed only with others: they are in the
// transaction of those that are done.
func undone(group []*change) (left []*change) {
	marks := 0
	for _, c := range group {
		switch {
		case c.done:
		case c.isMark():
			marks++
			left = append(left, c)
		case !c.device.dropped && c.device.err == nil:
			left = append(left, c)
		}
	}
	if len(left) == marks {
		return nil
	}
	return left
}

func submit(ctx context.Context, table *tables.Table, changes []*change) error {
	ops := make([]tables.Op, len(changes))
	for i, c := range changes {
		ops[i] = c.op
	}
	written, err := table.Submit(ctx, ops)
	if err != nil {
		return err
	}
	for i, c := range changes {
		c.done, c.etag = true, written.ETags[i]
	}
	return nil
}

// compare reads the changes' rows and decides about each.
func compare(ctx context.Context, table *tables.Table, changes []*change) error {
	var keys []string
	for _, c := range changes {
		if !c.isMark() {
			keys = append(keys, c.op.Entity.RowKey)
		}
	}
	found, err := find(ctx, table, changes[0].op.Entity.PartitionKey, keys)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if !c.isMark() {
			c.settle(found[c.op.Entity.RowKey])
		}
	}
	return nil
}

// find reads the rows of a partition with the given keys. It goes from key to key: each request finds at least one or
// shows that it does not exist, and reads few other rows, however many lie in between. An or of keys would scan the
// partition, and is limited to 15 comparisons.
func find(ctx context.Context, table *tables.Table, pk string, keys []string) (map[string]*tables.Entity, error) {
	const around = 8 // rows to read beyond the wanted ones
	found := map[string]*tables.Entity{}
	for keys = slices.Sorted(slices.Values(keys)); len(keys) > 0; {
		part := tables.RowsBetween(pk, keys[0], keys[len(keys)-1])
		end := ""
		for page, err := range table.Rows(ctx, tables.Query{Range: part, Size: min(len(keys)+around, 1000)}) {
			if err != nil {
				return nil, err
			}
			for i := range page.Rows {
				end = page.Rows[i].RowKey
				if _, wanted := slices.BinarySearch(keys, end); wanted {
					found[end] = &page.Rows[i]
				}
			}
			if page.Next == (tables.Continuation{}) {
				return found, nil
			}
			if end != "" {
				break
			}
		}
		next, was := slices.BinarySearch(keys, end)
		if was {
			next++
		}
		keys = keys[next:]
	}
	return found, nil
}

func (c *change) settle(found *tables.Entity) {
	v := c.compare(found)
	switch {
	case v.taken:
		c.device.dropped = true
	case v.done:
		c.done, c.etag = true, v.etag
	case found == nil:
		c.op = tables.Insert(c.op.Entity)
	case c.op.Kind == tables.KindDelete:
		c.op = tables.Delete(c.op.Entity.PartitionKey, c.op.Entity.RowKey, v.etag)
	case c.op.Kind == tables.KindMerge:
		c.op = tables.Merge(c.op.Entity, v.etag)
	default:
		c.op = tables.Replace(c.op.Entity, v.etag)
	}
}

// again repeats something harmless until it succeeds or tries are used up.
func again(ctx context.Context, do func() error) error {
	var err error
	for try := range tries {
		if err = do(); err == nil {
			return nil
		}
		if err := Pause(ctx, try); err != nil {
			return err
		}
	}
	return err
}

// Pause waits longer before each further try, at random, so that competing jobs do not meet again.
func Pause(ctx context.Context, try int) error {
	longest := time.Duration(20<<try) * time.Millisecond
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(longest/2 + rand.N(longest/2)):
		return nil
	}
}
