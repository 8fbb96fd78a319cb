package jobs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"furrow/tables"
)

// A change is one entity's part in what is written together: the entity as it is to be, on the version that it is known
// to have.
type change struct {
	op     tables.Op
	done   bool
	etag   tables.ETag // of what was written, when it is done
	device *deviceRun
	output Output // of an output's change
	parts  int    // of it that are written
	found  int    // parts of it that storage was found to have; 0 while nobody has looked
	look   bool   // what is there is not known, and is looked up first

	// compare looks at what storage has after an answer that was a refusal, or lost; nil is no entity. It says what is to
	// be done then.
	compare func(found *tables.Entity) resolution
}

// A resolution is what a change comes to when storage is read again.
type resolution struct {
	done  bool        // it is there already: the answer was lost
	etag  tables.ETag // of what is there; the next try replaces that version
	taken bool        // somebody with a higher rank has been there: the device is given up
}

// tries is how often a transaction is rebuilt before its job fails and is tried again as a whole.
const tries = 6

// writeBatch writes changes on one partition of a table in as few transactions as storage allows. Any failure is
// "unknown" (invariant 9): the range is read once, each change compared with what is there, and the rest tried again.
// Changes of devices that are given up are left out.
//
// What storage would never take, or refuses for the sake of one change, is the error of that change's device.
func writeBatch(ctx context.Context, table *tables.Table, changes []*change) error {
	for _, c := range changes {
		if err := c.op.Entity.Check(); err != nil && c.device.err == nil {
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
		return [][]*change{changes} // Submit says why, of the operation concerned
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
			c.device.err = last
			try-- // the others have lost nothing by it
			continue
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
		if err := compare(ctx, table, left); err != nil {
			last = err // no wiser: the next round reads again
		}
	}
	if len(undone(group)) == 0 {
		return nil
	}
	return fmt.Errorf("after %d tries: %w", tries, last)
}

// refused is the change for whose sake storage refuses a transaction, as often as it is asked; nil where it is none, or
// may be taken next time.
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

func undone(group []*change) (left []*change) {
	for _, c := range group {
		if !c.done && !c.device.dropped && c.device.err == nil {
			left = append(left, c)
		}
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

// compare reads what storage has of the changes and decides about each.
func compare(ctx context.Context, table *tables.Table, changes []*change) error {
	keys := make([]string, len(changes))
	for i, c := range changes {
		keys[i] = c.op.Entity.RowKey
	}
	found, err := find(ctx, table, changes[0].op.Entity.PartitionKey, keys)
	if err != nil {
		return err
	}
	for _, c := range changes {
		c.settle(found[c.op.Entity.RowKey])
	}
	return nil
}

// find reads the rows of a partition that have one of the keys. It goes from key to key: each request finds one at
// least, or that it is not there, and reads few rows that nobody asked for, however many lie between. An or of keys
// would scan the partition, and is limited to 15 comparisons.
func find(ctx context.Context, table *tables.Table, pk string, keys []string) (map[string]*tables.Entity, error) {
	const around = 8 // rows that are read beyond those that are wanted
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
	case c.op.Kind == tables.KindMerge:
		c.op = tables.Merge(c.op.Entity, v.etag)
	default:
		c.op = tables.Replace(c.op.Entity, v.etag)
	}
}

// again repeats what may be done twice, until it is done or tries are used up.
func again(ctx context.Context, do func() error) error {
	var err error
	for try := range tries {
		if err = do(); err == nil {
			return nil
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
	return err
}

// pause waits a little longer before each further try, and not as long as others who have met here.
func pause(ctx context.Context, try int) error {
	longest := time.Duration(20<<try) * time.Millisecond
	timer := time.NewTimer(longest/2 + rand.N(longest/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
