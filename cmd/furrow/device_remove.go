package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/removal"
	"furrow/cmd/internal/roles"
	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/query"
)

func deviceRemoveCommand() *cli.Command {
	return &cli.Command{
		Name:      "remove",
		Usage:     "Remove devices from the fleet",
		ArgsUsage: "[ID...]",
		Description: `The tokens of a device end as with device revoke, and runs no longer find it. Its readings and outputs stay,
unless --data deletes them. Its open incidents close, and whoever was notified of them is notified of that; --data
deletes all that it had, and leaves nothing of that notification once it is sent. It also leaves
the archive's tables, whose earlier versions end. Two things stay: what people did to it, in the activity log; and the reports that
counted it, and its buckets; retention deletes both in time, where it is configured. A removed device can register again
as a new one, and does so if it still has its key: to keep it out, use device revoke. If the command is interrupted,
repeat it; while history is being imported for a device, --data tells until when to wait. With --file, the devices are
those of FILE, an ID on each line, such as a list that furrow import --registered has written: with --data that takes
an import back.` + examples(
			"device remove pump-7 --yes", "device remove pump-7 --data --yes",
			"device remove --data --file registered.txt --yes"),
		Flags: append(storageFlags(), configFlag(),
			boolFlag("data", "Also delete its readings, commands, outputs, incidents and rejects in all pipelines; this "+
				"cannot be undone"),
			&cli.StringFlag{Name: "file", Usage: "Remove the devices of `FILE`, an ID on each line; - is the standard input"},
			boolFlag("yes", "Confirm"),
			jsonFlag()),
		Action: deviceRemove,
	}
}

// removedLine is a removed device in JSON.
type removedLine struct {
	Device schema.DeviceID `json:"device"`
	Status schema.Status   `json:"status"` // removed, or with --data erased
	// Incidents is how many of its incidents were open.
	Incidents int `json:"incidents,omitempty"`
	removal.Deleted
}

func deviceRemove(c *cli.Context) error {
	d, pipelines, eraser, err := openForRemoval(c)
	if err != nil {
		return err
	}
	texts, err := removedIDs(c)
	if err != nil {
		return err
	}
	devices, err := d.devices(c.Context, texts, d.anyDevice)
	if err != nil {
		return err
	}
	if !c.Bool("yes") {
		what := "its data is kept"
		if c.Bool("data") {
			what = "all its readings and outputs are deleted"
		}
		ending, err := d.ending(c, devices, schema.Revoked)
		if err != nil {
			return err
		}
		n, err := d.others(c.Context, ending, false)
		if err != nil {
			return err
		}
		return usagef(c, "%s leaves the fleet, and %s; %s must request a new token. Confirm with --yes",
			many(int64(len(devices)), "device"), what, many(int64(n), "other device"))
	}
	var still error
	for _, device := range devices {
		var line removedLine
		act := schema.Act{What: "device remove", Device: device.ID, Tenant: device.Tenant}
		err := d.recorded(c.Context, act, func(ctx context.Context) (_ string, err error) {
			line, err = d.remove(ctx, device, pipelines, eraser)
			return string(line.Status), err
		})
		if errors.Is(err, errStillWrites) {
			still = errors.Join(still, fmt.Errorf("device %s is not completely removed: %w", device.ID, err))
			continue
		}
		if undone(err) {
			return fmt.Errorf("device %s is not completely removed; repeat the command: %w", device.ID, err)
		}
		if err := errors.Join(line.print(c), err); err != nil {
			return err
		}
	}
	return still
}

// errStillWrites is why data is not deleted yet: more would come.
var errStillWrites = errors.New("until then it can store readings, so repeat the command later")

// removedIDs returns the IDs of the arguments or of the file.
func removedIDs(c *cli.Context) (ids []string, err error) {
	name := c.String("file")
	if name == "" {
		return c.Args().Slice(), nil
	}
	if c.NArg() > 0 {
		return nil, usagef(c, "name devices or a --file, not both")
	}
	in, err := openInput(c, name)
	if err != nil {
		return nil, err
	}
	defer in.Close() // it was only read
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" {
			ids = append(ids, text)
		}
	}
	return ids, lines.Err()
}

