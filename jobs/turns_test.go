package jobs_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A crowd is tenants in one partition of the fleet, with devices that have a row a minute.
type crowd struct {
	*roster
	line    jobstest.Line // live messages
	catchup jobstest.Line
	waited  int // catch-up jobs until all devices of the tenant small had caught up; 0 if they have not yet
	most    int // messages of one tenant that were in the catch-up queue at a time
	live    map[schema.Tenant]int
	done    map[schema.DeviceID]int // rows
	until   func() bool             // a run ends where it returns true; nil: with all jobs
}

// add gives devices to a tenant, each with so many rows until some minutes ago.
func (c *crowd) add(t *testing.T, tenant schema.Tenant, devices, rows int) {
	t.Helper()
	var members, readings []tables.Entity
	for i := range devices {
		m := schema.Member{Month: jobstest.Month, Device: schema.DeviceID(fmt.Sprintf("%s%03d", tenant, i)), Tenant: tenant,
			Readings: c.names.Readings()}
		members = append(members, must.Have(m.Entity())(t))
		for n := range rows {
			e := temperature(time.Now().Add(-time.Minute-time.Duration(rows-n)*time.Minute), float64(n))
			e.PartitionKey = string(m.Device)
			readings = append(readings, e)
		}
	}
	jobstest.Insert(t, c.client(t, nil).Table(c.names.Fleet()), members...)
	jobstest.Insert(t, c.client(t, nil).Table(c.names.Readings()), readings...)
}

func newCrowd(t *testing.T) (*crowd, *jobs.Pipeline) {
	t.Helper()
	c := &crowd{roster: newRoster(t), live: map[schema.Tenant]int{}, done: map[schema.DeviceID]int{}}
	p := c.pipeline(t, nil)
	p.Processors, p.Portion = []fold.Configured{latest.Processor.Default()}, 20
	return c, p
}

// run does a run as one worker would: live work first, and catch-up work in the order of its queue.
func (c *crowd) run(t *testing.T, p *jobs.Pipeline) {
	t.Helper()
	c.line.Queue, c.line.Delays = []jobs.Message{c.begin(t)}, []time.Duration{0}
	for jobsDone := 1; ; {
		from := &c.line
		if len(from.Queue) == 0 {
			from = &c.catchup
		}
		m, _, more := from.Take()
		if !more || c.until != nil && c.until() {
			return
		}
		put := &jobstest.Line{}
		r := must.Have(p.Do(t.Context(), m, put, saveInto(&m)))(t)
		for i, f := range put.Queue {
			switch {
			case f.Kind == jobs.Audit: // the first run of a day has some
			case f.CatchUp():
				must.Succeed(t, c.catchup.Put(t.Context(), f, put.Delays[i]))
			default:
				must.Succeed(t, c.line.Put(t.Context(), f, put.Delays[i]))
			}
		}
		c.count(m, r, jobsDone)
		if from == &c.catchup {
			jobsDone++
		}
	}
}

func (c *crowd) count(m jobs.Message, r jobs.Result, jobsDone int) {
	if m.Kind == jobs.Device && m.First.Key.Tenant() == m.Last.Key.Tenant() {
		if m.Mark == "" {
			c.live[m.First.Key.Tenant()] += r.Rows
		} else if c.done[m.First.Device()] += r.Rows; m.First.Key.Tenant() == "small" && len(r.Behind) == 0 {
			c.waited = jobsDone
		}
	}
	of := map[schema.Tenant]int{}
	for _, m := range c.catchup.Queue {
		of[m.First.Key.Tenant()]++
		c.most = max(c.most, of[m.First.Key.Tenant()])
	}
}

// TestTenantFarBehindDoesNotDelayAnother: a tenant with ten devices behind, whose rows come after those of one with
// hundreds, catches up after as many jobs as the turns of both take, whatever the other one still has to do.
func TestTenantFarBehindDoesNotDelayAnother(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	const many, few, rows, links = 150, 10, 50, 3
	c, p := newCrowd(t)
	c.add(t, "big", many, rows)
	c.add(t, "present", 50, 2)
	c.add(t, "small", few, rows)
	c.run(t, p)
	if most := links * (16 + few); c.waited == 0 || c.waited > most {
		t.Errorf("the ten have caught up after %d jobs, want at most %d; alone %d", c.waited, most, links*few)
	}
	if c.most > 16 {
		t.Errorf("%d messages of a tenant wait in the catch-up queue", c.most)
	}
	if len(c.done) != many+few {
		t.Errorf("%d devices were caught up on, want %d", len(c.done), many+few)
	}
	for d, n := range c.done {
		if n != rows {
			t.Errorf("%d rows of %s are folded, want %d", n, d, rows)
		}
	}
	if c.live["big"] != 0 {
		t.Errorf("live jobs have folded %d rows that are long past", c.live["big"])
	}
	if c.live["present"] == 0 {
		t.Error("the rows of devices that keep up are no live work")
	}
}

