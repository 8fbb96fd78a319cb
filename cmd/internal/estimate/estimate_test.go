package estimate

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/cmd/internal/config"
	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker"
)

// minutely is a configuration with one pipeline.
func minutely(t *testing.T) *config.Config {
	t.Helper()
	c := config.Default()
	c.Pipelines = c.Pipelines[:1]
	return c
}

// counted counts the operations of runs in which each device has a new reading.
type counted struct {
	mu  sync.Mutex
	all map[string]float64
}

func (c *counted) add(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[kind]++
}

// Put counts a message, and keeps it.
func (c *counted) put(l *jobstest.Line) putter { return putter{c, l} }

type putter struct {
	*counted
	line *jobstest.Line
}

func (p putter) Put(ctx context.Context, m jobs.Message, delay time.Duration) error {
	if m.Kind == jobs.Audit { // they have a test of their own
		return nil
	}
	p.add("queues put")
	return p.line.Put(ctx, m, delay)
}

// A fleet is one pipeline over the devices of a world, and counts what it asks of storage.
type fleet struct {
	t     *testing.T
	world *jobstest.World
	c     *counted
	p     *jobs.Pipeline
	names schema.Names
}

func newFleet(t *testing.T, devices int, every time.Duration) *fleet {
	t.Helper()
	w := jobstest.NewWorldSince(t, 96*time.Hour, devices, 0)
	f := &fleet{t: t, world: w, c: &counted{all: map[string]float64{}}, names: w.NewFleet(t).Names}
	client := must.Have(tables.Connect(tables.Config{Account: w.Account, Transport: f,
		OnOperation: func(_ context.Context, o tables.Operation) { f.c.add("tables " + o.Kind.String()) }}))(t)
	f.p = must.Have(minutely(t).Pipelines[0].Build(client, f.names, nil))(t)
	f.p.Every, f.p.Format, f.p.Generation = every, schema.Format, 1
	return f
}

// Do has each reading arrive at the time of its row key, and devices be noted long ago.
func (f *fleet) Do(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultClient.Do(r)
	switch {
	case err != nil || r.Method != http.MethodGet:
	case strings.Contains(r.URL.Path, "/"+f.world.Readings+"("):
		return jobstest.Arrived(answer)
	case strings.Contains(r.URL.Path, "/"+f.names.Fleet()+"("):
		return jobstest.Stamped(answer, func(string) (time.Time, error) { return time.Now().Add(-time.Hour), nil })
	}
	return answer, err
}

// send has devices send a reading each at a time.
func (f *fleet) send(at time.Time, sensors int, devices ...schema.DeviceID) {
	f.t.Helper()
	var all []tables.Entity
	for _, d := range devices {
		_, e := Fleet{Sensors: sensors}.reading(at)
		e.PartitionKey = string(d)
		all = append(all, e)
	}
	jobstest.Insert(f.t, f.world.Connect(f.t, nil).Table(f.world.Readings), all...)
}

// TestEstimateAgreesWithCountedOperations has the engine do runs of three fleets, and counts what it asks of storage.
func TestEstimateAgreesWithCountedOperations(t *testing.T) {
	t.Parallel()
	const runs, sensors = 2, 6
	for _, devices := range []int{15, 60, 130} {
		t.Run(fmt.Sprint(devices), func(t *testing.T) {
			f := newFleet(t, devices, 0)
			began := time.Now().Add(-20 * time.Minute).Truncate(time.Minute)
			for n := range runs + 1 {
				if n == 1 { // the first run finds the past, and begins the audits
					f.c.all = map[string]float64{}
				}
				at := began.Add(time.Duration(n) * time.Minute)
				f.send(at, sensors, f.world.Devices...)
				f.run(at)
			}
			for kind := range f.c.all {
				f.c.all[kind] /= runs
			}
			e := must.Have(Of(Fleet{Devices: devices, Every: time.Minute, Sensors: sensors, Tenants: 2, Months: 1,
				Token: time.Hour, AtOnce: 1}, minutely(t)))(t)
			mustAgree(t, e.Pipelines[0].Operations, f.c.all)
		})
	}
}

