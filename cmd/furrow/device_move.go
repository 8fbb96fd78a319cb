package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/tabular"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/query"
)

func deviceMoveCommand() *cli.Command {
	return &cli.Command{
		Name:      "move",
		Usage:     "Move devices to another tenant from a time on",
		ArgsUsage: "[DEVICE]",
		Description: `Readings whose row keys are at or after the time belong to the new tenant, the others stay with the former one:
runs fold again what they had folded for the wrong one. The device keeps its key, enrollment, readings table, site
and labels. With --file, many devices move: FILE is CSV with the columns id, tenant and at, or JSON lines, may be
gzipped, and - is the standard input. If a line of it is wrong, no device moves. Repeating the command is safe, and
completes a move that was interrupted.` + examples("device move pump-7 --tenant fabrikam", "device move pump-7 --tenant fabrikam --at 2026-11-20T08:00:00Z", "device move --file moves.csv"),
		Flags: append(storageFlags(),
			&cli.StringFlag{Name: "tenant", Usage: "`TENANT` that gets the device"},
			&cli.StringFlag{Name: "at", Usage: "`TIME` from which it belongs to the tenant (default: now)"},
			&cli.StringFlag{Name: "file", Usage: "Move the devices of `FILE`"},
			jsonFlag()),
		Action: deviceMove,
	}
}

// movedLine is a device that was moved, in JSON.
type movedLine struct {
	Device schema.DeviceID `json:"device"`
	From   schema.Tenant   `json:"from"` // equal to tenant if the device belonged to it already
	Tenant schema.Tenant   `json:"tenant"`
	At     *time.Time      `json:"at,omitempty"` // since when; absent if always
}

func deviceMove(c *cli.Context) error {
	moves, err := movesOf(c)
	if err != nil {
		return err
	}
	d, err := openDeviceAdmin(c)
	if err != nil {
		return err
	}
	if c.IsSet("file") {
		if err := d.checkMoves(c, moves); err != nil {
			return err
		}
	}
	for _, m := range moves {
		if err := d.move(c, m); err != nil {
			return err
		}
	}
	return nil
}

// move moves a device, and prints what it did.
func (d *deviceAdmin) move(c *cli.Context, m lineMove) error {
	act := schema.Act{What: admin.MoveAct, Device: m.Device, Tenant: m.To}
	var moved sas.Moved
	err := d.recorded(c.Context, act, func(ctx context.Context) (_ string, err error) {
		if moved, err = d.Registry.Move(ctx, m.Move); err != nil {
			return "", err
		}
		return fmt.Sprintf("from tenant %s, at %s", moved.From, moved.At.Time().Format(time.RFC3339Nano)), nil
	})
	if undone(err) {
		return m.fail(err)
	}
	line := movedLine{Device: m.Device, From: moved.From, Tenant: moved.Device.Tenant}
	line.At = ticksTime(moved.At)
	return errors.Join(line.print(c), err)
}

func (l movedLine) print(c *cli.Context) error {
	verb := "moved from tenant " + string(l.From) + " to tenant " + string(l.Tenant) + ":"
	since := "from the beginning"
	if l.From == l.Tenant {
		verb = "belongs to tenant " + string(l.Tenant) + " already,"
	}
	if l.At != nil {
		since = "from " + l.At.UTC().Format(time.RFC3339Nano) + " on"
	}
	return printLine(c, l, fmt.Sprintf("%s %s %s", l.Device, verb, since))
}

// A lineMove is a move, and the line of the file that asks for it.
type lineMove struct {
	sas.Move
	line int // zero: none
}

// fail says which move failed.
func (m lineMove) fail(err error) error {
	if errors.Is(err, tables.ErrNotFound) {
		err = errors.New("it is not registered")
	}
	if m.line == 0 {
		return fmt.Errorf("device %s: %w", m.Device, err)
	}
	return fmt.Errorf("line %d: device %s: %w", m.line, m.Device, err)
}

// movesOf returns the moves that the flags ask for.
func movesOf(c *cli.Context) ([]lineMove, error) {
	if c.IsSet("file") {
		if c.NArg() > 0 || c.IsSet("tenant") || c.IsSet("at") {
			return nil, usagef(c, "--file excludes a DEVICE, --tenant and --at: the lines of the file name them")
		}
		return readMoves(c)
	}
	id, err := argument(c, 0, schema.ParseDeviceID)
	if err != nil {
		return nil, err
	}
	m, err := moveOf(string(id), c.String("tenant"), c.String("at"))
	if err != nil {
		return nil, usagef(c, "%v", err)
	}
	return []lineMove{{Move: m}}, nil
}

// moveOf parses a move. Without a time it is as of now.
func moveOf(id, tenant, at string) (m sas.Move, err error) {
	if m.Device, err = schema.ParseDeviceID(id); err != nil {
		return m, err
	}
	if tenant == "" {
		return m, errors.New("name the tenant that gets the device, such as --tenant fabrikam")
	}
	if m.To, err = schema.ParseTenant(tenant); err != nil || at == "" {
		return m, err
	}
	if m.At, err = query.ParseMoment(at, time.Now()); err != nil {
		err = fmt.Errorf("at: %w", err)
	}
	return m, err
}

// readMoves reads the file, and reports all of its lines that are wrong.
func readMoves(c *cli.Context) (moves []lineMove, err error) {
	name := c.String("file")
	in, done, err := openFile(c, name)
	if err != nil {
		return nil, err
	}
	defer done() // it was only read
	file, err := tabular.Open(in, tabular.Options{Format: tableFormat(name)})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var wrong []error
	lines := map[schema.DeviceID]int{}
	for {
		record, err := file.Next()
		if errors.Is(err, io.EOF) {
			return moves, cmp.Or(checkMoveColumns(name, file.Names), wrongMoves(name, wrong))
		}
		if _, is := errors.AsType[*tabular.LineError](err); err != nil && !is {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fields := map[string]string{}
		for i, cell := range record {
			fields[file.Names[i]] = cell.Text
		}
		m, errMove := moveOf(fields["id"], fields["tenant"], fields["at"])
		if err = cmp.Or(err, errMove); err == nil && lines[m.Device] > 0 {
			err = fmt.Errorf("device %s is on line %d, too", m.Device, lines[m.Device])
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", file.Line, err))
			continue
		}
		lines[m.Device] = file.Line
		moves = append(moves, lineMove{m, file.Line})
	}
}

// checkMoveColumns refuses a column of another name: it may be meant as the time, and no move can be taken back.
func checkMoveColumns(file string, names []string) error {
	for _, name := range names {
		if !slices.Contains([]string{"id", "tenant", "at", ""}, name) {
			return fmt.Errorf("%s: no device was moved: column %q is none of id, tenant and at: rename it, or leave "+
				"it out", file, name)
		}
	}
	return nil
}

// checkMoves reports all lines of the file whose devices cannot move.
func (d *deviceAdmin) checkMoves(c *cli.Context, moves []lineMove) error {
	var wrong []error
	for _, m := range moves {
		_, err := d.Registry.WouldMove(c.Context, m.Move)
		if _, refused := errors.AsType[*sas.MoveError](err); refused || errors.Is(err, tables.ErrNotFound) {
			wrong = append(wrong, m.fail(err))
		} else if err != nil {
			return m.fail(err)
		}
	}
	return wrongMoves(c.String("file"), wrong)
}

// wrongMoves is the error of a file with lines that are wrong.
func wrongMoves(name string, wrong []error) error {
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%s: no device was moved, because of %s:\n%w", name, many(int64(len(wrong)), "invalid line"),
		errors.Join(wrong...))
}
