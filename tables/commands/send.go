package commands

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// ErrFull means that too many commands wait for a device.
var ErrFull = fmt.Errorf("%d commands wait for the device, and no more can: cancel some with furrow command cancel, "+
	"or wait until it takes them or they expire", schema.MaxCommands)

// Send sends a command, with an ID and an expiry of storage's time, and returns it. The IDs of a device's commands are
// in the order in which they were sent. It can fail with ErrFull.
func (t Table) Send(ctx context.Context, c schema.Command, ttl time.Duration) (schema.Command, error) {
	if err := schema.CheckCommandLife(ttl); err != nil {
		return c, err
	}
	suffix := rand.Text()
	return t.insert(ctx, c.Device, func(count counter) schema.Command {
		c.ID, c.Expires = newID(max(count.now, count.last+1), suffix), count.now.Add(ttl)
		return c
	})
}

// Insert inserts a command that has its ID and expiry. If it is there already, it changes nothing. It can fail with
// ErrFull.
func (t Table) Insert(ctx context.Context, c schema.Command) error {
	_, err := t.insert(ctx, c.Device, func(counter) schema.Command { return c })
	if !errors.Is(err, ErrFull) {
		return err
	}
	_, _, there := t.Get(ctx, c.Device, c.ID) // it may be one of those that wait
	if errors.Is(there, tables.ErrNotFound) {
		return err
	}
	return there
}

// A counter is at least the number of the commands that wait for a device. Nobody lowers it when one no longer does:
// it is corrected when it has reached its maximum.
type counter struct {
	n    int64
	last tables.Ticks // of the newest command that was sent
	etag tables.ETag  // empty: there is no row
	now  tables.Ticks
}

func (t Table) counter(ctx context.Context, device schema.DeviceID) (c counter, err error) {
	// Unlike a Get, a query returns storage's time.
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(device)),
		Rows: tables.Is(schema.CommandCounterRow)}}
	for page, err := range t.Rows(ctx, q) {
		if errors.Is(err, tables.ErrNoTable) {
			if err = t.Create(ctx); err != nil {
				return c, err
			}
			break
		}
		if err != nil {
			return c, err
		}
		c.now = max(c.now, tables.TicksOf(page.Time))
		for _, row := range page.Rows {
			c.n, c.last, c.etag = row.Get("Number").Int(), tables.Ticks(row.Get("Last").Int()), row.ETag
		}
	}
	if c.now <= 0 {
		c.now = tables.TicksOf(time.Now())
	}
	return c, nil
}

// tries bounds the attempts to insert a command. Except for faults, each failed attempt means that another sender has
// succeeded.
const tries = 20

// entity returns the counter with one more command.
func (c counter) entity(sent schema.Command) tables.Entity {
	e := tables.Entity{PartitionKey: string(sent.Device), RowKey: schema.CommandCounterRow}
	e.Set("Number", tables.Int64(c.n+1))
	e.Set("Last", tables.Int64(int64(max(c.last, sent.ID.Sent()))))
	return e
}

// insert inserts a command and counts it in one transaction. Any failure is ambiguous: it reads again and compares.
func (t Table) insert(
	ctx context.Context, device schema.DeviceID, of func(counter) schema.Command,
) (c schema.Command, err error) {
	count, err := t.counter(ctx, device)
	for try := 0; err == nil && try < tries; try++ {
		if err = pause(ctx, try); err == nil {
			err = t.room(ctx, device, &count)
		}
		if err != nil {
			return c, err
		}
		c = of(count)
		row, err := c.Entity()
		if err != nil {
			return c, err
		}
		counted := tables.Insert(count.entity(c))
		if count.etag != "" {
			counted = tables.Replace(count.entity(c), count.etag)
		}
		_, failed := t.Submit(ctx, []tables.Op{tables.Insert(row), counted})
		if failed == nil {
			return c, nil
		}
		switch _, _, err := t.Get(ctx, device, c.ID); {
		case err == nil:
			return c, nil // by a request whose answer was lost, or by an earlier attempt for the same incident
		case !errors.Is(err, tables.ErrNotFound):
			return c, fmt.Errorf("whether the command is sent is unknown: %w", errors.Join(failed, err))
		case !errors.Is(failed, tables.ErrConflict) && !errors.Is(failed, tables.ErrExists):
			return c, failed
		}
		count, err = t.counter(ctx, device)
		if err != nil {
			return c, err
		}
	}
	if err == nil {
		err = fmt.Errorf("after %d tries: %w", tries, tables.ErrConflict)
	}
	return c, err
}

