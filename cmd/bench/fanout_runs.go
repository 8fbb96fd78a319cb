package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/jobs"
	"furrow/jobs/refold"
	"furrow/tables/schema"
	"furrow/worker/price"
)

// A fanout is one kind of run that is measured over and over.
type fanout struct {
	name       string
	about      string                                 // for the help text
	processors string                                 // of the pipeline, in the configuration file's words
	also       string                                 // the rest of the file
	rows       func(c fanoutSettings, device int) int // new ones of a device in each round
	audit      refold.Depth                           // of the run; empty: none, it folds
	after      bool                                   // the run after the fold of a round is measured; each has a day
}

func newRows(n int) func(fanoutSettings, int) int { return func(fanoutSettings, int) int { return n } }

func manyRows(c fanoutSettings, _ int) int { return c.rows }

// laggards is how many devices there are for each one that is far behind, and how much farther than others it is.
const laggards = 20

func laggingRows(c fanoutSettings, device int) int {
	if device%laggards == 0 {
		return laggards * c.rows
	}
	return 1
}

func fanouts() []fanout {
	const standard = "latest, rollup: {windows: [1m, 1h, 1d]}"
	watch := "rules:\n  hot: {when: {threshold: {sensor: temperature, above: 60}}}\n" +
		"  silent: {when: {silence: {after: 48h}}}\n"
	return []fanout{
		{name: "idle", about: "Nobody has a new row", processors: standard, rows: newRows(0)},
		{name: "active", about: "Each device has a new row, for latest and rollups by minute, hour and day",
			processors: standard, rows: newRows(1)},
		{name: "commit", about: "As active, for an archive whose days are open: claims and commits, but no outputs",
			processors: "archive: {closeAfter: 168h}", rows: newRows(1)},
		{name: "rules", about: "As active, with a rule for a threshold and one for silence",
			processors: standard + ", rules", also: watch, rows: newRows(1)},
		{name: "reports", about: "As active, with reports of tenants by hour and day", processors: standard,
			also: "reports: {windows: [1h, 1d], by: [tenant]}\n", rows: newRows(1)},
		{name: "backlog", about: "Each device has many new rows, a second apart (--rows)", processors: standard,
			rows: manyRows},
		{name: "beside", about: "As active, while one device in twenty has 20 times --rows to catch up",
			processors: standard, rows: laggingRows},
		{name: "archive", about: "As idle, and a day's file is written, with --rows of each device",
			processors: "archive", rows: manyRows, after: true},
		{name: "audit", about: "Look for late rows of every device, in vain", processors: standard, rows: newRows(0),
			audit: refold.Full},
	}
}

// start is before the first rows. Where a round has a day of its own, even the last one was over yesterday.
func (w fanout) start(c fanoutSettings, now time.Time) time.Time {
	if w.after {
		return now.Truncate(day).Add(-time.Duration(2+max(1, c.history)+c.rounds)*day - time.Hour/2)
	}
	return now.Add(-time.Duration(1+c.history) * day)
}

const day = 24 * time.Hour

