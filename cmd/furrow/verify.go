package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/cmd/internal/verification"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/price"
	"furrow/worker/query"
	"furrow/worker/verify"
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "Count readings in storage and in every output, and compare them",
		ArgsUsage: "[DEVICE]",
		Description: `Reads the rows that devices have stored, and counts by device and day how many of them each pipeline has folded,
how many are in the newest values, in each window of rollups, in the buckets of reports, and, by tenant and day, in the
archive. With --values it computes every value again, and compares to the last digit. It shares no code with the
workers. Where devices number their readings, it says how many they made, and which of them storage does not have.

It prints a line for each device that differs and each reason. A reading can be late and wait for the next audit, be in
flight, have moved with its device, wait to be folded again, or be gone by retention. One whose run is still to come is
not due yet: it counts in the sums alone, and is no lack. What nothing explains is "unexplained", and
the exit code is then 1; it is 4 if something could not be read.

It changes nothing, and workers may go on: what changes while it looks is looked at again. Ctrl-C stops it; --after
continues behind the last device. It says first about how many requests it takes, and what they cost on Azure.

With "verify: {sample: 1%, every: 1d}" in the configuration, the scheduler verifies a sample of the devices each night.
For 1,000 devices that send every ten minutes, and a pipeline that runs every minute, the sample takes 95 requests of
tables, 0.04 % of what the runs of a day take. All devices would take 2.5 %.` +
			examples("verify pump-7", "verify --tenant contoso --last 30d --values", "verify --all --sample 1% --json"),
		Flags: append(fleetFlags(),
			&cli.StringFlag{Name: "tenant", Usage: "Devices of `TENANT`"},
			boolFlag("all", "All devices"),
			&cli.StringFlag{Name: "from", Usage: "First day as `TIME`, such as 2026-11-20"},
			&cli.StringFlag{Name: "to", DefaultText: "now", Usage: "`TIME` before which the days end"},
			durationFlag("last", 7*24*time.Hour, 0, "`DURATION` of the days if --from is not given"),
			boolFlag("values", "Compute every value again, and compare"),
			&cli.StringFlag{Name: "sample", DefaultText: "all",
				Usage: "`SHARE` of the devices, such as 1%: always the same; with --values also of the archive"},
			&cli.StringFlag{Name: "after", Usage: "Continue after `DEVICE`, in the order in which they are verified"},
			jsonFlag()),
		Action: verifyAction,
	}
}

func verifyAction(c *cli.Context) error {
	span, share, err := verifyFlags(c)
	if err != nil {
		return err
	}
	var requests tables.Counter
	f, _, err := openFleet(c, roles.Hooks{Table: requests.Count})
	if err != nil {
		return blind(err)
	}
	v, err := verification.Of(f.Tables, f.Names, f.Pipelines, f.Format)
	if err != nil {
		return err
	}
	v.From, v.To, v.Share, v.Values = span.From, span.To, share, c.Bool("values")
	v.Device, v.Tenant = schema.DeviceID(c.Args().First()), schema.Tenant(c.String("tenant"))
	if err := knownTenant(c, f.Reader().Devices(), v.Tenant); err != nil {
		return blind(err)
	}
	if v.Device != "" {
		if err := knownDevice(c.Context, f.Reader().Devices(), v.Device); err != nil {
			return blind(err)
		}
	}
	if v.Archive != nil && f.Archive != nil {
		v.Archive.Read = verification.FilesOf(f.Archive)
	}
	v.Pause = func() { setup.Pause(c.Context, verifyPause) }
	if err := continueAfter(c, f.Reader().Devices(), v); err != nil {
		return err
	}
	return verifyAll(c, v, &requests)
}

// blind returns an error that has the exit code of a command that could not look, unless the command line was wrong.
func blind(err error) error {
	if _, usage := errors.AsType[*usageError](err); usage {
		return err
	}
	return &blindError{err}
}

// verifyPause is how long a device is left alone that changes while it is looked at.
const verifyPause = 200 * time.Millisecond

