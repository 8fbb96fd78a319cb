package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/cmd/internal/process"
	"furrow/jobs"
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
}

// A fanout is one kind of run that is measured over and over.
type fanout struct {
	workload
	processors string // of the pipeline, in the configuration file's words
	also       string // the rest of the file
	rows       func(FanoutConfig) int
	audit      jobs.Depth // of the run; empty: none, it folds
}

func newRows(n int) func(FanoutConfig) int { return func(FanoutConfig) int { return n } }

func fanouts() []fanout {
	const standard = "latest, rollup"
	watch := "rules:\n  hot: {when: {threshold: {sensor: temperature, above: 60}}}\n" +
		"  silent: {when: {silence: {after: 48h}}}\n"
	return []fanout{
		{workload{name: "idle", about: "Nobody has a new row"}, standard, "", newRows(0), ""},
		{workload{name: "active", about: "Each device has a new row, for latest and rollups by minute, hour and day"},
			standard, "", newRows(1), ""},
		{workload{name: "commit", about: "As active, for an archive whose days are open: claims and commits, but no outputs"},
			"archive: {closeAfter: 168h}", "", newRows(1), ""},
		{workload{name: "rules", about: "As active, with a rule for a threshold and one for silence"},
			standard + ", rules", watch, newRows(1), ""},
		{workload{name: "reports", about: "As active, with reports of tenants by hour and day"}, standard,
			"reports: {windows: [1h, 1d], by: [tenant]}\n", newRows(1), ""},
		{workload{name: "backlog", about: "Each device has many new rows, a second apart (--rows)"}, standard, "",
			func(c FanoutConfig) int { return c.Rows }, ""},
		{workload{name: "audit", about: "Look for late rows of every device, in vain"}, standard, "", newRows(0), jobs.Full},
	}
}

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
	account := cfg.Target.Account
	var storage *process.Process
	if cfg.Target.Local {
		started, local, err := startStorage(ctx, cfg.Executable)
		if err != nil {
			return report, err
		}
		account, storage = local, started.Process
		defer func() {
			report.StorageMemory = storage.PeakMemory()
			err = errors.Join(err, started.stop())
		}()
	}
	for _, w := range fanouts() {
		if !cfg.wants(w.name) {
			continue
		}
		f, err := openFanout(ctx, cfg, w, account)
		if err == nil {
			err = f.measure(ctx, storage, report)
		}
		if f != nil && storage == nil {
			err = errors.Join(err, f.remove(ctx))
		}
		if ctx.Err() != nil {
			return report, errInterrupted
		}
		if err != nil {
			return report, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return report, nil
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
func (f *fanoutFleet) measure(ctx context.Context, storage *process.Process, report *FanoutReport) error {
	rows := max(1, 24*f.cfg.History)
	if err := f.send(ctx, rows); err != nil {
		return err
	}
	if err := f.work(ctx, rows*f.cfg.Devices, "", jobs.Device, jobs.Audit); err != nil {
		return err
	}
	f.every = time.Second
	var rounds []FanoutRound
	for n := range f.cfg.Rounds {
		f.cfg.progress("%s: round %d", f.workload.name, n+1)
		found, err := f.run(ctx, storage, f.workload.rows(f.cfg), f.workload.audit)
		if err != nil {
			return err
		}
		rounds = append(rounds, found)
	}
	report.add(f.workload.name, f.workload.rows(f.cfg), rounds)
	return nil
}

// run gives each device so many new rows, and measures the run that folds them, or an audit.
func (f *fanoutFleet) run(
	ctx context.Context, storage *process.Process, rows int, audit jobs.Depth,
) (r FanoutRound, err error) {
	if err := f.send(ctx, rows); err != nil {
		return r, err
	}
	before := f.operations()
	f.wire.on.Store(true)
	cpu, storageCPU, began := process.CPU(0), processTime(storage), time.Now()
	by := jobs.Device
	if audit != "" {
		by = jobs.Audit
	}
	if err := f.work(ctx, rows*f.cfg.Devices, audit, by); err != nil {
		return r, err
	}
	r.Seconds = time.Since(began).Seconds()
	r.WorkerCPU = (process.CPU(0) - cpu).Seconds()
	r.StorageCPU = (processTime(storage) - storageCPU).Seconds()
	r.Operations = map[string]int64{}
	for name, n := range f.operations() {
		if n -= before[name]; n > 0 {
			r.Operations[name] = n
		}
	}
	wire, err := wireTime(ctx, f.wire.take(), f.cfg.Clients)
	r.WireCPU = wire.Seconds()
	return r, err
}

// processTime returns the CPU time of a process, and zero for storage that the benchmark did not start.
func processTime(p *process.Process) time.Duration {
	if p == nil {
		return 0
	}
	return process.CPU(p.PID())
}

// tenantOf spreads devices over tenants in turn, and month over months of deployment.
func (c FanoutConfig) tenantOf(n int) schema.Tenant {
	return schema.Tenant(fmt.Sprint("tenant-", n%c.Tenants))
}

func (c FanoutConfig) monthOf(n int) schema.Month {
	month := n / c.Tenants % c.Months
	return schema.Month{Year: 2016 + month/12, Month: time.Month(1 + month%12)}
}
