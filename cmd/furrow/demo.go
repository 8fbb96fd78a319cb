package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/lab/demo"
	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/setup"
)

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "Run an end-to-end demonstration and verify every reading",
		Description: `Runs furrow up in a temporary directory, and a worker in a process of its own. A simulated fleet, or the
devices of a file, send readings with real tokens. Midway, the worker is killed (SIGKILL) and another one
takes over, and a device is revoked and refused. An oven gets too hot: a rule tells a webhook, and has the
oven cool down by a command. Then independent code looks up every accepted reading in the raw tables and
in all outputs, and compares incidents, notifications and commands with them. It exits with 1 if a reading
is lost, doubled or different. It takes about half a minute and deletes what it created.` + examples(
			"demo",
			"demo --devices 100 --readings 10000 --keep",
			"demo --replay week.csv.gz",
			"demo --json > demo.json",
			"demo --devices 50 --readings 2000 --storage env:AZURE_STORAGE_CONNECTION_STRING"),
		Flags:  append(demoFlags(), replayFlags()...),
		Action: playDemo,
	}
}

func demoFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "devices", Value: 1000, Usage: "`NUMBER` of devices"},
		&cli.IntFlag{Name: "readings", Value: 100_000, Usage: "`NUMBER` of readings, rounded up to the same for each device"},
		&cli.StringFlag{Name: "storage", DefaultText: "its own, in the temporary directory",
			Usage: "`ACCOUNT` to run on: a connection string, or env:NAME for a variable that holds one. Tables and queues " +
				"get new names and are deleted"},
		caFlag(),
		boolFlag("keep", "Keep furrow up and the devices running until Ctrl-C"),
		jsonFlag(),
	}
}

// errDemoInterrupted makes an interrupted demo fail, because nothing was checked.
var errDemoInterrupted = errors.New("interrupted: nothing was checked, and everything was deleted")

func playDemo(c *cli.Context) (err error) {
	config, err := demoConfig(c)
	if err != nil {
		return err
	}
	if config.Program, err = os.Executable(); err != nil {
		return err
	}
	if config.Dir, err = os.MkdirTemp("", "furrow-demo-"); err != nil {
		return err
	}
	paceCollector()
	config.Screen = newProgress(c.App.ErrWriter, 3*time.Second)
	defer func() { err = errors.Join(err, os.RemoveAll(config.Dir)) }()
	d, err := demo.Open(c.Context, config)
	if err != nil {
		return interruptedOr(c.Context, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	report, err := d.Play(c.Context)
	if err != nil {
		return interruptedOr(c.Context, err)
	}
	if err = printLine(c, report, demoText(report)); err == nil && config.Keep {
		err = keepDemo(c, d, config)
	}
	if !report.OK && err == nil {
		err = fmt.Errorf("the check found %s differences; %s readings are lost and %s doubled",
			grouped(int64(report.Check.Differences)), grouped(int64(report.Check.Lost)), grouped(int64(report.Check.Doubled)))
	}
	return err
}

func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errDemoInterrupted
	}
	return err
}

// keepDemo keeps the demo running until the command is told to stop.
func keepDemo(c *cli.Context, d *demo.Demo, config demo.Config) error {
	storage := quoted(d.Data())
	if config.Storage != "" {
		storage = "… --names-prefix " + config.Prefix
	}
	_, err := fmt.Fprintf(c.App.ErrWriter, "\nThe demo is still running.\n\n"+
		"  dashboard   %s\n  tokens      %s\n  files       %s\n\n"+
		"  furrow query --tenant %s --latest --limit 5 --storage %s\n  furrow status --storage %s\n\n"+
		"Ctrl-C stops it and deletes everything.\n",
		d.Said.Dashboard, d.Said.Endpoint, config.Dir, config.Cast.Tenants[0], storage, storage)
	if err != nil {
		return err
	}
	return d.Live(c.Context)
}

