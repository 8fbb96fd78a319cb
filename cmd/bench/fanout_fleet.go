package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"furrow/jobs/refold"

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
	fanoutSettings
	workload fanout
	fleet    *roles.Fleet
	pipeline *jobs.Pipeline
	queue    *worker.Queue
	wire     *recorder
	members  []schema.Member
	newest   time.Time     // of the rows that were sent
	every    time.Duration // between rows of a device

	partitions map[string][]tables.Op // of the fleet, and the devices that join

	mu      sync.Mutex
	counted map[string]int64 // operations of the worker
}

// openFanout creates the fleet's tables and queues, and its devices.
func openFanout(ctx context.Context, s fanoutSettings, w fanout, on *fanoutStorage) (*fanoutFleet, error) {
	names, err := schema.ParseNames("bench" + strings.ToLower(rand.Text()[:10]))
	if err != nil {
		return nil, err
	}
	loaded, err := w.loaded(s.batch)
	if err != nil {
		return nil, err
	}
	transport, err := setup.Transport(on.CAFile)
	if err != nil {
		return nil, err
	}
	f := &fanoutFleet{fanoutSettings: s, workload: w, counted: map[string]int64{},
		wire:   &recorder{next: transport.Transport},
		newest: w.start(s, time.Now()), every: time.Hour, partitions: map[string][]tables.Op{}}
	transport.Transport = on.embedded.Direct(f.wire)
	clients, err := roles.Connect(on.Account, names, transport, roles.Hooks{
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
	if days, is := f.pipeline.Groups[schema.ArchiveMark].(*archive.Tables); is {
		days.Quiet = -1 // a day in the past does not wait for more rows
	}
	f.queue = f.fleet.Queue(f.fleet.Pipelines[0])
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
	for n := range f.devices {
		m := schema.Member{Month: f.monthOf(n), Tenant: f.tenantOf(n), Readings: f.fleet.Names.Readings(),
			Device: schema.DeviceID(fmt.Sprintf("device-%07d", n))}
		e, err := m.Entity()
		if err != nil {
			return err
		}
		f.members = append(f.members, m)
		f.partitions[e.PartitionKey] = append(f.partitions[e.PartitionKey], tables.Insert(e))
	}
	for _, ops := range f.partitions {
		if err := f.submit(ctx, f.fleet.Names.Fleet(), ops); err != nil {
			return err
		}
	}
	return nil
}

// send gives every device new rows, and returns how many they are.
func (f *fanoutFleet) send(ctx context.Context, of func(c fanoutSettings, device int) int) (sent int, err error) {
	most := 0
	writing, ctx := errgroup.WithContext(ctx)
	writing.SetLimit(f.clients)
	for i, m := range f.members {
		rows := of(f.fanoutSettings, i)
		sent, most = sent+rows, max(most, rows)
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
	err = writing.Wait()
	f.newest = f.newest.Add(time.Duration(most) * f.every)
	return sent, err
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

// A goal is what a run has to do.
type goal struct {
	rows  int          // that it folds
	marks int          // that group jobs work off
	audit refold.Depth // of the run; empty: none
	kinds []jobs.Kind
}

// progress is what a run has done.
type progress struct {
	devices     map[jobs.Kind]int // that live jobs, or audits, have looked at
	rows, marks int
}

func (p *progress) add(m jobs.Message, r jobs.Result) {
	if m.Mark == "" || m.Kind == jobs.Audit {
		p.devices[m.Kind] += r.Devices
	}
	p.rows += r.Rows
	p.marks += r.Made
}

// looked reports whether each kind of job has looked at every device.
func (p *progress) looked(kinds []jobs.Kind, devices int) bool {
	return !slices.ContainsFunc(kinds, func(kind jobs.Kind) bool { return p.devices[kind] < devices })
}

// work puts a master job, and has a pool work until the goal is reached. It returns when every device had been looked
// at by each kind of job.
func (f *fanoutFleet) work(ctx context.Context, todo goal) (seen time.Time, err error) {
	ctx, stop := context.WithTimeout(ctx, runTime)
	defer stop()
	master := jobs.Message{Kind: jobs.Master, Pipeline: fanoutPipeline, Run: tables.TicksOf(time.Now()),
		Audit: todo.audit}
	if err := f.queue.Put(ctx, master, 0); err != nil {
		return seen, err
	}
	working, reached := context.WithCancelCause(ctx)
	defer reached(nil)
	did := progress{devices: map[jobs.Kind]int{}}
	pool := &worker.Pool{Source: f.queue, Size: f.clients, Idle: time.Second, Log: f.fleet.Log}
	pool.Work = func(ctx context.Context, m jobs.Message, save func(context.Context, jobs.Message) error) error {
		r, err := f.pipeline.Do(ctx, m, f.queue, save)
		for device, why := range r.Failed {
			reached(fmt.Errorf("%s: %w", device, why))
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		did.add(m, r)
		looked := did.looked(todo.kinds, f.devices)
		if looked && seen.IsZero() {
			seen = time.Now()
		}
		if looked && did.rows >= todo.rows && did.marks >= todo.marks {
			reached(errReached)
		}
		return err
	}
	err = pool.Run(working)
	if why := context.Cause(working); !errors.Is(why, errReached) {
		return seen, errors.Join(why, err)
	}
	return seen, err
}

var errReached = errors.New("everything is done")

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
