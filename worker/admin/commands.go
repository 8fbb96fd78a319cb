package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/tables/commands"
	"furrow/tables/schema"
)

// Names of acts in the activity log: those of the commands.
const (
	CommandAct = "command send"
	CancelAct  = "command cancel"
	DesiredAct = "device desired set"
)

// ErrNoCommands means that the devices of an enrollment read no commands.
var ErrNoCommands = errors.New("its enrollment has no commands; switch them on with furrow enrollment set ENROLLMENT " +
	"--commands, and devices read them with their next token")

// SendCommand sends a command to a device, which has the given time to take it.
func (f Fleet) SendCommand(
	ctx context.Context, by Actor, d schema.Device, body string, ttl time.Duration,
) (c schema.Command, err error) {
	c = schema.Command{Device: d.ID, Body: body, Who: by.Name}
	err = f.tellDevice(ctx, by, schema.Act{What: CommandAct, Detail: body + ", ttl " + schema.FormatDuration(ttl)}, d,
		func(ctx context.Context, to commands.Table) (_ string, err error) {
			c, err = to.Send(ctx, c, ttl)
			return string(c.ID), err
		})
	return c, err
}

// CancelCommand cancels a command that a device has not taken, also of a device that has left.
func (f Fleet) CancelCommand(
	ctx context.Context, by Actor, d schema.Device, id schema.CommandID,
) (c commands.Command, err error) {
	act := schema.Act{What: CancelAct, Device: d.ID, Tenant: d.Tenant, Detail: string(id)}
	err = f.Do(ctx, by, act, func(ctx context.Context) (_ string, err error) {
		c, err = f.commands().Cancel(ctx, d.ID, id, by.Name)
		return schema.CommandCanceled, err
	})
	return c, err
}

// SetDesired replaces the configuration that a device is to have.
func (f Fleet) SetDesired(ctx context.Context, by Actor, d schema.Device, body string) (c schema.Command, err error) {
	err = f.tellDevice(ctx, by, schema.Act{What: DesiredAct, Detail: body}, d,
		func(ctx context.Context, to commands.Table) (_ string, err error) {
			c, err = to.SetDesired(ctx, d.ID, body, by.Name)
			return string(c.ID), err
		})
	return c, err
}

// Commands returns the commands of a device that were sent within the last week or, with all, ever.
func (f Fleet) Commands(ctx context.Context, id schema.DeviceID, all bool) (commands.All, error) {
	from := commands.Recent(time.Now())
	if all {
		from = 0
	}
	return f.commands().Read(ctx, id, from)
}

func (f Fleet) commands() commands.Table { return commands.Of(f.Tables, f.Names) }

// TakesCommands returns an error that wraps ErrNoCommands if a device would never read a command.
func (f Fleet) TakesCommands(ctx context.Context, d schema.Device) error {
	e, err := f.Enrollments.Get(ctx, d.Enrollment)
	if err == nil && !e.Commands {
		err = fmt.Errorf("device %s: %w", d.ID, ErrNoCommands)
	}
	return err
}

// tellDevice does an act that tells a device something, if the device would ever read it.
func (f Fleet) tellDevice(ctx context.Context, by Actor, act schema.Act, d schema.Device,
	do func(context.Context, commands.Table) (string, error),
) error {
	if err := f.TakesCommands(ctx, d); err != nil {
		return err
	}
	act.Device, act.Tenant = d.ID, d.Tenant
	return f.Do(ctx, by, act, func(ctx context.Context) (string, error) { return do(ctx, f.commands()) })
}
