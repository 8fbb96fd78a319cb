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
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/cmd/internal/lab/demo/check"
	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/process"
	"furrow/cmd/internal/roles"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// Config says what a demo runs, and where.
type Config struct {
	Program string // furrow's executable, which is started as up and as worker
	Dir     string // for every file of the demo; the caller removes it
	Storage string // an account, as setup.Find takes it; empty: local storage in Dir
	CA      string // file of certificate authorities to trust besides the system's; may be empty
	Prefix  string // of the names of tables and queues
	Cast    Cast
	Length  time.Duration // how long the devices take to send, on a machine that is fast enough
	Cadence time.Duration // of the pipeline, in whole seconds; zero: 2 s
	Keep    bool          // go on after Play, with a dashboard
	Screen  Screen
}

// A Cast is the simulated fleet and what it sends.
type Cast struct {
	Members  []simulate.Member
	Tenants  []schema.Tenant
	Sendings func(simulate.Member) simulate.Stream
	From, To time.Time     // when the first and the last readings are due
	Readings int64         // about how many there are
	Backfill time.Duration // that tokens must admit

	// Onward returns what a device sends after Play, from a time on and without end. It may be nil.
	Onward func(m simulate.Member, from time.Time) simulate.Stream
}

// A Screen shows how far the demo is.
type Screen interface {
	Stage(text string, most int64) // a stage of so many parts begins; zero: unknown
	Progress(done, folded int64)   // of the stage; zero folded: unknown
	Wait(left string)              // what the stage still waits for; called again and again
	Say(text string)               // an event
}

const pipeline schema.Pipeline = "live"

// batch is how many devices a message carries in this demo. With the whole fleet in one batch, jobs would run
// one after the other, and a slot that comes meanwhile would do the same work twice.
func (c Config) batch() int { return min(50, max(1, len(c.Cast.Members)/16)) }

const (
	life   = time.Hour       // of tokens
	settle = time.Second     // settle time of rows; 10 s by default
	lease  = 3 * time.Second // until another worker gets a dead worker's message; 30 s by default

	// jobsAtOnce limits the messages that a worker holds, so that the other worker has some left to
	// continue with at once.
	jobsAtOnce = 8
)

// A Demo is a running demonstration.
type Demo struct {
	Config
	*roles.Clients // of the storage; nil until furrow up is up
	began          time.Time
	up             *process.Process
	Said           Said // by furrow up
	oven           *oven
	master         sas.SealingKey
	receipts       *check.Receipts
	recorded       http.RoundTripper // records what devices send
	ledger         map[schema.Tenant]credential
	ovens          credential
	workers        []*process.Process
	audits         tables.Ticks // slot that figures of audits have

	killed chan struct{} // closed when the first worker is dead
	sent   atomic.Int64  // readings that devices have sent
}

// Open starts furrow up.
func Open(ctx context.Context, c Config) (d *Demo, err error) {
	c.Cadence = cmp.Or(c.Cadence, 2*time.Second)
	d = &Demo{Config: c, began: time.Now(), receipts: &check.Receipts{}, ledger: map[schema.Tenant]credential{},
		killed: make(chan struct{})}
	d.Screen.Stage("starting furrow up", 0)
	if err := d.openUp(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.recorded = d.receipts.Over(d.HTTP.Transport)
	return d, nil
}

// Close ends every process and removes what the demo has created in an account.
func (d *Demo) Close() error {
	var errs []error
	for _, w := range d.workers {
		errs = append(errs, w.Stop())
	}
	return errors.Join(append(errs, d.closeUp())...)
}

// Play runs the demo once. Its error says why the demo could not go on; the report says what the check has
// found.
func (d *Demo) Play(ctx context.Context) (r Report, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.up.Watch(cancel)
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx) // err only follows from it
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
	all, running := errgroup.WithContext(ctx)
	all.Go(func() (err error) { sum, err = d.send(running); return err })
	all.Go(func() (err error) { r.Takeover, err = d.takeOver(running, first, cancel); return err })
	all.Go(func() (err error) { r.Revoked, err = d.revoke(running); return err })
	all.Go(func() (err error) { r.Alarm, err = d.cook(running); return err })
	if err := all.Wait(); err != nil {
		return r, err
	}
	if err := d.foldAll(ctx); err != nil {
		return r, err
	}
	if err := d.audit(ctx); err != nil {
		return r, err
	}
	if r.Check, err = d.check(ctx); err != nil {
		return r, err
	}
	if err := d.stopWorkers(); err != nil { // which writes the last figures
		return r, err
	}
	err = d.sumUp(ctx, sum, &r)
	return r, err
}

