package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"furrow/cmd/internal/demo/check"
	"furrow/cmd/internal/process"
	"furrow/cmd/internal/simulate"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// Config says what is played, and where.
type Config struct {
	Program string // furrow's executable, which is started as up and as worker
	Dir     string // of the caller, for every file of the demo
	Storage string // an account, as setup.Find takes it; empty: storage of its own, in Dir
	CA      string // file of the authorities to trust there besides the system's; may be empty
	Prefix  string // of the names of tables and queues
	Cast    Cast
	Length  time.Duration // how long the devices take to send, where the machine is quick enough
	Cadence time.Duration // of the pipeline: whole seconds; zero: 2 s
	Keep    bool          // it is to go on after Play, and to have a dashboard
	Screen  Screen
}

// A Cast is the fleet that is played, and what it sends.
type Cast struct {
	Members  []simulate.Member
	Tenants  []schema.Tenant
	Sendings func(simulate.Member) simulate.Stream
	From, To time.Time     // when the first and the last readings are due
	Readings int64         // how many there are, about
	Backfill time.Duration // that tokens have to admit

	// Onward is what a device sends after Play, from a time on and without end; nil:
	// nothing.
	Onward func(m simulate.Member, from time.Time) simulate.Stream
}

// A Screen shows how far the demo is.
type Screen interface {
	Stage(text string, most int64) // something begins that has so many parts; zero: nobody knows
	Progress(done, folded int64)   // of the stage; zero folded: nobody knows
	Wait(left string)              // the stage waits, and for what; told again and again
	Say(text string)               // something has happened
}

// pipeline is the one that folds.
const pipeline schema.Pipeline = "live"

// mostBatch is how many devices a message carries, as by default.
const mostBatch = 50

// batch is how many it carries here. A fleet that is one batch would be one job after
// another, and a slot that comes while it runs would have its work done twice.
func (c Config) batch() int { return min(mostBatch, max(1, len(c.Cast.Members)/16)) }

// settle is how long the pipeline waits for rows that are on their way, and lease how
// long a job lies idle that a dead worker had: by default they are 10 s and 30 s.
const (
	settle = time.Second
	lease  = 3 * time.Second
)

// jobsAtOnce is how many messages a worker has in hand at most: few, so that the one
// that is killed leaves others to go on with at once.
const jobsAtOnce = 8

// A Demo is one that is played.
type Demo struct {
	Config
	began time.Time
	upProcess
	receipts *check.Receipts
	listened http.RoundTripper // what devices send through
	ledger   map[schema.Tenant]credential
	workers  []*process.Process
	audits   tables.Ticks // the run that stands for them in figures
	quiet    tables.Ticks // the last run that was one of many; after it there is one as of a fleet that keeps up

	killed chan struct{} // closed when the first worker is dead
	handed atomic.Int64  // readings that devices have handed over before the newest

	mu     sync.Mutex
	newest map[schema.DeviceID]simulate.Sending // what devices have yet to send
}

// Open starts furrow up, on nothing but what is the demo's own.
func Open(ctx context.Context, c Config) (d *Demo, err error) {
	c.Cadence = cmp.Or(c.Cadence, 2*time.Second)
	d = &Demo{Config: c, began: time.Now(), receipts: &check.Receipts{}, ledger: map[schema.Tenant]credential{},
		newest: map[schema.DeviceID]simulate.Sending{}, killed: make(chan struct{})}
	d.Screen.Stage("starting furrow up", 0)
	if err := d.upProcess.open(ctx, c); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.listened = d.receipts.Over(d.http.Transport)
	return d, nil
}

// Close ends every process and removes what the demo has put into an account. The
// files are the caller's.
func (d *Demo) Close() error {
	var errs []error
	for _, w := range d.workers {
		errs = append(errs, w.Stop())
	}
	return errors.Join(append(errs, d.upProcess.close())...)
}

// Play plays it once, and reports. An error is that it could not go on: what the
// check finds is in the report.
func (d *Demo) Play(ctx context.Context) (r Report, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.up.Watch(cancel)
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx) // of which err is what came of it
		}
	}()
	if err := d.enroll(ctx); err != nil {
		return r, err
	}
	first, err := d.work(cancel)
	if err != nil {
		return r, err
	}
	if err := d.register(ctx); err != nil {
		return r, err
	}
	var sum simulate.Summary
	err = runAll(ctx,
		func(ctx context.Context) (err error) { sum, err = d.send(ctx); return err },
		func(ctx context.Context) (err error) { r.Takeover, err = d.takeOver(ctx, first, cancel); return err },
		func(ctx context.Context) (err error) { r.Revoked, err = d.revoke(ctx); return err })
	if err != nil {
		return r, err
	}
	ended, err := d.newestReading(ctx, cancel)
	if err != nil {
		return r, err
	}
	if err := d.audit(ctx, cancel); err != nil {
		return r, err
	}
	if r.Check, err = d.check(ctx, ended); err != nil {
		return r, err
	}
	if err := d.rest(); err != nil { // so that its figures are all written
		return r, err
	}
	err = d.sumUp(ctx, sum, &r)
	return r, err
}

