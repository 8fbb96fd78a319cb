package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

func deviceShowCommand() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "Show a device's record, its last tokens, and how far pipelines have folded it",
		Description: examples("device show pump-7"),
		ArgsUsage:   "DEVICE",
		Flags:       append(storageFlags(), jsonFlag()),
		Action:      deviceShow,
	}
}

func deviceShow(c *cli.Context) error {
	d, device, err := openNamedDevice(c)
	if err != nil {
		return err
	}
	r := answers.RecordOf(device)
	_, err = d.Registry.Fleet.Get(c.Context, device.Month.String(), string(device.Member().Key()))
	absent := tables.Absent(err)
	if err != nil && !absent {
		return err
	}
	r.InFleet = new(!absent)
	policies, found, err := d.reader().Devices().Policies(c.Context, device.Readings)
	if err != nil {
		return err
	}
	var known *schema.Policies
	if found {
		known = &policies
	}
	r.Tokens = answers.TokensOf(device, known)
	if r.Pipelines, err = tracksOf(c.Context, d.reader().Progress(), device.Member()); err != nil {
		return err
	}
	return printLine(c, r, recordText(r))
}

// tracksOf returns how far the pipelines have got with a device that have begun with it.
func tracksOf(ctx context.Context, f query.Progress, m schema.Member) (all []answers.DeviceTrack, err error) {
	pipelines, err := f.Pipelines(ctx)
	for _, p := range pipelines {
		t, begun, err := f.Track(ctx, p, m)
		if err != nil {
			return nil, err
		}
		if begun && p != config.Retention { // which folds nothing
			all = append(all, answers.DeviceTrack{Pipeline: string(p), Checkpoint: t.Checkpoint, Rows: t.Rows, Late: t.Late,
				BatchRows: t.BatchRows, BatchSeconds: t.BatchTook.Seconds(), Rest: answers.RestOf(t, m)})
		}
	}
	return all, err
}

// trackText describes how far a pipeline has got.
func trackText(t answers.DeviceTrack) string {
	text := fmt.Sprintf("  pipeline %s: %d rows folded, up to row %s", t.Pipeline, t.Rows, t.Checkpoint)
	if t.BatchRows > 0 {
		took := time.Duration(t.BatchSeconds * float64(time.Second)).Round(10 * time.Microsecond)
		text += fmt.Sprintf("; the last batch had %d rows and took %v", t.BatchRows, took)
	}
	if t.Rest != nil {
		text += "; " + t.Rest.String()
	}
	return text
}

// device returns the record of a device that was not removed. If there is none, the error suggests similar IDs.
func (d *deviceAdmin) device(ctx context.Context, id schema.DeviceID) (schema.Device, error) {
	device, err := d.anyDevice(ctx, id)
	if err == nil {
		err = leftError(device)
	}
	return device, err
}

// leftError returns an error for a device that was removed.
func leftError(d schema.Device) error {
	if !d.Status.Left() {
		return nil
	}
	return fmt.Errorf("device %s is %s; furrow device add registers it again", d.ID, d.Status)
}

// knownDevice returns an error for a device that is unknown or was removed: it suggests similar IDs.
func knownDevice(ctx context.Context, f query.Devices, id schema.DeviceID) error {
	if _, err := f.ScopeOfDevice(ctx, string(id)); err != nil {
		return err
	}
	device, found, err := f.Record(ctx, id)
	if err != nil || !found {
		return err
	}
	return leftError(device)
}

// anyDevice is like device, but also returns the records of removed devices.
func (d *deviceAdmin) anyDevice(ctx context.Context, id schema.DeviceID) (schema.Device, error) {
	device, err := d.Registry.Get(ctx, id)
	if !errors.Is(err, tables.ErrNotFound) {
		return device, err
	}
	if _, err := d.reader().Devices().ScopeOfDevice(ctx, string(id)); err != nil {
		return device, err
	}
	return device, fmt.Errorf("device %s is in the fleet but has no record: create it with furrow device add", id)
}

// recordText describes a device for people, without the end of its last line.
func recordText(r answers.Record) string {
	fleet := "runs find it"
	if !*r.InFleet {
		fleet = "no run finds it: its fleet row is missing until it gets a token or is added again"
	}
	position := ""
	if r.Lat != nil {
		position = fmt.Sprintf("%v, %v", *r.Lat, *r.Lon)
	}
	text := fmt.Sprintf("%s, of tenant %s: %s\n", r.Device, r.Tenant, r.Status)
	text += fieldLines(12, [][2]string{{"month", r.Month + ": " + fleet}, {"site", r.Site}, {"position", position},
		{"labels", answers.LabelsText(r.Labels)}, {"model", r.Model}, {"readings", "table " + r.Readings},
		{"enrollment", r.Enrollment}})
	if len(r.Tokens) == 0 {
		text += "  no token yet\n"
	}
	for _, t := range r.Tokens {
		ends := "expired at " + t.Expires.Format(time.RFC3339)
		switch {
		case t.Expires.Before(time.Now()):
		case t.Ended:
			ends = "ended by a revocation"
		default:
			ends = "expires" + strings.TrimPrefix(ends, "expired")
		}
		policy := "policy " + t.Policy
		if t.Policy == "" {
			policy = "no policy"
		}
		text += fmt.Sprintf("  token %s, %s: rows from %s to %s; %s\n", t.Fingerprint, policy,
			t.From.Format(time.RFC3339), t.To.Format(time.RFC3339), ends)
	}
	for _, t := range r.Pipelines {
		text += trackText(t) + "\n"
	}
	return strings.TrimSuffix(text, "\n")
}

func deviceKeyCommand() *cli.Command {
	return &cli.Command{
		Name:      "key",
		Usage:     "Print a device's key",
		ArgsUsage: "DEVICE",
		Description: "The key is derived from the enrollment's key. The device need not be registered." +
			examples("device key pump-7"),
		Flags: append(append(storageFlags(), masterFlags()...),
			enrollmentFlag("the device's, or the only one"),
			boolFlag("secondary", "Derive it from the secondary key instead of the primary"),
			jsonFlag()),
		Action: deviceKey,
	}
}

func deviceKey(c *cli.Context) error {
	d, id, err := openForDevice(c)
	if err != nil {
		return err
	}
	e, err := d.enrollmentOf(c.Context, id, c.String("enrollment"))
	if err != nil {
		return err
	}
	key, rank, err := d.key(e, c.Bool("secondary"))
	if err != nil {
		return err
	}
	own := key.Of(string(id)).Base64()
	return printSecret(c, keyLine{Enrollment: e.ID, Device: id, Rank: rank, Key: own}, own,
		fmt.Sprintf("Key of device %s, derived from the %s key of enrollment %s. Keep it secret.\n", id, rank, e.ID))
}

// enrollmentOf returns the enrollment of a device: if it is not registered, the one that is asked for, or the only one.
func (d *deviceAdmin) enrollmentOf(ctx context.Context, id schema.DeviceID, asked string) (schema.Enrollment, error) {
	device, err := d.Registry.Get(ctx, id)
	switch known := err == nil && device.Enrollment != ""; {
	case err != nil && !errors.Is(err, tables.ErrNotFound):
		return schema.Enrollment{}, err
	case known && asked != "" && asked != string(device.Enrollment):
		return schema.Enrollment{}, fmt.Errorf("device %s: %w: its key comes from %s", id, sas.ErrOtherEnrollment,
			device.Enrollment)
	case known:
		return d.named(ctx, string(device.Enrollment))
	}
	return d.enrollment(ctx, asked)
}
