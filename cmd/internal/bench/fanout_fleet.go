package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/processors"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

const fanoutPipeline = schema.Pipeline("bench")

// runTime is how long a run may take.
const runTime = 30 * time.Minute

// A fanoutFleet is a fleet with names of its own, and the pipeline that folds its rows.
type fanoutFleet struct {
	cfg      FanoutConfig
	workload fanout
	fleet    *roles.Fleet
	pipeline *jobs.Pipeline
	queue    *worker.Queue
	wire     *recorder
	members  []schema.Member
	newest   time.Time     // of the rows that were sent
	every    time.Duration // between rows of a device

	mu      sync.Mutex
	counted map[string]int64 // operations of the worker
}

// openFanout creates the fleet's tables and queues, and its devices.
func openFanout(ctx context.Context, cfg FanoutConfig, w fanout, account tables.Account) (*fanoutFleet, error) {
	names, err := schema.ParseNames(randomName()[:16])
	if err != nil {
		return nil, err
	}
	loaded, err := w.loaded(cfg.Batch)
	if err != nil {
		return nil, err
	}
	transport, err := setup.Transport("")
	if err != nil {
		return nil, err
	}
	f := &fanoutFleet{cfg: cfg, workload: w, counted: map[string]int64{}, wire: &recorder{next: transport.Transport},
		newest: time.Now().Add(-time.Duration(1+cfg.History) * 24 * time.Hour), every: time.Hour}
	transport.Transport = f.wire
	clients, err := roles.Connect(account, names, transport, roles.Hooks{
		Table:  func(_ context.Context, o tables.Operation) { f.count("tables " + o.Kind.String()) },
		Queue:  func(_ context.Context, o worker.Operation) { f.count("queues " + o.Kind.String()) },
		Object: func(_ context.Context, o archive.Operation) { f.count("objects " + o.Kind.String()) },
	})
	if err != nil {
		return nil, err
	}
	if f.fleet, err = clients.Fleet(loaded); err != nil {
		return nil, err
	}
	f.fleet.Log = slog.New(slog.DiscardHandler)
	if f.pipeline, err = f.fleet.Jobs(f.fleet.Pipelines[0]); err != nil {
		return nil, err
	}
	f.queue = f.fleet.Queue(f.fleet.Pipelines[0])
	cfg.progress("%s: creating %d devices", w.name, cfg.Devices)
	return f, errors.Join(f.fleet.Create(context.WithoutCancel(ctx)), f.join(ctx))
}

func (f *fanoutFleet) count(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counted[name]++
}

func (f *fanoutFleet) operations() map[string]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counted)
}

// join makes the devices members of the fleet.
func (f *fanoutFleet) join(ctx context.Context) error {
	byMonth := map[string][]tables.Op{}
	for n := range f.cfg.Devices {
		m := schema.Member{Month: f.cfg.monthOf(n), Tenant: f.cfg.tenantOf(n), Readings: f.fleet.Names.Readings(),
			Device: schema.DeviceID(fmt.Sprintf("device-%07d", n))}
		e, err := m.Entity()
		if err != nil {
			return err
		}
		f.members = append(f.members, m)
		byMonth[e.PartitionKey] = append(byMonth[e.PartitionKey], tables.Insert(e))
	}
	for _, ops := range byMonth {
		if err := f.submit(ctx, f.fleet.Names.Fleet(), ops); err != nil {
			return err
		}
	}
	return nil
}

// send gives every device new rows.
func (f *fanoutFleet) send(ctx context.Context, rows int) error {
	writing, ctx := errgroup.WithContext(ctx)
	writing.SetLimit(f.cfg.Clients)
	for _, m := range f.members {
		writing.Go(func() error {
			for first := 0; first < rows; first += tables.MaxOps {
				var ops []tables.Op
				for n := first; n < min(first+tables.MaxOps, rows); n++ {
					ops = append(ops, tables.Insert(f.row(m.Device, n)))
				}
				if err := f.submit(ctx, f.fleet.Names.Readings(), ops); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := writing.Wait()
	f.newest = f.newest.Add(time.Duration(rows) * f.every)
	return err
}

// row returns the nth new row of a device.
func (f *fanoutFleet) row(device schema.DeviceID, n int) tables.Entity {
	e := tables.Entity{PartitionKey: string(device),
		RowKey: tables.TicksOf(f.newest.Add(time.Duration(n+1) * f.every)).String()}
	e.Set("temperature", tables.Double(20+float64(n%50)/10))
	e.Set("humidity", tables.Double(40+float64(n%30)))
	e.Set("battery", tables.Double(3.3))
	return e
}

// submit writes rows of a partition.
func (f *fanoutFleet) submit(ctx context.Context, table string, ops []tables.Op) error {
	groups, err := tables.Cut(ops)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if _, err := f.fleet.Tables.Table(table).Submit(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// work puts a master job, and has a pool work until every device was looked at by each kind of job, and so many rows
// were folded.
func (f *fanoutFleet) work(ctx context.Context, rows int, audit jobs.Depth, by ...jobs.Kind) error {
	ctx, stop := context.WithTimeout(ctx, runTime)
	defer stop()
	master := jobs.Message{Kind: jobs.Master, Pipeline: fanoutPipeline, Run: tables.TicksOf(time.Now()),
		Audit: audit}
	if err := f.queue.Put(ctx, master, 0); err != nil {
		return err
	}
	working, done := context.WithCancelCause(ctx)
	defer done(nil)
	devices, folded := map[jobs.Kind]int{}, 0
	seen := func(kind jobs.Kind) bool { return devices[kind] >= f.cfg.Devices }
	pool := &worker.Pool{Source: f.queue, Size: f.cfg.Clients, Idle: time.Second, Log: f.fleet.Log}
	pool.Work = func(ctx context.Context, m jobs.Message, save func(context.Context, jobs.Message) error) error {
		r, err := f.pipeline.Do(ctx, m, f.queue, save)
		for device, why := range r.Failed {
			done(fmt.Errorf("%s: %w", device, why))
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		devices[m.Kind] += r.Devices
		folded += r.Rows
		if !slices.ContainsFunc(by, func(kind jobs.Kind) bool { return !seen(kind) }) && folded >= rows {
			done(errFolded)
		}
		return err
	}
	err := pool.Run(working)
	if why := context.Cause(working); !errors.Is(why, errFolded) {
		return errors.Join(why, err)
	}
	return err
}

var errFolded = errors.New("everything is folded")

// remove deletes what was created, also after ctx has ended.
func (f *fanoutFleet) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err := f.queue.DeleteQueues(ctx)
	for _, name := range processors.Tables(f.fleet.Names, fanoutPipeline) {
		if gone := f.fleet.Tables.Table(name).Delete(ctx); !errors.Is(gone, tables.ErrNoTable) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
