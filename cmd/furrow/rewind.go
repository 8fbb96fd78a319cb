package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os/user"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/roles"
	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

func rewindCommand() *cli.Command {
	return &cli.Command{
		Name:      "rewind",
		Usage:     "Reprocess readings from a point in time",
		ArgsUsage: "[DEVICE]",
		Description: `Folds all readings since that time again, a day at a time, and replaces the outputs, while workers continue
with new readings. Each device's tracking row records who asked for it and when. Audit jobs do the work, so
workers must run.` + examples("rewind pump-7 --to -36h", "rewind --tenant contoso --to 2026-11-20 --dry-run"),
		Flags: append(fleetFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "All devices whose IDs start with `PREFIX`"},
			&cli.StringFlag{Name: "tenant", Usage: "All devices of `TENANT`"},
			&cli.StringFlag{Name: "to", Usage: "`TIME` to go back to: 2026-11-20T08:00:00Z, 2026-11-20, or " +
				"-36h for 36 hours ago"},
			boolFlag("dry-run", "Count the devices concerned and change nothing"),
			jsonFlag()),
		Action: rewind,
	}
}

// rewoundLine is a rewind of a pipeline in JSON.
type rewoundLine struct {
	Pipeline schema.Pipeline `json:"pipeline"`
	Devices  int             `json:"devices"`
	To       time.Time       `json:"to"` // from where their readings are folded again
	DryRun   bool            `json:"dryRun"`
}

func rewind(c *cli.Context) error {
	devices := query.DeviceSelector{Device: schema.DeviceID(c.Args().First()), Prefix: c.String("prefix"),
		Tenant: schema.Tenant(c.String("tenant"))}
	if devices == (query.DeviceSelector{}) {
		return usagef(c, "name a DEVICE, a --prefix or a --tenant")
	}
	if devices.Device != "" {
		if _, err := schema.ParseDeviceID(string(devices.Device)); err != nil {
			return usagef(c, "%v", err)
		}
	}
	if !c.IsSet("to") {
		return usagef(c, "name the time to go back to with --to, such as --to -36h or --to 2026-11-20")
	}
	to, err := query.ParseMoment(c.String("to"), time.Now())
	if err != nil {
		return usagef(c, "--to: %v", err)
	}
	f, _, err := openFleet(c)
	if err != nil {
		return err
	}
	r := jobs.Rewound{To: to, At: time.Now(), By: operator(), Mark: rand.Text()}
	total := 0
	for _, p := range f.Pipelines {
		n, err := rewindPipeline(c, f, p, devices, r)
		total += n
		if err != nil {
			return fmt.Errorf("pipeline %s, after %d devices: %w", p.Name, n, err)
		}
		verb := "are"
		if c.Bool("dry-run") {
			verb = "would be"
		}
		err = printLine(c, rewoundLine{p.Name, n, to.Time(), c.Bool("dry-run")}, fmt.Sprintf("%s: %d devices %s folded "+
			"again from %s on", p.Name, n, verb, to.Time().Format(time.RFC3339)))
		if err != nil {
			return err
		}
	}
	if total == 0 {
		if err := knownTenant(c, f.Reader(), devices.Tenant); err != nil {
			return err
		}
		fmt.Fprintln(c.App.ErrWriter, "No such device has readings that were folded since then.")
	}
	return nil
}

// rewindPipeline rewinds the selected devices, and enqueues an audit for each batch of neighbors: the devices of a
// month and tenant come in the order of their keys.
func rewindPipeline(c *cli.Context, f *roles.Fleet, p config.Pipeline, devices query.DeviceSelector,
	r jobs.Rewound) (done int, err error) {
	pipeline, err := f.Jobs(p)
	if err != nil {
		return 0, err
	}
	queue := f.Queue(p)
	var batch jobs.Message
	size, tenant := 0, schema.Tenant("")
	flush := func(ctx context.Context) error {
		if size == 0 {
			return nil
		}
		size = 0
		return queue.Put(ctx, batch, 0)
	}
	for m, err := range f.Reader().Members(c.Context, devices) {
		if err != nil {
			return done, err
		}
		if c.Bool("dry-run") {
			done++
			continue
		}
		rewound, err := pipeline.Rewind(c.Context, m, r)
		if err != nil {
			return done, err
		}
		if !rewound {
			continue
		}
		done++
		if size > 0 && (size == p.Batch || batch.First.Month != m.Month || tenant != m.Tenant) {
			if err := flush(c.Context); err != nil {
				return done, err
			}
		}
		if size == 0 {
			batch = jobs.Message{Kind: jobs.Audit, Audit: jobs.Refold, Mark: r.Mark, Pipeline: p.Name, Run: tables.TicksOf(r.At),
				Generation: pipeline.Generation, First: m.Place()}
		}
		batch.Last, tenant = m.Place(), m.Tenant
		size++
	}
	return done, flush(c.Context)
}

// operator returns the user who runs the command, for the record.
func operator() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}
