package commit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
)

// A Write is one entity in a batch of them: its new content, on the version that it is known to have.
type Write struct {
	Op     tables.Op
	Done   bool
	ETag   tables.ETag // version that was written, once done
	Device *Device
	Output fold.Output // the output that it writes
	parts  int         // parts of it that are written
	found  int         // parts found in storage; 0 if nobody has looked
	look   bool        // read storage first, because its version is not known

	// Compare decides what to do after a refusal or a lost answer, given what storage has; nil if there is no entity. A
	// Write without Compare is a mark: it is written again with every try, and never read.
	Compare func(found *tables.Entity) Resolution
}

func (c *Write) isMark() bool { return c.Compare == nil }

// A Resolution is the result of a comparison with storage.
type Resolution struct {
	Done  bool        // it is already written, and the answer was lost
	ETag  tables.ETag // version in storage, which the next try replaces
	Taken bool        // a job with a higher rank has written: the device is given up
}

// Tries is how often a transaction is rebuilt before its job fails and is tried again as a whole.
const Tries = 6

// WriteAll writes changes of a table, those of a partition in as few transactions as storage allows. Any failure is
// ambiguous: it reads the range once, compares each change with storage, and tries the rest again. It leaves out
// devices that are given up.
//
// A change that storage would never accept, or for which it refuses a transaction, is an error of its device.
func WriteAll(ctx context.Context, table *tables.Table, changes []*Write) error {
	for _, c := range changes {
		if err := c.Op.Entity.Check(); err != nil && !c.isMark() && c.Device.Err == nil {
			c.Device.Err = err
		}
	}
	for of := range byPartition(changes) {
		for _, group := range cut(Undone(of)) {
			if err := writeGroup(ctx, table, group); err != nil {
				return err
			}
		}
	}
	return nil
}

// byPartition yields the changes of each partition, which come together.
func byPartition(changes []*Write) iter.Seq[[]*Write] {
	return func(yield func([]*Write) bool) {
		for len(changes) > 0 {
			n := slices.IndexFunc(changes, func(c *Write) bool {
				return c.Op.Entity.PartitionKey != changes[0].Op.Entity.PartitionKey
			})
			if n < 0 {
				n = len(changes)
			}
			if !yield(changes[:n]) {
				return
			}
			changes = changes[n:]
		}
	}
}

// cut divides changes as tables.Cut divides their operations.
func cut(changes []*Write) (groups [][]*Write) {
	if len(changes) == 0 {
		return nil
	}
	ops := make([]tables.Op, len(changes))
	for i, c := range changes {
		ops[i] = c.Op
	}
	cuts, err := tables.Cut(ops)
	if err != nil {
		return [][]*Write{changes} // Submit reports the operation and the reason
	}
	for _, g := range cuts {
		groups, changes = append(groups, changes[:len(g)]), changes[len(g):]
	}
	return groups
}

func writeGroup(ctx context.Context, table *tables.Table, group []*Write) error {
	var last error
	if group[0].look {
		if err := compare(ctx, table, group); err != nil {
			return err
		}
	}
	for try := 0; try < Tries; try++ {
		left := Undone(group)
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
			c.Device.Err = last
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
	if len(Undone(group)) == 0 {
		return nil
	}
	return fmt.Errorf("after %d tries: %w", Tries, last)
}

// refused returns the change for which storage always refuses a transaction, or nil if there is none or it may be
// accepted later.
func refused(changes []*Write, err error) *Write {
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

// Undone returns the changes that are still to be written. Marks are needed only with others: they are in the
// transaction of those that are done.
func Undone(group []*Write) (left []*Write) {
	marks := 0
	for _, c := range group {
		switch {
		case c.Done:
		case c.isMark():
			marks++
			left = append(left, c)
		case !c.Device.overtaken && c.Device.Err == nil:
			left = append(left, c)
		}
	}
	if len(left) == marks {
		return nil
	}
	return left
}

func submit(ctx context.Context, table *tables.Table, changes []*Write) error {
	ops := make([]tables.Op, len(changes))
	for i, c := range changes {
		ops[i] = c.Op
	}
	written, err := table.Submit(ctx, ops)
	if err != nil {
		return err
	}
	for i, c := range changes {
		c.Done, c.ETag = true, written.ETags[i]
	}
	return nil
}

// compare reads the changes' rows and decides about each.
func compare(ctx context.Context, table *tables.Table, changes []*Write) error {
	var keys []string
	for _, c := range changes {
		if !c.isMark() {
			keys = append(keys, c.Op.Entity.RowKey)
		}
	}
	found, err := find(ctx, table, changes[0].Op.Entity.PartitionKey, keys)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if !c.isMark() {
			c.settle(found[c.Op.Entity.RowKey])
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

func (c *Write) settle(found *tables.Entity) {
	v := c.Compare(found)
	switch {
	case v.Taken:
		c.Device.overtaken = true
	case v.Done:
		c.Done, c.ETag = true, v.ETag
	case found == nil:
		c.Op = tables.Insert(c.Op.Entity)
	case c.Op.Kind == tables.KindDelete:
		c.Op = tables.Delete(c.Op.Entity.PartitionKey, c.Op.Entity.RowKey, v.ETag)
	case c.Op.Kind == tables.KindMerge:
		c.Op = tables.Merge(c.Op.Entity, v.ETag)
	default:
		c.Op = tables.Replace(c.Op.Entity, v.ETag)
	}
}

// Retry repeats something harmless until it succeeds or tries are used up.
func Retry(ctx context.Context, do func() error) error {
	return RetryIf(ctx, Tries, func(error) bool { return true }, do)
}

// RetryIf repeats something harmless, with pauses, until it succeeds, fails with another error, or tries are used up.
func RetryIf(ctx context.Context, tries int, again func(error) bool, do func() error) (err error) {
	for try := range tries {
		if err = do(); err == nil || !again(err) || try == tries-1 {
			return err
		}
		if err := Pause(ctx, min(try, Tries)); err != nil {
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

// IsChanged reports whether a write was refused because the row has another version or is gone.
func IsChanged(err error) bool {
	return errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrNotFound)
}

// Place writes a row on a version, and reports whether the row says what was written. A write that is refused because
// the row has another version may have met itself: its first try has arrived, and the answer was lost.
func Place(ctx context.Context, t *tables.Table, op tables.Op) (placed bool, err error) {
	if _, err = t.Do(ctx, op); !IsChanged(err) {
		return err == nil, err
	}
	found, err := t.Get(ctx, op.Entity.PartitionKey, op.Entity.RowKey)
	if errors.Is(err, tables.ErrNotFound) {
		return false, nil
	}
	return err == nil && !slices.ContainsFunc(op.Entity.Properties, func(p tables.Property) bool {
		return found.Get(p.Name) != p.Value
	}), err
}