// TestEstimateAgreesWithCountedRests has devices that state their interval: each run has a tenth of them to look at.
func TestEstimateAgreesWithCountedRests(t *testing.T) {
	t.Parallel()
	const every, sensors = 10 * time.Minute, 6
	for _, devices := range []int{30, 200} {
		t.Run(fmt.Sprint(devices), func(t *testing.T) {
			f := newFleet(t, devices, every)
			began := time.Now().Add(-50 * time.Minute).Truncate(10 * time.Minute)
			for n := range 40 {
				if n == 20 { // all devices rest, and audits have begun
					f.c.all = map[string]float64{}
				}
				var due []schema.DeviceID
				for i, d := range f.world.Devices {
					if i%10 == n%10 {
						due = append(due, d)
					}
				}
				at := began.Add(time.Duration(n) * time.Minute)
				f.send(at.Add(-30*time.Second), sensors, due...)
				f.run(at)
			}
			for kind := range f.c.all {
				f.c.all[kind] /= 20
			}
			e := must.Have(Of(Fleet{Devices: devices, Every: every, Sensors: sensors, Tenants: 2, Months: 1,
				Token: time.Hour, AtOnce: 1}, minutely(t)))(t)
			mustAgree(t, e.Pipelines[0].Operations, f.c.all)
		})
	}
}

// TestEstimateAgreesWithCountedAudits counts what a day of audits asks of storage: of devices that state no interval,
// and of those that do, which runs look at when they send, one reading or some at once.
func TestEstimateAgreesWithCountedAudits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		devices, atOnce int
		every, cadence  time.Duration
	}{
		{2, 1, time.Minute, time.Minute}, {6, 1, 15 * time.Minute, time.Minute}, {12, 1, 2 * time.Hour, time.Minute},
		{6, 24, 15 * time.Minute, time.Minute}, {12, 1, 2 * time.Hour, 6 * time.Hour},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			fleet := Fleet{Devices: c.devices, Every: c.every, AtOnce: c.atOnce}
			stated := fleet.sends()
			if !fleet.stated() {
				stated = 0
			}
			f, p := newFleet(t, c.devices, stated), minutely(t).Pipelines[0]
			p.Cadence, f.p.Cadence = c.cadence, c.cadence
			step := max(c.cadence, 15*time.Minute)
			began, all := time.Now().Add(-25*time.Hour).Truncate(time.Hour), map[string]float64{}
			f.ran(began.Add(-2*oneDay), began.Add(oneDay), max(c.cadence, time.Hour))
			// The first one finds the past, and seals it: only after a day audits seal a day a day.
			first := began.Add(-max(fleet.sends(), oneDay)).Truncate(step)
			for at, now := began.Add(-10*oneDay), first; !now.After(began.Add(oneDay)); now = now.Add(step) {
				for ; !at.Add(fleet.sends() - c.every).After(now.Add(-time.Second)); at = at.Add(fleet.sends()) {
					for n := range c.atOnce {
						f.send(at.Add(time.Duration(n)*c.every), 1, f.world.Devices...)
					}
				}
				if f.audit(now, all); !now.After(began) {
					clear(all)
				}
			}
			mustAgree(t, audits(fleet, 1, p), all)
		})
	}
}

// ran notes runs, so that time seems to have passed: audits seal days then.
func (f *fleet) ran(from, to time.Time, every time.Duration) {
	f.t.Helper()
	var all []tables.Entity
	for at := from; !at.After(to); at = at.Add(every) {
		slot := tables.TicksOf(at)
		run := schema.Run{Pipeline: f.p.Name, Slot: slot, Enqueued: slot, Started: slot}
		all = append(all, must.Have(run.Entity())(f.t))
	}
	jobstest.Insert(f.t, f.world.Connect(f.t, nil).Table(f.names.Runs()), all...)
}

// audit does a run, and counts what its audits ask of storage.
func (f *fleet) audit(at time.Time, all map[string]float64) {
	t, l := f.t, &jobstest.Line{}
	t.Helper()
	master := jobs.Message{Kind: jobs.Master, Pipeline: f.p.Name, Run: tables.TicksOf(at), Generation: 1}
	must.Succeed(t, l.Put(t.Context(), master, 0))
	for m, _, ok := l.Take(); ok; m, _, ok = l.Take() {
		f.c.all = map[string]float64{}
		must.Have(f.p.Do(t.Context(), m, l, func(context.Context, jobs.Message) error { return nil }))(t)
		if m.Kind != jobs.Audit {
			continue
		}
		all["queues put"], all["queues delete"] = all["queues put"]+1, all["queues delete"]+1
		for kind, n := range f.c.all {
			all[kind] += n
		}
	}
}

// run does what the scheduler and the workers do for a slot.
func (f *fleet) run(at time.Time) {
	t, slot := f.t, tables.TicksOf(at)
	t.Helper()
	r := worker.Runs{Table: f.p.Client.Table(f.names.Runs())}
	must.Succeed(t, r.Take(t.Context(), schema.Run{Pipeline: f.p.Name, Slot: slot}))
	l := &jobstest.Line{}
	put := f.c.put(l)
	must.Succeed(t, put.Put(t.Context(), jobs.Message{Kind: jobs.Master, Pipeline: f.p.Name, Run: slot, Generation: 1}, 0))
	must.Succeed(t, r.MarkEnqueued(t.Context(), schema.Run{Pipeline: f.p.Name, Slot: slot}, slot))
	for m, _, ok := l.Take(); ok; m, _, ok = l.Take() {
		r, err := f.p.Do(t.Context(), m, put, func(context.Context, jobs.Message) error {
			f.c.add("queues update")
			return nil
		})
		if err != nil || len(r.Failed) > 0 {
			t.Fatalf("%+v: %v, %v", m, err, r.Failed)
		}
		f.c.add("queues delete")
	}
}