// verifyFlags reads the flags that need no storage.
func verifyFlags(c *cli.Context) (span query.Span, share float64, err error) {
	scopes := c.NArg()
	for _, name := range []string{"tenant", "all"} {
		if c.IsSet(name) {
			scopes++
		}
	}
	if scopes != 1 {
		return span, 0, usagef(c, "name one DEVICE, a --tenant, or --all")
	}
	if c.NArg() == 1 {
		if _, err := argument(c, 0, schema.ParseDeviceID); err != nil {
			return span, 0, err
		}
	}
	if _, err := parsed(c, "tenant", schema.ParseTenant); err != nil {
		return span, 0, err
	}
	if c.NArg() == 1 && anySet(c, "sample", "after") {
		return span, 0, usagef(c, "--sample and --after select among devices: give them with --tenant or --all, not "+
			"with one DEVICE")
	}
	if span, err = querySpan(c); err != nil {
		return span, 0, err
	}
	span.From, span.To = span.From.Floor(tables.Day), span.To.Ceil(tables.Day)
	if text := c.String("sample"); text != "" {
		percent, is := strings.CutSuffix(text, "%")
		share, err = strconv.ParseFloat(percent, 64)
		if err != nil || !is || !(share > 0 && share <= 100) {
			return span, 0, usagef(c, "--sample is %q; want a share such as 1%%", text)
		}
		share /= 100
	}
	return span, share, nil
}

// continueAfter sets the place of the device of --after.
func continueAfter(c *cli.Context, f query.Devices, v *verify.Config) error {
	if !c.IsSet("after") {
		return nil
	}
	id, err := parsed(c, "after", schema.ParseDeviceID)
	if err != nil {
		return err
	}
	of, err := f.ScopeOfDevice(c.Context, string(id))
	if err != nil {
		return &blindError{fmt.Errorf("--after: %w", err)}
	}
	m := of.Member()
	if v.Tenant != "" {
		m.Tenant = v.Tenant
	}
	v.After = m.Place()
	return nil
}

// A verifiedTotals is the last line of verify in JSON.
type verifiedTotals struct {
	verify.Totals
	Requests int64   `json:"requests"`
	USD      float64 `json:"usd"` // on Azure
	Seconds  float64 `json:"seconds"`
}

// verifyAll verifies devices, and prints what differs.
func verifyAll(c *cli.Context, v *verify.Config, requests *tables.Counter) error {
	estimate, err := v.Estimate(c.Context)
	if err != nil {
		return &blindError{err}
	}
	fmt.Fprintf(c.App.ErrWriter, "furrow: %s, about %s: about %s of tables, %s on Azure\n",
		many(estimate.Devices, "device"), many(estimate.Readings, "reading"),
		many(estimate.Requests, "request"), dollarsText(dollarsOf(estimate.Requests)))
	began, shown := time.Now(), verifyProgress(c, estimate.Devices)
	var sum verifiedTotals
	for d, err := range v.Run(c.Context) {
		if err != nil {
			if sum.Last != "" {
				err = fmt.Errorf("%w; verified up to device %s: continue with --after %s", err, sum.Last, sum.Last)
			}
			return &blindError{err}
		}
		sum.Add(&d)
		shown(sum.Devices)
		if err := printVerified(c, &d); err != nil {
			return err
		}
	}
	for _, n := range requests.Counts() {
		sum.Requests += n
	}
	sum.USD, sum.Seconds = dollarsOf(sum.Requests), time.Since(began).Seconds()
	if err := printLine(c, sum, sum.text()); err != nil {
		return err
	}
	if sum.Unexplained > 0 {
		return errors.New(many(sum.Unexplained, "difference") + " that nothing explains")
	}
	return nil
}

func dollarsOf(requests int64) float64 {
	return float64(requests) * price.Azure().Operation("tables query")
}

func dollarsText(usd float64) string {
	if usd < 0.005 {
		return "less than $0.01"
	}
	return fmt.Sprintf("$%.2f", usd)
}

// verifyProgress returns a function that says on a terminal how many devices were verified.
func verifyProgress(c *cli.Context, all int64) func(done int64) {
	f, ok := c.App.ErrWriter.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func(int64) {}
	}
	p := newProgress(f, 2*time.Second)
	p.Stage("verifying", all)
	return func(done int64) { p.Progress(done, 0) }
}

// printVerified prints a device as JSON, or its differences. Those that the next run ends are in the totals alone.
func printVerified(c *cli.Context, d *verify.Device) error {
	if c.Bool("json") {
		return writeJSONLine(c.App.Writer, d)
	}
	for _, x := range d.Lines() {
		if x.Reason == verify.NotDue {
			continue
		}
		if _, err := fmt.Fprintln(c.App.Writer, x); err != nil {
			return err
		}
	}
	return nil
}
