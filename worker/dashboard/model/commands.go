package model

import (
	"context"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/commands"
	"furrow/tables/schema"
)

// Commands returns the commands of a device that were sent within the last week, since its tenant has it, and its
// desired configuration, which holds across a move.
func (ds *Devices) Commands(ctx context.Context, id string) (commands.All, error) {
	o, err := ds.owners.owner(ctx, id)
	if err != nil {
		return commands.All{}, err
	}
	return ds.told.get(ctx, ofMember(o.member), deviceAge, func(ctx context.Context) (commands.All, error) {
		return ds.commands(ctx, o.member)
	})
}

// CommandsNow is Commands as they are in storage now.
func (ds *Devices) CommandsNow(ctx context.Context, id string) (commands.All, error) {
	o, err := ds.owners.owner(ctx, id)
	if err != nil {
		return commands.All{}, err
	}
	return ds.commands(ctx, o.member)
}

func (ds *Devices) commands(ctx context.Context, m schema.Member) (commands.All, error) {
	a, since := ds.accounts.accountOf(m.Device), heldSince(m)
	all, err := commands.Of(a.Tables, a.Names).Read(ctx, m.Device, max(commands.Recent(time.Now()), since))
	if all.Desired != nil && all.Desired.ID.Sent() < since {
		all.Desired.Who = "" // somebody of the former tenant
	}
	return all, err
}

// heldSince is since when the tenant of a member has its device: others have sent the earlier commands. Zero: always.
func heldSince(m schema.Member) tables.Ticks {
	if n := len(m.Spans); n > 0 {
		return m.Spans[n-1].From
	}
	return 0
}

// CheckCommand returns tables.ErrNotFound for a command that a device was sent before the tenant had it that ctx may
// see.
func (ds *Devices) CheckCommand(ctx context.Context, id string, command schema.CommandID) error {
	o, err := ds.owners.owner(ctx, id)
	if err == nil && within(ctx) != "" && command.Sent() < heldSince(o.member) {
		err = fmt.Errorf("device %s has no command %s: %w", id, command, tables.ErrNotFound)
	}
	return err
}