// work starts a worker process.
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

func (d *Demo) stopWorkers() (err error) {
	for _, w := range d.workers {
		err = errors.Join(err, w.Stop())
	}
	return err
}

// Live lets a worker and the devices go on after Play, until ctx ends.
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

// A credential is the enrollment of a tenant's devices.
type credential struct {
	enrollment schema.EnrollmentID
	key        sas.Key
}

// credential returns a device's enrollment and key.
func (d *Demo) credential(m simulate.Member) (schema.EnrollmentID, string) {
	c := d.ledger[m.Tenant]
	return c.enrollment, c.key.Of(string(m.ID)).Base64()
}

// enroll creates an enrollment for each tenant. It also marks an audit as done: hourly audits would come at any
// time or never, so the demo asks for its own.
func (d *Demo) enroll(ctx context.Context) error {
	for _, name := range []string{d.Names.Enrollments(), d.Names.Policies(), d.Names.Commands()} {
		if err := d.Tables.Table(name).Create(ctx); err != nil {
			return err
		}
	}
	if err := d.policies().Ensure(ctx, d.Names.Readings()); err != nil {
		return err
	}
	all := &sas.Enrollments{Table: d.Tables.Table(d.Names.Enrollments()), SealingKey: d.master}
	enroll := func(e schema.Enrollment) (credential, error) {
		e.Readings, e.Life, e.Backfill = d.Names.Readings(), life, d.Cast.Backfill
		e.SendEvery, e.Batch = time.Minute, d.rowsAtOnce()
		key := sas.NewKey()
		_, err := all.Add(ctx, e, key, nil)
		return credential{e.ID, key}, err
	}
	for i, tenant := range d.Cast.Tenants {
		e, err := enroll(schema.Enrollment{ID: schema.EnrollmentID(fmt.Sprintf("demo%d", i+1)), Tenant: tenant})
		if err != nil {
			return err
		}
		d.ledger[tenant] = e
	}
	var err error
	d.ovens, err = enroll(schema.Enrollment{ID: "ovens", Tenant: d.Cast.Tenants[0], Commands: true})
	if err != nil {
		return err
	}
	mark, err := schema.AuditMark{Pipeline: pipeline, Slot: tables.TicksOf(d.began.Add(10 * time.Minute))}.Entity()
	if err != nil {
		return err
	}
	_, err = d.Tables.Table(d.Names.Runs()).Do(ctx, tables.InsertOrReplace(mark))
	return err
}

// rowsAtOnce is how many rows devices send in a transaction. Azurite refuses transactions with a token.
func (d *Demo) rowsAtOnce() int {
	if d.Storage != "" && d.Account.PathStyle() {
		return 1
	}
	return tables.MaxOps
}

// register registers the fleet, as an import of a factory's file does.
func (d *Demo) register(ctx context.Context) error {
	d.Screen.Stage("registering devices", int64(len(d.Cast.Members)))
	of := func(m simulate.Member) schema.Enrollment {
		return schema.Enrollment{ID: d.ledger[m.Tenant].enrollment, Tenant: m.Tenant, Readings: d.Names.Readings()}
	}
	done := int64(0)
	return simulate.Register(ctx, sas.NewRegistry(d.Tables, d.Names), of, d.Cast.Members,
		func(schema.DeviceID, sas.Outcome) {
			done++
			d.Screen.Progress(done, 0)
		})
}

// write writes a file of the demo.
func (c Config) write(name, text string) (string, error) {
	file := filepath.Join(c.Dir, name)
	return file, os.WriteFile(file, []byte(text), 0o600)
}

func (d *Demo) runs() worker.Runs { return worker.Runs{Table: d.Tables.Table(d.Names.Runs())} }
