package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"furrow/tables"
	"furrow/tables/commands"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/dashboard/api"
)

// commandTimes are how long a command can wait for its device.
func commandTimes() []string { return []string{"10m", "1h", "1d", "7d"} }

// telling prepares an act that tells a device JSON.
func (s *acting) telling(r *http.Request, verb, name string) (prepared, schema.Device, error) {
	one, device, err := s.aboutDevice(r, verb, name)
	one.page.Text, one.page.TextNeeded, one.page.MaxText = "JSON", true, schema.MaxCommandBody
	return one, device, err
}

// planTelling says why nothing can be told to a device, if it reads no commands.
func (s *acting) planTelling(ctx context.Context, page *ActPage, device schema.Device) error {
	err := s.actsOn(device.ID).TakesCommands(ctx, device)
	if errors.Is(err, admin.ErrNoCommands) {
		page.Blocked = capital(err.Error()) + "."
		return nil
	}
	return err
}

func (s *acting) sendCommand(r *http.Request, _ api.None) (prepared, error) {
	one, device, err := s.telling(r, "Send a command to", admin.CommandAct)
	one.page.Button = "Send the command"
	one.plan = func(ctx context.Context, page *ActPage) error {
		page.For = commandTimes()
		page.Will = []string{"The device reads the command when it next asks, and says what became of it.",
			"If it does not ask in time, the command expires."}
		return s.planTelling(ctx, page, device)
	}
	one.do = func(ctx context.Context, form url.Values) ([]string, error) {
		ttl, err := schema.ParseDuration(form.Get("for"))
		if err != nil || !slices.Contains(commandTimes(), form.Get("for")) {
			return nil, api.NewProblem(api.BadRequest, "Invalid request", "Choose how long the command may wait.")
		}
		if err := commandBody(form); err != nil {
			return nil, err
		}
		c, err := s.actsOn(device.ID).SendCommand(ctx, actor(ctx), device, form.Get("text"), ttl)
		return s.told(device, fmt.Sprintf("The command %s waits for the device.", c.ID), err)
	}
	return one, err
}

func (s *acting) setDesired(r *http.Request, _ api.None) (prepared, error) {
	one, device, err := s.telling(r, "Configure", admin.DesiredAct)
	one.page.Button = "Set the configuration"
	one.plan = func(ctx context.Context, page *ActPage) error {
		all, err := s.c.Model.Devices.CommandsNow(ctx, string(device.ID))
		if err != nil {
			return err
		}
		page.Will = []string{"The device reads it when it next asks, and after each start."}
		if all.Desired != nil {
			page.Was = all.Desired.Body
			page.Will = append(page.Will, "It replaces the configuration that "+
				cmp.Or(all.Desired.Who, "the former tenant")+" has set.")
		}
		return s.planTelling(ctx, page, device)
	}
	one.do = func(ctx context.Context, form url.Values) ([]string, error) {
		if err := commandBody(form); err != nil {
			return nil, err
		}
		_, err := s.actsOn(device.ID).SetDesired(ctx, actor(ctx), device, form.Get("text"))
		return s.told(device, "The configuration is set.", err)
	}
	return one, err
}

func (s *acting) cancelCommand(r *http.Request, _ api.None) (prepared, error) {
	one, device, err := s.aboutDevice(r, "Cancel a command of", admin.CancelAct)
	if err != nil {
		return one, err
	}
	id, err := schema.ParseCommandID(r.PathValue("command"))
	if err != nil {
		return one, errNoCommand()
	}
	acts := s.actsOn(device.ID)
	var c commands.Command
	var now tables.Ticks
	if err = s.c.Model.Devices.CheckCommand(r.Context(), string(device.ID), id); err == nil {
		c, now, err = commands.Of(acts.Tables, acts.Names).Get(r.Context(), device.ID, id)
	}
	if errors.Is(err, tables.ErrNotFound) {
		return one, errNoCommand()
	}
	one.page.Button = "Cancel the command"
	one.plan = func(_ context.Context, page *ActPage) error {
		if state := c.State(now); state != schema.CommandQueued {
			page.Blocked = fmt.Sprintf("The command is %s: it can no longer be canceled.", state)
		}
		page.Will = []string{"The device is not told: " + c.Body}
		return nil
	}
	one.do = func(ctx context.Context, _ url.Values) ([]string, error) {
		_, err := s.actsOn(device.ID).CancelCommand(ctx, actor(ctx), device, id)
		return s.told(device, "The command is canceled.", err)
	}
	return one, err
}

func errNoCommand() error {
	return api.NewProblem(api.NotFound, "Command not found", "The device has no such command.")
}

// commandBody refuses a text that no device can be told.
func commandBody(form url.Values) error {
	if err := schema.CheckCommandBody(form.Get("text")); err != nil {
		return api.NewProblem(api.BadRequest, "Invalid request", capital(err.Error())+".")
	}
	return nil
}

// told returns what an act has told a device, or why it could not.
func (s *acting) told(device schema.Device, did string, err error) ([]string, error) {
	s.c.Model.Devices.Forget(string(device.ID))
	return []string{did}, err
}
