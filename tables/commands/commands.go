// Package commands keeps what devices are told to do: commands, which expire, and the configuration that a device is to
// have. People, the API and rules send them; devices read their own, and acknowledge with readings.
package commands

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Table is the commands of a fleet.
type Table struct{ *tables.Table }

// Of returns the commands of the fleet with these names.
func Of(c *tables.Client, names schema.Names) Table { return Table{c.Table(names.Commands())} }

// A Command is a command, or a desired configuration, with what the device has said about it.
type Command struct {
	schema.Command
	Acks []schema.Ack // the oldest first
}

// Last returns the acknowledgement that holds, nil if there is none: the newest with a result, whatever the device's
// clock said when it received the command again after a restart, or else the newest.
func (c Command) Last() *schema.Ack {
	for i := len(c.Acks) - 1; i >= 0; i-- {
		if c.Acks[i].State != schema.CommandReceived {
			return &c.Acks[i]
		}
	}
	if len(c.Acks) == 0 {
		return nil
	}
	return &c.Acks[len(c.Acks)-1]
}

// State returns the state of a command at a time of storage. An acknowledgement counts more than anything else.
func (c Command) State(now tables.Ticks) string {
	switch last := c.Last(); {
	case last != nil:
		return last.State
	case c.Canceled != 0:
		return schema.CommandCanceled
	case c.Expires <= now:
		return schema.CommandExpired
	}
	return schema.CommandQueued
}

// All are the commands of a device, and storage's time when they were read.
type All struct {
	Commands []Command // the oldest first
	Desired  *Command  // nil if there is none
	Now      tables.Ticks

	cut bool // later ones were not read
}

// Waiting counts the commands that the device has neither acknowledged nor missed.
func (a All) Waiting() (n int) {
	for _, c := range a.Commands {
		if c.State(a.Now) == schema.CommandQueued {
			n++
		}
	}
	return n
}

// Read returns the commands of a device that were sent at a time or later, and its desired configuration. It passes
// over rows of newer programs.
func (t Table) Read(ctx context.Context, device schema.DeviceID, from tables.Ticks) (All, error) {
	all, acks, err := t.rows(ctx, device, schema.CommandRows(from), math.MaxInt)
	if err != nil || all.Desired == nil {
		return all, err
	}
	id := all.Desired.ID
	if id.Sent() < from {
		if _, acks, err = t.rows(ctx, device, id.Rows(), math.MaxInt); err != nil {
			return all, err
		}
	}
	all.Desired.Acks = acks[id]
	return all, nil
}

// waitingRows is how many rows Waiting reads at least before it ends early.
const waitingRows = 2000

// Waiting returns how many commands wait for a device, for the answer with its token. A device may acknowledge as often
// as it likes, also commands that nobody has sent, and each acknowledgement is a row. Where there are many, Waiting
// reads the oldest, and returns at least one.
func (t Table) Waiting(ctx context.Context, device schema.DeviceID) (int, error) {
	all, _, err := t.rows(ctx, device, schema.CommandRows(Recent(time.Now())), waitingRows)
	n := all.Waiting()
	if all.cut {
		n = max(1, n)
	}
	return n, err
}

// rows reads rows of a device. It ends after the page with which it has read most rows.
func (t Table) rows(
	ctx context.Context, device schema.DeviceID, rows tables.Keys, most int,
) (all All, acks map[schema.CommandID][]schema.Ack, err error) {
	acks = map[schema.CommandID][]schema.Ack{}
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(device)), Rows: rows}}
	for page, err := range t.Rows(ctx, q) {
		if errors.Is(err, tables.ErrNoTable) {
			break
		}
		if err != nil {
			return all, nil, err
		}
		all.Now = max(all.Now, tables.TicksOf(page.Time))
		for _, row := range page.Rows {
			if err := all.add(row, acks); err != nil && !errors.Is(err, schema.ErrNewer) {
				return all, nil, fmt.Errorf("commands of %s: %w", device, err)
			}
		}
		if most -= len(page.Rows); most <= 0 {
			all.cut = page.Next != tables.Continuation{}
			break
		}
	}
	if all.Now <= 0 {
		all.Now = tables.TicksOf(time.Now())
	}
	for i := range all.Commands {
		c := &all.Commands[i]
		c.Acks = acks[c.ID]
	}
	return all, acks, nil
}

func (a *All) add(row tables.Entity, acks map[schema.CommandID][]schema.Ack) error {
	if schema.IsAck(row) {
		ack, err := schema.AckOf(row)
		if err == nil {
			acks[ack.ID] = append(acks[ack.ID], ack)
		}
		return err
	}
	c, err := schema.CommandOf(row)
	switch {
	case err != nil:
	case c.Desired:
		a.Desired = &Command{Command: c}
	default:
		a.Commands = append(a.Commands, Command{Command: c})
	}
	return err
}

// Recent is how far back a device's commands have to be read to find all that may wait.
func Recent(now time.Time) tables.Ticks {
	return tables.TicksOf(now.Add(-schema.MaxCommandLife - time.Hour))
}

// Get returns a command of a device, or tables.ErrNotFound.
func (t Table) Get(ctx context.Context, device schema.DeviceID, id schema.CommandID) (Command, tables.Ticks, error) {
	all, _, err := t.rows(ctx, device, id.Rows(), math.MaxInt)
	if err != nil {
		return Command{}, all.Now, err
	}
	i := slices.IndexFunc(all.Commands, func(c Command) bool { return c.ID == id })
	if i < 0 {
		return Command{}, all.Now, fmt.Errorf("device %s has no command %s: %w", device, id, tables.ErrNotFound)
	}
	return all.Commands[i], all.Now, nil
}

// suffixLength is the length of the random suffix of an ID: 40 bits, beside the ticks.
const suffixLength = 8

func newID(now tables.Ticks, random string) schema.CommandID {
	return schema.NewCommandID(now, strings.ToLower(random[:suffixLength]))
}
