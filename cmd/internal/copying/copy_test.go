package copying

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A living fleet has devices that write and workers that fold and are killed.
type living struct {
	*jobstest.Fleet
	writing, working context.CancelFunc
	written, worked  sync.WaitGroup
}

func newLiving(t *testing.T) *living {
	t.Helper()
	w := jobstest.NewWorldIn(t, azuretest.Local(t), 2*time.Hour, 4, 40)
	l := &living{Fleet: w.NewFleet(t)}
	client := w.Connect(t, nil)
	w.Create(t, l.Names.Devices(), l.Names.Config())
	jobstest.Insert(t, client.Table(l.Names.Config()), tables.Entity{PartitionKey: "config", RowKey: "1"})
	must.Succeed(t, schema.StateLayout(t.Context(), client.Table(l.Names.Fleet())))
	writing, stopWriting := context.WithCancel(t.Context())
	working, stopWorking := context.WithCancel(t.Context())
	l.writing, l.working = stopWriting, stopWorking
	l.written.Go(func() { l.write(writing, t) })
	l.worked.Go(func() { l.work(working, t) })
	t.Cleanup(func() { l.stopWriting(); l.stopWorking() })
	return l
}

func (l *living) stopWriting() { l.writing(); l.written.Wait() }
func (l *living) stopWorking() { l.working(); l.worked.Wait() }

// write writes rows of all devices; every seventh comes an hour late.
func (l *living) write(ctx context.Context, t *testing.T) {
	table, began := l.World.Connect(t, nil).Table(l.Readings), time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		at := began.Add(-time.Minute + time.Duration(n)*time.Millisecond)
		if n%7 == 0 {
			at = at.Add(-time.Hour)
		}
		e := tables.Entity{PartitionKey: string(l.World.Devices[n%len(l.World.Devices)]),
			RowKey: fmt.Sprintf("%s-w%06d", tables.TicksOf(at), n)}
		e.Set("temperature", tables.Double(float64(n%50)))
		if _, err := table.Do(ctx, tables.Insert(e)); err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
		time.Sleep(5 * time.Millisecond) // so that the passes are short
	}
}

func (l *living) work(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		life, kill := context.WithTimeout(ctx, time.Duration(1+rand.IntN(600))*time.Millisecond)
		if err := l.Settle(life, l.Pipeline(t, nil)); err != nil && life.Err() == nil {
			t.Error(err)
		}
		kill()
	}
}