// mustAgree compares by service, within 5 %, and says what each kind is.
func mustAgree(t *testing.T, estimated, counted map[string]float64) {
	t.Helper()
	for _, service := range []string{"tables ", "queues "} {
		got, want := 0.0, 0.0
		for kind, n := range estimated {
			if strings.HasPrefix(kind, service) {
				got += n
			}
		}
		for kind, n := range counted {
			if strings.HasPrefix(kind, service) {
				want += n
			}
		}
		if math.Abs(got-want) > want/20 {
			t.Errorf("%soperations: %.1f estimated, %.1f counted", service, got, want)
		}
	}
	t.Logf("estimated %v", estimated)
	t.Logf("counted   %v", counted)
}

// TestOutputsOfRareReadingsAreStored: a fleet whose devices send, or whose runs come, less often than once a day stores
// as much for each reading as one that sends daily.
func TestOutputsOfRareReadingsAreStored(t *testing.T) {
	t.Parallel()
	stored := func(every, cadence time.Duration, atOnce int) float64 {
		c := minutely(t)
		c.Pipelines[0].Cadence = cadence
		e := must.Have(Of(Fleet{Devices: 1000, Every: every, Sensors: 6, Tenants: 1, Months: 1, Token: time.Hour,
			AtOnce: atOnce}, c))(t)
		return e.StoredGB
	}
	const day = 24 * time.Hour
	hourly, daily := stored(time.Hour, time.Minute, 1), stored(day, time.Minute, 1)
	for about, got := range map[string]float64{
		"100 at once":       stored(time.Hour, time.Minute, 100),
		"runs of two days":  stored(time.Hour, 2*day, 1),
		"runs of five days": stored(time.Hour, 5*day, 48),
		"every other day":   2 * stored(2*day, time.Minute, 1) / daily * hourly,
	} {
		if math.Abs(got-hourly) > hourly/20 {
			t.Errorf("%s: %.3f GB a month, want about %.3f", about, got, hourly)
		}
	}
}

// TestOneDeviceIsInOnePartition, however many months and tenants others would be in.
func TestOneDeviceIsInOnePartition(t *testing.T) {
	t.Parallel()
	one := Fleet{Devices: 1, Every: time.Minute, Sensors: 6, Tenants: 1, Months: 1, Token: time.Hour, AtOnce: 1}
	want := must.Have(Of(one, config.Default()))(t)
	one.Tenants, one.Months = 1000, 1200
	if got := must.Have(Of(one, config.Default()))(t); got.Partitions != 1 || got.Cost.Total != want.Cost.Total {
		t.Errorf("%d partitions for $%.2f, want $%.2f", got.Partitions, got.Cost.Total, want.Cost.Total)
	}
}

// TestRetentionIsNoPipelineThatFolds: it audits nothing and has no cadence of its own in a file, so an estimate says
// that it leaves it out, with the samples that are verified, and gives no advice on it.
func TestRetentionIsNoPipelineThatFolds(t *testing.T) {
	t.Parallel()
	const plain = "pipelines: [{name: live, processors: [latest, rollup, rules]}]\n"
	f := Fleet{Devices: 1000, Every: time.Minute, Sensors: 1, Tenants: 1, Months: 1, Token: time.Hour, AtOnce: 1}
	of := func(text string) (Estimate, *config.Config) {
		c := must.Have(config.Parse("furrow.yaml", []byte(text)))(t)
		return must.Have(Of(f, c))(t), c
	}
	want, _ := of(plain)
	got, c := of(plain + "retention: [{readings: 90d}]\nverify: {sample: 1%}\n")
	if got.Cost.Total != want.Cost.Total || len(got.Pipelines) != 1 ||
		!slices.Equal(got.Without, append(want.Without, "retention", "verification of samples")) {
		t.Errorf("$%.2f of %d pipelines without %q, want $%.2f", got.Cost.Total, len(got.Pipelines), got.Without,
			want.Cost.Total)
	}
	for _, change := range changes(f, c, 12*time.Hour) {
		if strings.Contains(change.name, "retention") {
			t.Errorf("advice that no file can follow: %s", change.name)
		}
	}
}