// TestDevicesFarBehindGetTurnsBesideThoseThatRest: their messages list none of the devices of the batch's.
func TestDevicesFarBehindGetTurnsBesideThoseThatRest(t *testing.T) {
	t.Parallel()
	const rows = 50
	c, p := newCrowd(t)
	c.add(t, "back", 3, rows)
	at := func(n int) schema.Place {
		d := schema.DeviceID(fmt.Sprintf("back%03d", n))
		return schema.Member{Month: jobstest.Month, Device: d, Tenant: "back"}.Place()
	}
	c.catchup.Queue, c.catchup.Delays = []jobs.Message{{Kind: jobs.Device, Pipeline: "live",
		Run: tables.TicksOf(time.Now()), First: at(0), Last: at(2), Only: []schema.Place{at(0), at(2)}, Resting: 1}},
		[]time.Duration{0}
	for m, _, more := c.catchup.Take(); more; m, _, more = c.catchup.Take() {
		put := &jobstest.Line{}
		c.done[m.First.Device()] += must.Have(p.Do(t.Context(), m, put, saveInto(&m)))(t).Rows
		for i, next := range put.Queue {
			must.Succeed(t, c.catchup.Put(t.Context(), next, put.Delays[i]))
		}
	}
	if c.done["back000"] != rows || c.done["back002"] != rows || c.done["back001"] != 0 {
		t.Errorf("rows folded: %v, want %d of the two that do not rest", c.done, rows)
	}
}

var crowded = flag.Int("jobs.crowd", 2000, "how many devices of a tenant are far behind in "+
	"TestSmallTenantWaitsForTheTurnsOfALargeOneAlone, up to 5,000 in each shard")

// TestSmallTenantWaitsForTheTurnsOfALargeOneAlone: the wait of a tenant with ten devices depends on the turns of the
// other one in its shards, and not on how many devices that has. Their rows come after those of the large tenant.
func TestSmallTenantWaitsForTheTurnsOfALargeOneAlone(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	const few, rows, links, perShard, turns = 10, 3, 2, 5000, 16
	c, p := newCrowd(t)
	p.Portion = 2
	shards := (*crowded + perShard - 1) / perShard
	began := time.Now()
	for shard := range shards {
		c.behind(t, "big", shard, min(perShard, *crowded-shard*perShard), rows)
	}
	c.behind(t, "small", shards-1, few, rows)
	stored := time.Now()
	var live time.Time // when the catch-up work began
	c.until = func() bool {
		if live.IsZero() && len(c.line.Queue) == 0 && len(c.catchup.Queue) > 0 {
			live = time.Now()
		}
		small := 0
		for d, n := range c.done {
			if n == rows && strings.HasPrefix(string(d), "small") {
				small++
			}
		}
		return small == few
	}
	c.run(t, p)
	t.Logf("%d devices in %d shards: rows stored in %v, live jobs %v, then the ten caught up after %d jobs and %v",
		*crowded, shards, stored.Sub(began).Round(time.Second), live.Sub(stored).Round(time.Second), c.waited,
		time.Since(live).Round(time.Millisecond))
	if most := links * (turns*shards + few); c.waited == 0 || c.waited > most || !c.until() {
		t.Errorf("the ten have caught up after %d jobs, want at most %d", c.waited, most)
	}
	if c.most > turns*shards {
		t.Errorf("%d messages of a tenant wait in the catch-up queue, want at most %d", c.most, turns*shards)
	}
	if len(c.done) >= *crowded {
		t.Errorf("the ten were the last: %d devices were caught up on before", len(c.done)-few)
	}
}