// runAll runs all, and ends the others where one fails.
func runAll(ctx context.Context, runs ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, run := range runs {
		running.Go(func() {
			if err := run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx) // of the first that failed
}

// work starts a worker.
func (d *Demo) work(failed context.CancelCauseFunc) (*process.Process, error) {
	name := fmt.Sprintf("worker %d", len(d.workers)+1)
	p, err := d.start(name, "worker", "--lease", lease.String(), "--jobs", strconv.Itoa(jobsAtOnce))
	if err != nil {
		return nil, err
	}
	p.Watch(failed)
	d.workers = append(d.workers, p)
	d.Screen.Say(fmt.Sprintf("%s is process %d", name, p.PID()))
	return p, nil
}

// rest stops the workers in order.
func (d *Demo) rest() (err error) {
	for _, w := range d.workers {
		err = errors.Join(err, w.Stop())
	}
	return err
}

// Live has a worker and the devices go on after Play, until ctx ends.
func (d *Demo) Live(ctx context.Context) error {
	living, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.up.Watch(cancel)
	if _, err := d.work(cancel); err != nil {
		return err
	}
	if err := d.sendOn(living); err != nil {
		cancel(err)
	}
	<-living.Done()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(living)
}

// A credential is what devices of a tenant have.
type credential struct {
	enrollment schema.EnrollmentID
	key        sas.Key
}

// of is a device's.
func (d *Demo) of(m simulate.Member) (schema.EnrollmentID, string) {
	c := d.ledger[m.Tenant]
	return c.enrollment, c.key.Of(string(m.ID)).Base64()
}

// enroll makes an enrollment for each tenant. Audits are the demo's own to ask for:
// hourly ones would come at any time, or never.
func (d *Demo) enroll(ctx context.Context) error {
	for _, name := range []string{d.names.Enrollments(), d.names.Policies()} {
		if err := d.client.Table(name).Create(ctx); err != nil {
			return err
		}
	}
	if err := d.policies().Ensure(ctx, d.names.Readings()); err != nil {
		return err
	}
	all := &sas.Enrollments{Table: d.client.Table(d.names.Enrollments()), SealingKey: d.master}
	for i, tenant := range d.Cast.Tenants {
		e := schema.Enrollment{ID: schema.EnrollmentID(fmt.Sprintf("demo%d", i+1)), Tenant: tenant,
			Readings: d.names.Readings(),
			Life:     time.Hour, Backfill: d.Cast.Backfill, SendEvery: time.Minute, Batch: d.rowsAtOnce()}
		key := sas.NewKey()
		if _, err := all.Add(ctx, e, key, nil); err != nil {
			return err
		}
		d.ledger[tenant] = credential{e.ID, key}
	}
	e, err := schema.AuditMark{Pipeline: pipeline, Slot: tables.TicksOf(d.began.Add(10 * time.Minute))}.Entity()
	if err != nil {
		return err
	}
	_, err = d.client.Table(d.names.Runs()).Do(ctx, tables.InsertOrReplace(e))
	return err
}

// rowsAtOnce is how many rows devices send in a transaction. On an emulator it is one:
// Azurite refuses a transaction by a token.
func (d *Demo) rowsAtOnce() int {
	if d.Storage != "" && d.account.PathStyle() {
		return 1
	}
	return tables.MaxOps
}

// register makes the fleet known, as an import of its factory's file does.
func (d *Demo) register(ctx context.Context) error {
	d.Screen.Stage("registering devices", int64(len(d.Cast.Members)))
	of := func(m simulate.Member) schema.Enrollment {
		return schema.Enrollment{ID: d.ledger[m.Tenant].enrollment, Tenant: m.Tenant, Readings: d.names.Readings()}
	}
	return simulate.Register(ctx, sas.NewRegistry(d.client, d.names), of, d.Cast.Members,
		func(n int) { d.Screen.Progress(int64(n), 0) })
}

// write writes a file of the demo.
func (c Config) write(name, text string) (string, error) {
	file := filepath.Join(c.Dir, name)
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// runs are the pipeline's.
func (d *Demo) runs() worker.Runs { return worker.Runs{Table: d.client.Table(d.names.Runs())} }
