package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/cmd/internal/process"
	"furrow/cmd/internal/setup"
	"furrow/jobs"
	"furrow/jobs/refold"
	"furrow/tables/schema"
)

// A FanoutConfig says which fleet is run, and where.
type FanoutConfig struct {
	Settings // without For; Clients are jobs at a time
	Target   Target
	Devices  int
	Batch    int // devices of a message
	Tenants  int // that the devices belong to, in turn
	Months   int // of deployment, in turn
	Rows     int // of each device that are behind, in the workload backlog
	History  int // days of hourly rows that each device has when measuring begins

	Embed func(directory string) (*setup.Embedded, error) // opens the storage of the target Embedded
}

// A fanout is one kind of run that is measured over and over.
type fanout struct {
	workload
	processors string                               // of the pipeline, in the configuration file's words
	also       string                               // the rest of the file
	rows       func(c FanoutConfig, device int) int // new ones of a device in each round
	audit      refold.Depth                         // of the run; empty: none, it folds
	after      bool                                 // a round has a day of its own, and the run after its fold is measured
}

func newRows(n int) func(FanoutConfig, int) int { return func(FanoutConfig, int) int { return n } }

func manyRows(c FanoutConfig, _ int) int { return c.Rows }

// laggards is how many devices there are for each one that is far behind, and how much farther than others it is.
const laggards = 20

func laggingRows(c FanoutConfig, device int) int {
	if device%laggards == 0 {
		return laggards * c.Rows
	}
	return 1
}

func fanouts() []fanout {
	const standard = "latest, rollup"
	watch := "rules:\n  hot: {when: {threshold: {sensor: temperature, above: 60}}}\n" +
		"  silent: {when: {silence: {after: 48h}}}\n"
	of := func(name, about string) workload { return workload{name: name, about: about} }
	return []fanout{
		{workload: of("idle", "Nobody has a new row"), processors: standard, rows: newRows(0)},
		{workload: of("active", "Each device has a new row, for latest and rollups by minute, hour and day"),
			processors: standard, rows: newRows(1)},
		{workload: of("commit", "As active, for an archive whose days are open: claims and commits, but no outputs"),
			processors: "archive: {closeAfter: 168h}", rows: newRows(1)},
		{workload: of("rules", "As active, with a rule for a threshold and one for silence"),
			processors: standard + ", rules", also: watch, rows: newRows(1)},
		{workload: of("reports", "As active, with reports of tenants by hour and day"), processors: standard,
			also: "reports: {windows: [1h, 1d], by: [tenant]}\n", rows: newRows(1)},
		{workload: of("backlog", "Each device has many new rows, a second apart (--rows)"), processors: standard,
			rows: manyRows},
		{workload: of("beside", "As active, while one device in twenty has 20 times --rows to catch up"),
			processors: standard, rows: laggingRows},
		{workload: of("archive", "As idle, and a day's file is written, with --rows of each device"),
			processors: "archive", rows: manyRows, after: true},
		{workload: of("audit", "Look for late rows of every device, in vain"), processors: standard, rows: newRows(0),
			audit: refold.Full},
	}
}

// start is before the first rows. Where a round has a day of its own, even the last one was over yesterday.
func (w fanout) start(c FanoutConfig, now time.Time) time.Time {
	if w.after {
		return now.Truncate(day).Add(-time.Duration(2+max(1, c.History)+c.Rounds)*day - time.Hour/2)
	}
	return now.Add(-time.Duration(1+c.History) * day)
}

const day = 24 * time.Hour

// FanoutNames returns the names of the workloads, with a line about each.
func FanoutNames() (all, abouts []string) {
	var found []workload
	for _, w := range fanouts() {
		found = append(found, w.workload)
	}
	return names(found)
}

// RunFanout measures whole runs: from a master job in the queue to the last commit, by one worker. When ctx ends, it
// cleans up and returns what it has measured so far, with an error that says so.
func RunFanout(ctx context.Context, cfg FanoutConfig) (report *FanoutReport, err error) {
	report = newFanoutReport(cfg)
	storage, err := openFanoutStorage(ctx, cfg)
	if err != nil {
		return report, err
	}
	defer func() {
		report.StorageMemory = storage.peakMemory()
		err = errors.Join(err, storage.close())
	}()
	return report, storage.while(ctx, func(ctx context.Context) error { return runFanouts(ctx, cfg, storage, report) })
}

// runFanouts measures one workload after the other.
func runFanouts(ctx context.Context, cfg FanoutConfig, storage *fanoutStorage, report *FanoutReport) error {
	for _, w := range fanouts() {
		if !cfg.wants(w.name) {
			continue
		}
		f, err := openFanout(ctx, cfg, w, storage.account)
		if err == nil {
			err = f.measure(ctx, storage, report)
		}
		if f != nil && storage.stays() {
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
func (f *fanoutFleet) measure(ctx context.Context, storage *fanoutStorage, report *FanoutReport) error {
	rows := max(1, 24*f.cfg.History)
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
		f.every = day / time.Duration(f.cfg.Rows)
		if _, err := f.work(ctx, goal{marks: max(1, f.cfg.History) * f.tenantDays()}); err != nil {
			return err
		}
		f.newest = f.newest.Truncate(day).Add(day - f.every/2)
	}
	var rounds []FanoutRound
	for n := range f.cfg.Rounds {
		f.cfg.progress("%s: round %d", f.workload.name, n+1)
		found, err := f.run(ctx, storage)
		if err != nil {
			return err
		}
		rounds = append(rounds, found)
	}
	report.WorkerMemory = process.PeakMemory(0)
	report.add(f.workload.name, often, rounds)
	return nil
}

// run gives devices new rows, and measures the run that folds them, an audit, or the run after.
func (f *fanoutFleet) run(ctx context.Context, storage *fanoutStorage) (r FanoutRound, err error) {
	if r.Rows, err = f.send(ctx, f.workload.rows); err != nil {
		return r, err
	}
	todo := goal{rows: r.Rows, kinds: []jobs.Kind{jobs.Device}}
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
	cpu, storageCPU, began := process.CPU(0), storage.cpu(), time.Now()
	seen, err := f.work(ctx, todo)
	if err != nil {
		return r, err
	}
	r.Seconds, r.SeenSeconds = time.Since(began).Seconds(), seen.Sub(began).Seconds()
	r.WorkerCPU = (process.CPU(0) - cpu).Seconds()
	r.StorageCPU = (storage.cpu() - storageCPU).Seconds()
	r.Operations = map[string]int64{}
	for name, n := range f.operations() {
		if n -= before[name]; n > 0 {
			r.Operations[name] = n
		}
	}
	wire, err := wireTime(ctx, f.wire.recorded(), f.cfg.Clients)
	r.WireCPU = wire.Seconds()
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
func (c FanoutConfig) tenantOf(n int) schema.Tenant {
	return schema.Tenant(fmt.Sprint("tenant-", n%c.Tenants))
}

func (c FanoutConfig) monthOf(n int) schema.Month {
	month := n / c.Tenants % c.Months
	return schema.Month{Year: 2016 + month/12, Month: time.Month(1 + month%12)}
}