// openForRemoval opens the fleet with its pipelines, and with --data what deletes data.
func openForRemoval(c *cli.Context) (*deviceAdmin, []*jobs.Pipeline, *removal.Eraser, error) {
	f, s, err := openFleet(c)
	if err != nil {
		return nil, nil, nil, err
	}
	d := newDeviceAdmin(c, s)
	pipelines, err := allPipelines(f)
	if !c.Bool("data") {
		return d, pipelines, nil, err
	}
	return d, pipelines, &removal.Eraser{Tables: s.Tables, Names: s.Names, Pipelines: pipelines, Archive: f.Archive,
		Delay: s.policies().Delay}, err
}

func allPipelines(f *roles.Fleet) (all []*jobs.Pipeline, err error) {
	for _, p := range f.Pipelines {
		built, err := f.Jobs(p)
		if err != nil {
			return nil, err
		}
		all = append(all, built)
	}
	return all, nil
}

func (d *deviceAdmin) remove(
	ctx context.Context, device schema.Device, pipelines []*jobs.Pipeline, eraser *removal.Eraser,
) (removedLine, error) {
	line := removedLine{Device: device.ID, Status: schema.Removed}
	if device.Status == schema.Erased {
		line.Status = device.Status
		return line, nil
	}
	removed := device.Status == schema.Removed
	if !removed || eraser != nil { // it must not register again while its data is deleted
		if err := d.policies().Remove(ctx, device); err != nil {
			return line, err
		}
		var err error // it may have moved since the record was read, or a move that was interrupted is complete now
		if device, err = d.Registry.Get(ctx, device.ID); err != nil {
			return line, err
		}
	}
	for _, p := range pipelines {
		for _, t := range device.Tenants() {
			closed, err := p.Leave(ctx, device.Of(t), query.Removed)
			if line.Incidents += closed; err != nil {
				return line, err
			}
		}
	}
	closed, err := d.reader().Incidents().Close(ctx, device) // of pipelines that the configuration no longer has
	if line.Incidents += closed; err != nil || removed && eraser == nil {
		return line, err
	}
	if until := admin.LastUnended(device); eraser != nil && !until.IsZero() {
		return line, fmt.Errorf("its last token expires at %s: %w", until.Format(time.RFC3339), errStillWrites)
	}
	for _, m := range device.Kept.Members {
		if until := m.Imports.WriteUntil(tables.TicksOf(time.Now())); eraser != nil && until > 0 {
			return line, fmt.Errorf("history is being imported for it, or was a moment ago, until %s at the latest: %w",
				until.Time().Format(time.RFC3339), errStillWrites)
		}
	}
	if eraser != nil {
		deleted, err := eraser.Erase(ctx, device)
		if err != nil {
			return line, err
		}
		line.Status, line.Deleted = schema.Erased, deleted
	}
	return line, d.Registry.Left(ctx, device.ID, line.Status)
}

func (l removedLine) print(c *cli.Context) error {
	told := "is removed; its data is kept"
	if l.Incidents > 0 {
		told += ", and " + many(int64(l.Incidents), "open incident") + " closed"
	}
	if l.Status == schema.Erased {
		told = fmt.Sprintf("is removed, with %s, %s, %s and %s", many(int64(l.Readings), "reading"),
			many(int64(l.Outputs), "row")+" of outputs", many(int64(l.Archived), "row")+" of the archive",
			many(int64(l.Commands), "row")+" of commands")
		if l.Files > 0 {
			told += "; " + many(int64(l.Files), "file") + " of the archive were made again without it"
		}
		for _, name := range l.Copies {
			told += "; the copy in container " + name + " has it until furrow archive copy runs again"
		}
	}
	return printLine(c, l, fmt.Sprintf("%s %s", l.Device, told))
}