// behind adds devices to a shard whose newest rows are an hour old.
func (c *crowd) behind(t *testing.T, tenant schema.Tenant, shard, devices, rows int) {
	t.Helper()
	month := jobstest.Month
	month.Shard = shard
	readings := c.client(t, nil).Table(c.names.Readings())
	var members []tables.Entity
	storing, ctx := errgroup.WithContext(t.Context())
	storing.SetLimit(32)
	for i := range devices {
		id := schema.DeviceID(fmt.Sprintf("%s-%d-%05d", tenant, shard, i))
		m := schema.Member{Month: month, Device: id, Tenant: tenant, Readings: c.names.Readings()}
		members = append(members, must.Have(m.Entity())(t))
		storing.Go(func() error {
			var ops []tables.Op
			for n := range rows {
				e := temperature(time.Now().Add(-time.Hour-time.Duration(rows-n)*time.Minute), float64(n))
				e.PartitionKey = string(m.Device)
				ops = append(ops, tables.Insert(e))
			}
			_, err := readings.Submit(ctx, ops)
			return err
		})
	}
	must.Succeed(t, storing.Wait())
	jobstest.Insert(t, c.client(t, nil).Table(c.names.Fleet()), members...)
}

// TestWaitingDevicesGetTurnsInTheNextRun: all workers died after they had found devices far behind.
func TestWaitingDevicesGetTurnsInTheNextRun(t *testing.T) {
	t.Parallel()
	c, p := newCrowd(t)
	c.add(t, "a", 40, 50)
	c.add(t, "b", 3, 50)
	p.Batch = 7
	w := &workplace{at: -1}
	w.plan(t, p, c.begin(t))
	for _, m := range w.put {
		if m.Kind == jobs.Device {
			must.Have(p.Run(t.Context(), jobs.Batch{First: m.First, Last: m.Last}))(t) // and then it dies
		}
	}
	c.run(t, p)
	if len(c.done) != 43 {
		t.Errorf("%d devices were caught up on, want 43", len(c.done))
	}
	e := must.Have(schema.MonthFigures{Pipeline: "live", Slot: c.slot, Month: jobstest.Month}.Entity())(t)
	e = must.Have(c.client(t, nil).Table(c.names.Runs()).Get(t.Context(), e.PartitionKey, e.RowKey))(t)
	figures := must.Have(schema.MonthFiguresOf(e))(t)
	if figures.Behind != 43 || figures.Batches != 1 {
		t.Errorf("the run has planned %+v; want all 43 devices behind, and one batch with the first of each tenant", figures)
	}
}

// TestKilledWorkersLoseNoWaitingDevice: workers are killed, refused or answered twice at operations of runs in which
// devices wait for their turns.
func TestKilledWorkersLoseNoWaitingDevice(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	w := jobstest.NewWorld(t, 6, 30)
	want := jobstest.WithoutHistory(calm(t, w))
	work := func(at int, what wrong) (f *jobstest.Fleet, done *workplace) {
		f, done = w.NewFleet(t), &workplace{at: at, wrong: what}
		p := f.Pipeline(t, done)
		p.Portion, p.Turns, p.Batch = 10, 2, 3
		done.queue = []jobs.Message{f.Message()}
		for len(done.queue) > 0 {
			m := done.queue[0]
			done.queue = done.queue[1:]
			done.do(t, p, m)
		}
		return f, done
	}
	f, calmly := work(-1, "")
	jobstest.SameEnds(t, jobstest.WithoutHistory(f.Ends(t)), want, "calm")
	for _, what := range []wrong{refused, lost, twice, killedBefore, killedAfter} {
		for range len(effort.Of(8, 1)) {
			n := rng.IntN(calmly.n)
			f, _ := work(n, what)
			p := f.Pipeline(t, nil)
			for _, d := range w.Devices { // a refusal may have had it held
				must.Have(p.Release(t.Context(), w.Place(d)))(t)
			}
			must.Succeed(t, f.Drain(t.Context(), p))
			jobstest.SameEnds(t, jobstest.WithoutHistory(f.Ends(t)), want, fmt.Sprintf("%s at operation %d", what, n))
		}
	}
	t.Logf("%d operations", calmly.n)
}

// TestDeviceThatHasCaughtUpCostsNoWriteWhenIdle: the mark of its chain has gone.
func TestDeviceThatHasCaughtUpCostsNoWriteWhenIdle(t *testing.T) {
	w := jobstest.NewWorld(t, 2, 60)
	f := w.NewFleet(t)
	p := f.Pipeline(t, nil)
	p.Portion = 20
	jobstest.Work(t, p, f.Message())
	before := f.Track(t, w.Devices[0])
	if !slices.ContainsFunc(before.Properties, func(p tables.Property) bool { return p.Name == schema.TrackChainMark }) {
		t.Fatal("it had no chain")
	}
	p.Settle = time.Hour // no row is new
	jobstest.Do(t, p, f.Message(), jobstest.NoPut{})
	if after := f.Track(t, w.Devices[0]); after.ETag != before.ETag {
		t.Errorf("an idle run writes the tracking row:\n%v\n%v", before, after)
	}
}