// run measures whole runs: from a master job in the queue to the last commit, by one worker, one workload after the
// other.
func (c fanoutSettings) run(ctx context.Context, storage *fanoutStorage) error {
	for _, w := range fanouts() {
		if !c.wants(w.name) {
			continue
		}
		f, err := openFanout(ctx, c, w, storage)
		if err == nil {
			err = f.measure(ctx, storage)
		}
		if f != nil && storage.embedded == nil {
			err = errors.Join(err, f.remove(ctx))
		}
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// loaded is the configuration of a workload.
func (w fanout) loaded(batch int) (generations.Loaded, error) {
	text := fmt.Sprintf("pipelines:\n- {name: %s, cadence: 1m, settle: 1s, batch: %d, processors: [%s]}\n%s",
		fanoutPipeline, batch, w.processors, w.also)
	c, err := config.Parse("bench", []byte(text))
	return generations.Loaded{Format: schema.Format, Config: c}, err
}

// measure makes a first run, which creates the devices' tracking rows, and then those that count. The first run of a
// fleet puts audits of all devices, which would else be counted with whatever is measured next.
func (f *fanoutFleet) measure(ctx context.Context, storage *fanoutStorage) error {
	rows := max(1, 24*f.history)
	all, err := f.send(ctx, newRows(rows))
	if err != nil {
		return err
	}
	if _, err := f.work(ctx, goal{rows: all, kinds: []jobs.Kind{jobs.Device, jobs.Audit}}); err != nil {
		return err
	}
	f.every = time.Second
	often := time.Minute
	if f.workload.after {
		often = day
		f.every = day / time.Duration(f.rows)
		if _, err := f.work(ctx, goal{marks: max(1, f.history) * f.tenantDays()}); err != nil {
			return err
		}
		f.newest = f.newest.Truncate(day).Add(day - f.every/2)
	}
	for range f.rounds {
		found, err := f.run(ctx, storage)
		if err == nil {
			err = f.print(found, often)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A fanoutRound is one run of the whole fleet.
type fanoutRound struct {
	took       time.Duration    // from the master job to the last commit
	seen       time.Duration    // until no device waited for a first look
	rows       int              // new ones of all devices
	cpu        time.Duration    // of this process
	wireCPU    time.Duration    // of the same requests to a service that does nothing
	operations map[string]int64 // by service and kind
}

// print prints the line of a round. The price is that of these operations on Azure, as often.
func (f *fanoutFleet) print(r fanoutRound, often time.Duration) error {
	n := float64(f.devices)
	each := func(d time.Duration, unit string) figure { return figure{float64(d.Nanoseconds()) / n, unit} }
	_, dollars := price.Azure().Monthly(r.operations, often)
	figures := []figure{each(r.took, "ns/op"), {n / r.seen.Seconds(), "devices/s"},
		{float64(r.rows) / r.took.Seconds(), "rows/s"}, each(r.cpu, "worker-cpu-ns/op"),
		each(r.wireCPU, "wire-cpu-ns/op"), {dollars / n, "$/device-month"}}
	for _, name := range slices.Sorted(maps.Keys(r.operations)) {
		figures = append(figures, figure{float64(r.operations[name]) / n, strings.ReplaceAll(name, " ", "-") + "/op"})
	}
	return printLine(f.out, fmt.Sprintf("Fanout/%s/devices=%d/batch=%d/tenants=%d/months=%d/history=%d", f.workload.name,
		f.devices, f.batch, f.tenants, f.months, f.history), f.devices, figures...)
}

// run gives devices new rows, and measures the run that folds them, an audit, or the run after.
func (f *fanoutFleet) run(ctx context.Context, storage *fanoutStorage) (r fanoutRound, err error) {
	if r.rows, err = f.send(ctx, f.workload.rows); err != nil {
		return r, err
	}
	todo := goal{rows: r.rows, kinds: []jobs.Kind{jobs.Device}}
	switch {
	case f.workload.audit != "":
		todo = goal{audit: f.workload.audit, kinds: []jobs.Kind{jobs.Audit}}
	case f.workload.after:
		if _, err := f.work(ctx, todo); err != nil {
			return r, err
		}
		todo = goal{marks: f.tenantDays(), kinds: todo.kinds}
	}
	if err := storage.rest(ctx); err != nil {
		return r, err
	}
	before := f.operations()
	f.wire.on.Store(true)
	cpuBefore, began := cpu(), time.Now()
	seen, err := f.work(ctx, todo)
	if err != nil {
		return r, err
	}
	r.took, r.seen = time.Since(began), seen.Sub(began)
	r.cpu = cpu() - cpuBefore
	r.operations = map[string]int64{}
	for name, n := range f.operations() {
		if n -= before[name]; n > 0 {
			r.operations[name] = n
		}
	}
	r.wireCPU, err = wireTime(ctx, f.wire.recorded(), f.clients)
	return r, err
}

// tenantDays returns how many marks a day of the archive has: one for each tenant in a partition of the fleet.
func (f *fanoutFleet) tenantDays() int {
	all := map[schema.Mark]bool{}
	for _, m := range f.members {
		all[schema.Mark{Tenant: m.Tenant, Month: m.Month}] = true
	}
	return len(all)
}

// tenantOf spreads devices over tenants in turn, and month over months of deployment.
func (c fanoutSettings) tenantOf(n int) schema.Tenant {
	return schema.Tenant(fmt.Sprint("tenant-", n%c.tenants))
}

func (c fanoutSettings) monthOf(n int) schema.Month {
	month := n / c.tenants % c.months
	return schema.Month{Year: 2016 + month/12, Month: time.Month(1 + month%12)}
}