// room fails with ErrFull if no other command can wait.
func (t Table) room(ctx context.Context, device schema.DeviceID, count *counter) error {
	if count.n < schema.MaxCommands {
		return nil
	}
	all, err := t.Read(ctx, device, Recent(count.now.Time()))
	if err != nil {
		return err
	}
	if count.n = int64(all.Waiting()); count.n >= schema.MaxCommands {
		return ErrFull
	}
	return nil
}

func pause(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(min(5*time.Millisecond<<try, time.Second)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ErrTaken means that a device has acknowledged a command, so that it cannot be canceled.
var ErrTaken = errors.New("the device has taken it already")

// ErrExpired means that a command has ended without the device, so that there is nothing to cancel.
var ErrExpired = errors.New("it has expired")

// Cancel cancels a command that still waits, and returns it. Canceling it again changes nothing. A device that reads
// the command at this moment may still obey; its acknowledgement then holds.
func (t Table) Cancel(ctx context.Context, device schema.DeviceID, id schema.CommandID, by string) (Command, error) {
	for try := range tries {
		if err := pause(ctx, try); err != nil {
			return Command{}, err
		}
		c, now, err := t.Get(ctx, device, id)
		if err != nil {
			return c, err
		}
		switch state := c.State(now); state {
		case schema.CommandCanceled:
			return c, nil
		case schema.CommandExpired:
			return c, fmt.Errorf("command %s: %w", id, ErrExpired)
		case schema.CommandQueued:
		default:
			return c, fmt.Errorf("command %s is %s: %w", id, state, ErrTaken)
		}
		c.Canceled, c.By, c.Expires = now, by, min(c.Expires, now)
		e, err := c.Entity()
		if err != nil {
			return c, err
		}
		if _, err = t.Do(ctx, tables.Replace(e, c.ETag)); !errors.Is(err, tables.ErrConflict) {
			return c, err
		}
	}
	return Command{}, fmt.Errorf("command %s: %w", id, tables.ErrConflict)
}

// SetDesired replaces the configuration that a device is to have, and returns it. Of two at a time, the later holds.
func (t Table) SetDesired(ctx context.Context, device schema.DeviceID, body, who string) (schema.Command, error) {
	c := schema.Command{Device: device, Body: body, Who: who, Expires: tables.MaxTicks, Desired: true}
	for try := range tries {
		if err := pause(ctx, try); err != nil {
			return c, err
		}
		now, err := t.counter(ctx, device)
		if err != nil {
			return c, err
		}
		var was schema.Command
		row, err := t.Table.Get(ctx, string(device), schema.DesiredRow)
		if err == nil {
			was, err = schema.CommandOf(row)
		}
		if err != nil && !errors.Is(err, tables.ErrNotFound) {
			return c, err
		}
		at := now.now
		if was.ID != "" {
			if c.ID == was.ID {
				return c, nil // the answer was lost
			}
			at = max(at, was.ID.Sent()+1)
		}
		c.ID = newID(at, rand.Text())
		e, err := c.Entity()
		if err != nil {
			return c, err
		}
		op := tables.Insert(e)
		if was.ID != "" {
			op = tables.Replace(e, was.ETag)
		}
		_, err = t.Do(ctx, op)
		if !errors.Is(err, tables.ErrConflict) && !errors.Is(err, tables.ErrExists) {
			return c, err
		}
	}
	return c, fmt.Errorf("desired configuration of %s: %w", device, tables.ErrConflict)
}
