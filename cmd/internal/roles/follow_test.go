package roles

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker"
)

// TestWorkerFollowsAppliedConfigurations: a new pipeline starts, a removed one stops, and the others go on.
func TestWorkerFollowsAppliedConfigurations(t *testing.T) {
	t.Parallel()
	c := newFollowed(t, jobstest.NewWorld(t, 3, 60))
	f := c.fleet(t, c.apply(t, pipelines(live)), nil)
	w := c.work(t, f)
	c.put(t, f, c.Message(), "live", 1)
	w.has(t, "device of live, generation 1")

	other := c.fleet(t, c.apply(t, pipelines(smaller, minutes)), nil) // as the scheduler has it
	c.put(t, other, c.Message(), "minutes", 2)
	w.has(t, "device of minutes, generation 2")
	c.put(t, other, c.Message(), "live", 2)
	w.has(t, "device of live, generation 2")

	c.apply(t, pipelines(smaller))
	await(t, "a worker that stops a pool", func() bool { g, _ := f.Stored.Current(); return g.Generation == 3 })
	c.put(t, other, c.Message(), "live", 3)
	w.has(t, "device of live, generation 3")
	c.put(t, other, c.Message(), "minutes", 3)
	if n := depth(t, other, "minutes"); n != 1 {
		t.Errorf("%d messages wait for a removed pipeline, want 1", n)
	}
	c.apply(t, pipelines(smaller, minutes))
	w.has(t, "device of minutes, generation 3")
	c.put(t, other, c.Message(), "live", 4)
	w.has(t, "device of live, generation 4")
}

func depth(t *testing.T, f *Fleet, p schema.Pipeline) int {
	t.Helper()
	n := must.Have(f.Queues.Queue(f.Names, p).Depth(t.Context()))(t)
	return n
}

func TestWorkerWithAFileFollowsTheFirstStoredConfiguration(t *testing.T) {
	t.Parallel()
	c := newFollowed(t, jobstest.NewWorld(t, 3, 60))
	f := c.fleet(t, generations.Loaded{Config: parsed(t, pipelines(live))}, nil)
	w := c.work(t, f)
	c.put(t, f, c.Message(), "live", 0)
	w.has(t, "device of live, generation 0")
	c.apply(t, pipelines(another))
	c.put(t, f, c.Message(), "live", 1)
	w.has(t, "device of live, generation 1")
}

func TestWorkerLoadsTheConfigurationOfAMessageAtOnce(t *testing.T) {
	t.Parallel()
	c := newFollowed(t, jobstest.NewWorld(t, 3, 60))
	f := c.fleet(t, c.apply(t, pipelines(live)), nil)
	f.Stored.Every = 24 * time.Hour
	w := c.work(t, f)
	c.put(t, f, c.Message(), "live", 1)
	w.has(t, "generation 1")
	c.apply(t, pipelines(another))
	c.put(t, f, c.Message(), "live", 2)
	w.has(t, "generation 2")
	row := c.Track(t, c.World.Devices[0])
	if got := row.Get("Generation").Int(); got != 2 {
		t.Errorf("the tracking row says generation %d, want 2", got)
	}
	if g, _ := f.Stored.Current(); g.Generation != 2 {
		t.Errorf("the worker has generation %d", g.Generation)
	}
}

func TestWorkerLeavesMessagesOfConfigurationsThatItCannotLoad(t *testing.T) {
	t.Parallel() // it mostly waits
	c := newFollowed(t, jobstest.NewWorld(t, 3, 60))
	first := c.apply(t, pipelines(live))
	deaf := c.work(t, c.fleet(t, first, c.deaf()))
	second := c.apply(t, pipelines(another))
	f := c.fleet(t, second, nil)
	for range 4 {
		c.put(t, f, c.Message(), "live", 2)
	}
	c.put(t, f, c.Message(), "live", 1)
	deaf.has(t, "device of live, generation 1")
	if strings.Contains(strings.Join(deaf.done, "\n"), "generation 2") {
		t.Errorf("it has done %q", deaf.done)
	}
	c.work(t, f)
	c.idle(t, f, "live")
	if n, err := f.Queues.Queue(c.Names, "live").PoisonDepth(t.Context()); n != 0 || err != nil {
		t.Errorf("%d messages are given up, %v", n, err)
	}
}

func TestRunningJobKeepsItsConfiguration(t *testing.T) {
	t.Parallel()
	c := newFollowed(t, jobstest.NewWorld(t, 3, 60))
	under := c.apply(t, pipelines(live))
	begun, goOn := make(chan struct{}), make(chan struct{})
	f := c.fleet(t, under, &held{begun: sync.OnceFunc(func() { close(begun) }), goOn: goOn})
	w := c.work(t, f)
	c.put(t, f, c.Message(), "live", 1)
	<-begun
	c.apply(t, pipelines(another))
	await(t, "generation 2", func() bool { g, _ := f.Stored.Current(); return g.Generation == 2 })
	close(goOn)
	w.has(t, "device of live, generation 1")
	others := &config.Model{}
	if got := f.Pipelines[0].Settings(others); got != parsed(t, pipelines(live)).Pipelines[0].Settings(others) {
		t.Errorf("the fleet's own settings have become %s", got)
	}
	row := c.Track(t, c.World.Devices[0])
	if got := row.Get("Generation").Int(); got != 1 {
		t.Errorf("the job has ended with generation %d, want 1", got)
	}
}

func TestSchedulersFollowTheConfiguration(t *testing.T) {
	c := newFollowed(t, jobstest.NewWorld(t, 1, 10))
	f := c.fleet(t, c.apply(t, pipelines(strings.Replace(live, "1s", "1d", 1))), nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Schedule(ctx, 0) }()
	masters := func(p schema.Pipeline, generation int64) func() bool {
		return func() bool {
			got, err := f.Queues.Queue(c.Names, p).Get(t.Context(), 32, time.Second)
			if err != nil {
				return false // there is no such queue yet
			}
			return slices.ContainsFunc(got, func(l *worker.Lease) bool {
				m, err := jobs.Decode(l.Text())
				return err == nil && m.Kind == jobs.Master && m.Generation == generation
			})
		}
	}
	await(t, "a master job of generation 1", masters("live", 1))
	c.apply(t, pipelines(live, minutes))
	await(t, "a master job of generation 2", masters("live", 2))
	await(t, "a master job of a new pipeline", masters("minutes", 2))
	cancel()
	must.Succeed(t, <-ended)
}

// TestUnusableConfigurationStopsNothing: nor does one without the selected pipelines.
func TestUnusableConfigurationStopsNothing(t *testing.T) {
	t.Parallel()
	c := newFollowed(t, jobstest.NewWorld(t, 3, 60))
	f := c.fleet(t, c.apply(t, pipelines(live)), nil)
	must.Succeed(t, f.Select("live"))
	w := c.work(t, f)
	e := must.Have(schema.Configuration{Generation: 2, Text: "fromTheFuture: 1", ID: "x"}.Entity())(t)
	must.Have(c.store.Table.Do(t.Context(), tables.Insert(e)))(t)
	c.put(t, f, c.Message(), "live", 1)
	w.has(t, "device of live, generation 1")
	c.apply(t, pipelines(minutes))
	await(t, "generation 3", func() bool { g, _ := f.Stored.Current(); return g.Generation == 3 })
	c.apply(t, pipelines(live, minutes))
	c.put(t, f, c.Message(), "live", 4)
	w.has(t, "device of live, generation 4")
}