// demoConfig reads the flags. It creates nothing yet.
func demoConfig(c *cli.Context) (demo.Config, error) {
	config := demo.Config{Storage: c.String("storage"), CA: c.String("ca"), Keep: c.Bool("keep")}
	if config.Storage != "" {
		if setup.IsDirectory(config.Storage) {
			return config, usagef(c, "--storage is a directory, but the demo creates its own; give a connection string, or "+
				"env:NAME for a variable that holds one")
		}
		found, err := setup.Find(config.Storage)
		if err != nil {
			return config, usagef(c, "--storage: %v", err)
		}
		if found.Account.Key == "" || found.Account.Queue == "" {
			return config, usagef(c, "--storage: the demo needs the account's key and queues: give a connection string with "+
				"AccountKey and QueueEndpoint")
		}
		config.Prefix = "demo" + strings.ToLower(rand.Text()[:8])
	}
	var err error
	if config.Cast, err = demoCast(c); err != nil {
		return config, err
	}
	config.Length = demoLength(config.Cast.Readings)
	if config.Cast.Readings <= smallDemo {
		config.Cadence = time.Second
	}
	return config, nil
}

// smallDemo is the greatest number of readings for a cadence of a second.
const smallDemo = 10_000

// demoPace is the number of readings per second that all devices send.
const demoPace = 8000

// demoLength is the time for sending readings: at least a few runs.
func demoLength(readings int64) time.Duration {
	return max(2*time.Second, time.Duration(readings)*time.Second/demoPace)
}

// Readings of a demo's simulated fleet.
const (
	demoEvery     = 15 * time.Second
	demoSendEvery = 150 * time.Second
	demoMonths    = 4
	demoOnEvery   = 10 * time.Second // with --keep
)

func demoCast(c *cli.Context) (demo.Cast, error) {
	if c.IsSet("replay") {
		if err := withoutReplay(c, "devices", "readings"); err != nil {
			return demo.Cast{}, err
		}
		s, err := newReplay(c)
		if err != nil {
			return demo.Cast{}, err
		}
		return demo.Cast{Members: s.members, Tenants: s.tenants, Sendings: s.run.Sendings, From: s.run.From, To: lastDue(s),
			Readings: s.expected, Backfill: s.backfill}, nil
	}
	if err := cmp.Or(onlyWithReplay(c), between(c, 2, 20_000, "devices")); err != nil {
		return demo.Cast{}, err
	}
	devices, readings := c.Int("devices"), c.Int("readings")
	if each := readings / devices; each < 10 || each > 10_000 {
		return demo.Cast{}, usagef(c, "--readings is %d, which is %d for each device; it must be between 10 and 10000 for "+
			"each", readings, each)
	}
	now := time.Now().UTC()
	f := simulate.Fleet{Seed: 1, Devices: devices, Tenants: 2, Months: demoMonths, Until: now, Every: demoEvery,
		SendEvery: demoSendEvery,
		Dirt: simulate.Dirt{Repeats: 0.002, Disorder: 0.002, Outages: 0.02, Stuck: 0.02, Texts: 0.02, Nested: 0.01,
			Nonsense: 0.001}}
	from := now.Add(-time.Duration((readings+devices-1)/devices+1) * demoEvery)
	cast := demo.Cast{Members: f.Members(), From: from, To: now, Readings: int64(readings),
		Backfill: backfillFor(now.Sub(from))}
	for i := range f.Tenants {
		cast.Tenants = append(cast.Tenants, cast.Members[i].Tenant)
	}
	cast.Sendings = func(m simulate.Member) simulate.Stream { return f.Sendings(m, from, now) }
	on := f
	on.Every, on.SendEvery = demoOnEvery, 0
	cast.Onward = func(m simulate.Member, from time.Time) simulate.Stream { return on.Sendings(m, from, time.Time{}) }
	return cast, nil
}

// lastDue returns the time of the last reading of a simulation.
func lastDue(s *simulation) (last time.Time) {
	for _, m := range s.members {
		for sending := range s.run.Sendings(m) {
			if sending.Due.After(last) {
				last = sending.Due
			}
		}
	}
	return last
}