// copyTo returns a copy of the fleet to another account, and deletes its tables there when the test ends.
func copyTo(t *testing.T, from *tables.Client, names schema.Names, to azuretest.Account) *Copy {
	t.Helper()
	client := must.Have(tables.Connect(tables.Config{
		Account: must.Have(tables.ParseAccount(to.ConnectionString()))(t)}))(t)
	c := &Copy{From: from, To: client, Names: names, Source: "test", Log: slog.New(slog.DiscardHandler),
		Pause: 10 * time.Millisecond}
	if to.Kind != azuretest.Embedded {
		t.Cleanup(func() {
			c.From, c.To = c.To, nil // for the names
			parts, err := c.parts(context.WithoutCancel(t.Context()))
			for _, p := range parts {
				for _, table := range p.tables {
					err = errors.Join(err, client.Table(table).Delete(context.WithoutCancel(t.Context())))
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	return c
}

// TestCopyWhileTheSourceLivesIsExact copies a fleet to another account, and from there to a third one. Each copy is
// equal to its source, and workers that go on with it come to the outputs of a new fleet with the same readings.
func TestCopyWhileTheSourceLivesIsExact(t *testing.T) {
	t.Parallel()
	source := newLiving(t)
	second, third := azuretest.FromEnv(t), azuretest.Local(t)
	c := copyTo(t, source.World.Connect(t, nil), source.Names, second)
	fleet := c.To.Table(c.Names.Fleet())
	for range 3 { // passes that are stopped
		ctx, stop := context.WithTimeout(t.Context(), time.Duration(rand.IntN(60))*time.Millisecond)
		_, _ = c.Once(ctx)
		stop()
	}
	must.Have(c.Once(t.Context()))(t)
	if err := schema.CheckLayout(t.Context(), fleet); !errors.Is(err, schema.ErrLayout) {
		t.Errorf("a program may work on an unfinished copy: %v", err)
	}
	source.stopWorking()
	must.Have(c.Finish(t.Context()))(t)
	must.Succeed(t, schema.CheckLayout(t.Context(), fleet))
	source.stopWriting()
	must.Have(c.Follow(t.Context()))(t)
	mustEqual(t, c)
	if _, err := c.Once(t.Context()); !errors.Is(err, schema.ErrLayout) {
		t.Errorf("a finished copy is overwritten: %v", err)
	}
	back := copyTo(t, c.To, source.Names, third)
	must.Have(back.Finish(t.Context()))(t)
	mustEqual(t, back)
	there := copied(t, source.Fleet, third)
	want := ends(t, there.World.NewFleetOf(t, source.Readings))
	if len(want) < 100 {
		t.Errorf("a new fleet has only %d outputs", len(want))
	}
	jobstest.SameEnds(t, ends(t, there), want, "third account")
	jobstest.SameEnds(t, ends(t, copied(t, source.Fleet, second)), want, "second account")
}

// TestCopyLacksWhatTheSourceHasDeleted between two passes, as retention and the removal of a device do. A pass that
// goes on after another process has finished the copy deletes no reading: devices write there.
func TestCopyLacksWhatTheSourceHasDeleted(t *testing.T) {
	source := newLiving(t)
	source.stopWriting()
	source.stopWorking()
	from := source.World.Connect(t, nil)
	c := copyTo(t, from, source.Names, azuretest.Local(t))
	must.Have(c.Once(t.Context()))(t)
	there := c.To.Table(source.Readings)
	device := tables.Query{Range: tables.Partition(string(source.World.Devices[0]))}
	for _, e := range jobstest.Rows(t, from.Table(source.Readings), device) {
		must.Have(from.Table(source.Readings).Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey, e.ETag)))(t)
	}
	must.Have(c.Finish(t.Context()))(t)
	mustEqual(t, c)
	own := tables.Entity{PartitionKey: string(source.World.Devices[0]), RowKey: "0639000000000000000-own.1"}
	jobstest.Insert(t, there, own)
	_, err := c.copyTable(t.Context(), source.Readings, true, func(Pass) {})
	if rows := jobstest.Rows(t, there, device); !errors.Is(err, schema.ErrLayout) || len(rows) != 1 {
		t.Errorf("a pass after the end leaves %d readings of the device: %v", len(rows), err)
	}
}

// copied returns the fleet in another account.
func copied(t *testing.T, of *jobstest.Fleet, in azuretest.Account) *jobstest.Fleet {
	t.Helper()
	w := &jobstest.World{Account: must.Have(tables.ParseAccount(in.ConnectionString()))(t),
		Readings: of.World.Readings, Devices: of.World.Devices}
	return &jobstest.Fleet{World: w, Readings: of.Readings, Names: of.Names, Batch: of.Batch}
}

// ends works on a fleet until nothing is left to do, and returns what it came to.
func ends(t *testing.T, f *jobstest.Fleet) map[string]string {
	t.Helper()
	must.Succeed(t, f.Settle(t.Context(), f.Pipeline(t, nil)))
	return jobstest.WithoutHistory(f.Ends(t))
}

func TestCopyIntoAFleetOrWhileWorkersLiveIsRefused(t *testing.T) {
	t.Parallel()
	source := newLiving(t)
	source.stopWorking()
	source.stopWriting()
	c := copyTo(t, source.World.Connect(t, nil), source.Names, azuretest.Local(t))
	p := must.Have(schema.Process{Name: "worker-1", Format: 1}.Entity())(t)
	jobstest.Insert(t, c.From.Table(c.Names.Config()), p)
	if _, err := c.Finish(t.Context()); !errors.Is(err, ErrLives) {
		t.Errorf("a worker lives at the source: %v", err)
	}
	must.Have(c.Once(t.Context()))(t)
	for e := range c.To.Table(c.Names.Config()).Entities(t.Context(), tables.Query{Range: schema.Processes()}) {
		t.Errorf("process %s was copied", e.RowKey)
	}
	jobstest.Insert(t, c.To.Table(c.Names.Config()), p)
	if _, err := c.Once(t.Context()); !errors.Is(err, ErrLives) {
		t.Errorf("a worker lives at the destination: %v", err)
	}
	swapped := &Copy{From: c.To, To: c.From, Names: c.Names, Source: "another", Log: c.Log}
	if _, err := swapped.Once(t.Context()); !errors.Is(err, schema.ErrLayout) {
		t.Errorf("from the copy to its source: %v", err)
	}
	nobody := &Copy{From: c.From, To: c.To, Log: c.Log}
	if _, err := nobody.Once(t.Context()); err == nil {
		t.Error("a source without a fleet is copied")
	}
}

// TestCopyDeletesNothingOfOthers: an account may have a table or a container of a name that the fleet uses.
func TestCopyDeletesNothingOfOthers(t *testing.T) {
	t.Parallel()
	source, into := newLiving(t), azuretest.Local(t)
	source.stopWorking()
	source.stopWriting()
	c := copyTo(t, source.World.Connect(t, nil), source.Names, into)
	store := func(in tables.Account) *archive.Store {
		return must.Have(archive.Connect(archive.StoreConfig{Account: in, Container: c.Names.Archive()}))(t)
	}
	c.FromArchive = store(source.World.Account)
	c.ToArchive = store(must.Have(tables.ParseAccount(into.ConnectionString()))(t))
	refused := func(what string) {
		t.Helper()
		if _, err := c.Once(t.Context()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("a destination that has a %s: %v", what, err)
		}
	}
	devices, other := c.To.Table(c.Names.Devices()), tables.Entity{PartitionKey: "lamp", RowKey: "of another program"}
	must.Succeed(t, devices.Create(t.Context()))
	jobstest.Insert(t, devices, other)
	refused("table " + devices.Name)
	must.Have(devices.Do(t.Context(), tables.Delete(other.PartitionKey, other.RowKey, tables.AnyETag)))(t)
	must.Succeed(t, c.ToArchive.Create(t.Context()))
	must.Succeed(t, c.ToArchive.Put(t.Context(), "taxes.pdf", []byte("of another program"), ""))
	refused("container " + c.Names.Archive())
	if content, _, err := c.ToArchive.Get(t.Context(), "taxes.pdf"); err != nil || len(content) == 0 {
		t.Errorf("the file is gone: %v", err)
	}
	must.Succeed(t, c.ToArchive.Delete(t.Context(), "taxes.pdf"))
	must.Have(c.Finish(t.Context()))(t)
}

// mustEqual checks that every table is equal at both ends.
func mustEqual(t *testing.T, c *Copy) {
	t.Helper()
	for _, p := range must.Have(c.parts(t.Context()))(t) {
		for _, name := range p.tables {
			from, to := rowsOf(t, c, c.From.Table(name)), rowsOf(t, c, c.To.Table(name))
			if !slices.Equal(from, to) {
				t.Errorf("table %s: %d rows at the source, %d at the destination, or they differ", name, len(from), len(to))
			}
		}
	}
}

func rowsOf(t *testing.T, c *Copy, table *tables.Table) (all []string) {
	t.Helper()
	for _, e := range jobstest.Rows(t, table, tables.Query{}) {
		if keep := c.keep(table.Name); keep != nil && !keep(e) {
			continue
		}
		var values []string
		for _, p := range e.Properties {
			values = append(values, fmt.Sprintf("%s=%v%x", p.Name, p.Value, p.Value.Binary()))
		}
		slices.Sort(values)
		all = append(all, fmt.Sprint(e.PartitionKey, "/", e.RowKey, values))
	}
	return all
}

// TestCopyIsFinishedWhileDevicesRenewTheirTokens: the endpoint of the source goes on, and each token changes the record
// and the membership of its device.
func TestCopyIsFinishedWhileDevicesRenewTheirTokens(t *testing.T) {
	t.Parallel()
	source := newLiving(t)
	source.stopWorking()
	c := copyTo(t, source.World.Connect(t, nil), source.Names, azuretest.Local(t))
	registry := sas.NewRegistry(c.From, c.Names)
	must.Have(registry.Register(t.Context(), schema.Device{ID: "pump-7", Tenant: "acme", Month: jobstest.Month,
		Readings: source.Readings, Enrollment: "plant1", Status: schema.Active}))(t)
	at, until := schema.Member{Month: jobstest.Month, Tenant: "acme", Device: "pump-7"}, tables.TicksOf(time.Now())
	c.Progress = func(Pass, int, int) { // before each table
		until++
		must.Have(c.From.Table(c.Names.Fleet()).Do(t.Context(), tables.Merge(at.Waking(until), tables.AnyETag)))(t)
		must.Have(registry.Update(t.Context(), "pump-7", func(d *schema.Device) error {
			d.Tokens, d.Noted = []schema.Token{{Policy: "p", Expiry: until}}, until
			return nil
		}))(t)
	}
	must.Have(c.Finish(t.Context()))(t)
	d := must.Have(sas.NewRegistry(c.To, c.Names).Get(t.Context(), "pump-7"))(t)
	if awake := memberOf(t, c, d.ID).Awake; d.Noted == 0 || d.Noted > awake {
		t.Errorf("the record says %d, and the membership %d: with its next token, the device would rest", d.Noted,
			awake)
	}
}

// TestCopyTellsHowToFinishWhileDevicesRegister: each registration adds rows that the copy must have, in every pass.
func TestCopyTellsHowToFinishWhileDevicesRegister(t *testing.T) {
	t.Parallel()
	source := newLiving(t)
	source.stopWorking()
	c := copyTo(t, source.World.Connect(t, nil), source.Names, azuretest.Local(t))
	registry, n := sas.NewRegistry(c.From, c.Names), 0
	register := func(_ Pass, number, of int) {
		if number < of {
			return
		}
		n++
		id := schema.DeviceID(fmt.Sprint("pump-", n))
		must.Have(registry.Register(t.Context(), schema.Device{ID: id, Tenant: "acme", Month: jobstest.Month,
			Readings: source.Readings, Enrollment: "plant1", Status: schema.Active}))(t)
	}
	c.Progress = register
	if _, err := c.Finish(t.Context()); err == nil || !strings.Contains(err.Error(), "stop its token endpoint") {
		t.Errorf("while devices register, the copy ends with: %v", err)
	}
	c.Progress = nil
	must.Have(c.Finish(t.Context()))(t)
}
