package roles

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"furrow/cmd/internal/generations"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
)

// TestAppliesAndRollbacksLoseNothing lets two workers follow applied and rolled back configurations while they fold.
// The outputs must be those of a fleet that had the last one from the beginning.
func TestAppliesAndRollbacksLoseNothing(t *testing.T) {
	t.Parallel() // it mostly waits
	world := jobstest.NewWorldSince(t, 26*time.Hour, 3, 120)
	c := newFollowed(t, world)
	first := c.apply(t, pipelines(live))
	f := c.fleet(t, first, nil)
	c.work(t, f)
	c.work(t, c.fleet(t, first, nil))
	n := int64(1)
	for _, change := range []func() (generations.Change, error){
		func() (generations.Change, error) { return c.store.Apply(t.Context(), "t", pipelines(another), "t") },
		func() (generations.Change, error) { return c.store.Rollback(t.Context(), 1, "t") },
		func() (generations.Change, error) { return c.store.Apply(t.Context(), "t", pipelines(smaller), "t") },
		func() (generations.Change, error) { return c.store.Rollback(t.Context(), 2, "t") },
	} {
		c.put(t, f, c.Message(), "live", n)
		made := must.Have(change())(t)
		n = made.Holds.Generation
		c.put(t, f, c.Message(), "live", n)
	}
	c.comesTo(t, f, n, pipelines(another))
}

// TestRollingChangeGivesTheSameOutputs runs a worker that cannot read the new configuration beside one that has it.
// Both fold and audit. The old one does not touch devices that the new one has folded, even when it is alone. The
// outputs must be those of a fleet that had the new configuration from the beginning.
func TestRollingChangeGivesTheSameOutputs(t *testing.T) {
	t.Parallel() // it mostly waits
	world := jobstest.NewWorldSince(t, 26*time.Hour, 3, 120)
	c := newFollowed(t, world)
	first := c.apply(t, pipelines(live))
	old := c.fleet(t, first, c.deaf())
	c.work(t, old)
	c.put(t, old, c.Message(), "live", 1)
	c.idle(t, old, "live")
	second := c.apply(t, pipelines(another))
	f := c.fleet(t, second, nil)
	young := c.work(t, f)
	for i := range 6 {
		c.put(t, f, c.Message(), "live", int64(i%3))
		c.put(t, f, c.Audit(refold.Full), "live", int64(i%3))
	}
	c.idle(t, f, "live")
	young.stop()
	before := c.tracked(t)
	c.send(t)
	c.put(t, f, c.Message(), "live", 1)
	c.put(t, f, c.Audit(refold.Full), "live", 1)
	c.idle(t, f, "live")
	if after := c.tracked(t); !slices.Equal(after, before) {
		t.Errorf("the old worker has changed %q to %q", before, after)
	}
	c.work(t, c.fleet(t, second, nil))
	c.comesTo(t, f, 2, pipelines(another))
}

// send stores a reading of now and a late one of each device.
func (c *followed) send(t *testing.T) {
	t.Helper()
	table := c.World.Connect(t, nil).Table(c.World.Readings)
	for _, d := range c.World.Devices {
		for _, age := range []time.Duration{3 * time.Second, 9 * time.Hour} {
			e := tables.Entity{PartitionKey: string(d), RowKey: tables.TicksOf(time.Now().Add(-age)).String()}
			e.Set("temperature", tables.Double(age.Hours()))
			must.Have(table.Do(t.Context(), tables.Insert(e)))(t)
		}
	}
}

// tracked returns with which configuration each device was folded last, and how far.
func (c *followed) tracked(t *testing.T) (all []string) {
	t.Helper()
	for _, d := range c.World.Devices {
		row := c.Track(t, d)
		all = append(all, fmt.Sprint(row.Get("Generation").Int(), row.Get("Settings").Text(),
			row.Get("LastReadRowKey").Text()))
	}
	return all
}

// comesTo runs audits until the fleet's outputs are those of a new fleet with a configuration.
func (c *followed) comesTo(t *testing.T, f *Fleet, generation int64, text string) {
	t.Helper()
	fresh := newFollowed(t, c.World)
	other := fresh.fleet(t, generations.Loaded{Generation: generation, Config: parsed(t, text)}, nil)
	built := must.Have(other.Jobs(other.Pipelines[0]))(t)
	must.Succeed(t, fresh.Settle(t.Context(), built))
	want := jobstest.WithoutHistory(fresh.Ends(t))
	differs := ""
	for range 20 {
		c.put(t, f, c.Message(), "live", generation)
		c.put(t, f, c.Audit(refold.Full), "live", generation)
		c.idle(t, f, "live")
		if differs = jobstest.Differ(jobstest.WithoutHistory(c.Ends(t)), want); differs == "" {
			return
		}
	}
	t.Error(differs)
}
